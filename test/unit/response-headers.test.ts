// The short cut by which an answer takes the headers of the one before says what the long way would.
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { soundHeaders } from '../../src/lib/header-text.ts'
import { responseWith } from '../../src/lib/response-headers.ts'
import { runs } from '../support/property.ts'

const name = fc.constantFrom('x-a', 'x-b', 'x-c', 'x-d', 'x-e', 'x-f', 'x-g', 'content-type', 'no name')
const value = fc.constantFrom('', '1', '2', 'ünlaut', 'line\nbreak', 'x'.repeat(1_200))
const records = fc.array(fc.uniqueArray(fc.tuple(name, value), { selector: ([one]) => one }), { maxLength: 8 })

test('each of some answers has the headers that it would have by itself', () => {
  fc.assert(
    fc.property(records, (answers) => {
      for (const entries of answers) {
        const given = Object.fromEntries(entries)
        const response = responseWith('body', 200, { ...given })
        const whole = new Response('body', { status: 200, headers: soundHeaders(given) })
        expect([...response.headers]).toEqual([...whole.headers])
      }
    }),
    { numRuns: runs(2_000) },
  )
})

test('who changes the headers of one answer changes no other', () => {
  const given = { 'x-a': '1', 'x-b': '2' }
  responseWith('one', 200, given).headers.set('x-a', 'changed')
  expect(responseWith('two', 200, given).headers.get('x-a')).toBe('1')
})

test('nor do the headers of a later answer', () => {
  const early = responseWith('one', 200, { 'x-a': '1', 'x-b': '2' })
  responseWith('two', 200, { 'x-a': '3', 'x-b': '2' })
  expect(Object.fromEntries(early.headers)).toMatchObject({ 'x-a': '1', 'x-b': '2' })
})
