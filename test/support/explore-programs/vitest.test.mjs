import { test } from 'vitest'
import { checked } from './checked.mjs'

test('the program does its work', { timeout: 30_000 }, checked)
