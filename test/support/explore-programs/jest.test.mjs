import { test } from '@jest/globals'
import { checked } from './checked.mjs'

test('the program does its work', checked, 30_000)
