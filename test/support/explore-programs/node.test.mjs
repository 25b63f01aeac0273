import { test } from 'node:test'
import { checked } from './checked.mjs'

test('the program does its work', checked)
