import { expect, test } from 'bun:test'
import { responseMaker } from '../../src/lib/response-with.ts'

const headersOf = ({ headers }: Response) => [...headers]
const plain = { 'content-type': 'application/json', 'x-request-id': '1', 'x-understudy-model': 'openai/gpt-4o' }

test('response: has its own values when an earlier one had the same names', () => {
  const responseWith = responseMaker(true)
  const first = responseWith('one', { status: 200, headers: plain })
  const second = responseWith('two', { status: 201, headers: { ...plain, 'x-request-id': '2' } })
  expect(headersOf(first)).toEqual(Object.entries(plain))
  expect(headersOf(second)).toEqual(Object.entries({ ...plain, 'x-request-id': '2' }))
  expect(second.status).toBe(201)
})

test('response: is not changed by changes of an earlier one', () => {
  const responseWith = responseMaker(true)
  for (const _ of [1, 2]) responseWith('one', { status: 200, headers: plain }).headers.set('x-request-id', 'changed')
  expect(headersOf(responseWith('two', { status: 200, headers: plain }))).toEqual(Object.entries(plain))
})

test('response: has no header of an earlier one with other names', () => {
  const responseWith = responseMaker(true)
  const other = { 'content-type': 'text/plain', 'x-request-id': '3' }
  responseWith('one', { status: 200, headers: plain })
  expect(headersOf(responseWith('two', { status: 200, headers: other }))).toEqual(Object.entries(other))
  expect(headersOf(responseWith('three', { status: 200, headers: plain }))).toEqual(Object.entries(plain))
})

test('response: makes a changed value readable unless a provider sent it', () => {
  const headers = { ...plain, 'x-request-id': 'x'.repeat(2_000) }
  for (const [readable, length] of [
    [true, 1_000],
    [false, 2_000],
  ] as const) {
    const responseWith = responseMaker(readable)
    responseWith('one', { status: 200, headers: plain })
    expect(responseWith('two', { status: 200, headers }).headers.get('x-request-id')).toHaveLength(length)
  }
})

test('response: keeps both values of a name in two spellings', () => {
  const responseWith = responseMaker(false)
  for (const value of ['1', '2']) {
    const { headers } = responseWith('one', { status: 200, headers: { 'X-Twice': 'a', 'x-twice': value } })
    expect(headers.get('x-twice')).toBe(`a, ${value}`)
  }
})
