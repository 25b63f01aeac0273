import { test } from 'bun:test'
import { checked } from './checked.mjs'

test('the program does its work', checked, 60_000)
