// JSON with integers of any size.
import { expect, test } from 'bun:test'
import { exactJson, exactJsonText } from '../../src/lib/exact-json.ts'

test('exactJson: keeps the digits of integers that a number would round, and no others', () => {
  const numbers =
    '[9007199254740993,-9007199254740993,9007199254740992,1.2345678901234567890,1e30,12345678901234567890]'
  expect(exactJson(numbers)).toEqual([
    9007199254740993n,
    -9007199254740993n,
    9007199254740992,
    1.2345678901234567,
    1e30,
    12345678901234567890n,
  ])
  expect(exactJson('9007199254740993')).toBe(9007199254740993n)
  expect(exactJson(`1${'0'.repeat(400)}`)).toBe(10n ** 400n)
  expect(exactJson('{"text":"id 12345678901234567890"}')).toEqual({ text: 'id 12345678901234567890' })
})

test('exactJsonText: writes what exactJson has read', () => {
  const text = '{"seed":18446744073709551615,"list":[-9007199254740993,1.5,"a"]}'
  expect(exactJsonText(exactJson(text))).toBe(text)
})
