import { expect, test } from 'bun:test'
import { responseWith } from '../../src/lib/response-with.ts'

const headersOf = ({ headers }: Response) => [...headers]
const plain = { 'content-type': 'application/json', 'x-request-id': '1', 'x-understudy-model': 'openai/gpt-4o' }

test('response: has its own values when an earlier one had the same names', () => {
  const first = responseWith('one', { status: 200, headers: plain })
  const second = responseWith('two', { status: 201, headers: { ...plain, 'x-request-id': '2' } })
  expect(headersOf(first)).toEqual(Object.entries(plain))
  expect(headersOf(second)).toEqual(Object.entries({ ...plain, 'x-request-id': '2' }))
  expect(second.status).toBe(201)
})

test('response: is not changed by changes of an earlier one', () => {
  responseWith('one', { status: 200, headers: plain }).headers.set('x-request-id', 'changed')
  expect(headersOf(responseWith('two', { status: 200, headers: plain }))).toEqual(Object.entries(plain))
})

test('response: has no header of another kind of response', () => {
  const other = { 'content-type': 'text/plain', 'x-request-id': '3' }
  responseWith('one', { status: 200, headers: plain })
  expect(headersOf(responseWith('two', { status: 200, headers: other }))).toEqual(Object.entries(other))
})

test('response: makes a changed value readable unless a provider sent it', () => {
  const long = 'x'.repeat(2_000)
  responseWith('one', { status: 200, headers: plain })
  const headers = { ...plain, 'x-request-id': long }
  expect(responseWith('two', { status: 200, headers }).headers.get('x-request-id')).toHaveLength(1_000)
  expect(responseWith('two', { status: 200, headers, raw: true }).headers.get('x-request-id')).toBe(long)
})

test('response: keeps both values of a name in two spellings', () => {
  for (const value of ['1', '2']) {
    const { headers } = responseWith('one', { status: 200, headers: { 'X-Twice': 'a', 'x-twice': value } })
    expect(headers.get('x-twice')).toBe(`a, ${value}`)
  }
})
