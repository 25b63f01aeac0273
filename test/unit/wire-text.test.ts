// What the page and the terminal show of the bytes of a connection.
import { describe, expect, test } from 'bun:test'
import { endText, eventsIn, requestHead, responseHead, textIn, visible } from '../../src/views/wire-text.ts'

const base64 = (...bytes: number[]) => ({ base64: Buffer.from(bytes).toString('base64') })

describe('text of pieces', () => {
  test('is their own if all are text', () => expect(textIn([{ text: 'a' }, { text: 'ä' }])).toBe('aä'))
  test('joins a character that two pieces share', () => {
    expect(textIn([{ text: 'a' }, base64(0xc3), base64(0xa4)])).toBe('aä')
  })
  test('escapes the few bytes that are no text', () => {
    expect(textIn([{ text: 'Hello äöü €' }, base64(0xff), { text: 'x' }])).toBe('Hello äöü €\\xffx')
  })
  test('is base64 if most of it is binary', () => {
    const bytes = Array.from({ length: 40 }, (_, index) => 0x80 + index)
    expect(textIn([base64(...bytes)])).toBe(base64(...bytes).base64)
  })
})

test('visible text: shows control characters, and leaves tabs and line feeds', () => {
  expect(visible('a\tb\r\n\u001b[31m\u007f')).toBe('a\tb\\r\n\\x1b[31m\\x7f')
})

test('heads: have a line for each header', () => {
  const request = {
    method: 'POST',
    address: '/v1/x',
    headers: { a: '1', b: '2' },
    body: {},
    bytes: 0,
    truncated: false,
  }
  expect(requestHead(request)).toBe('POST /v1/x\na: 1\nb: 2')
  expect(responseHead({ status: 200, headers: null, body: null, bytes: 0, truncated: false })).toBe('HTTP 200')
})

test('events: end at blank lines of any kind, wherever pieces and characters are split', () => {
  const pieces = [
    { at_ms: 1, text: 'data: 1\n' },
    { at_ms: 2, text: '\ndata: 2\r\n\r\ndata: ' },
    { at_ms: 3, ...base64(0xc3) },
    { at_ms: 4, ...base64(0xa4, 0x0d, 0x0d) },
    { at_ms: 5, text: 'data: rest' },
  ]
  expect(eventsIn(pieces)).toEqual([
    { at_ms: 2, text: 'data: 1\n\n' },
    { at_ms: 2, text: 'data: 2\r\n\r\n' },
    { at_ms: 5, text: 'data: ä\r\r' },
    { at_ms: 5, text: 'data: rest' },
  ])
  expect(eventsIn([])).toEqual([])
})

test('end of a response: says how much was sent, and how the connection ended', () => {
  const response = { status: 200, headers: null, body: null, bytes: 12_345, truncated: false }
  const of = (more: object) =>
    endText({ request: null, response, ended: 'complete', ...more } as Parameters<typeof endText>[0])
  expect(of({})).toBe('12,345 bytes of body, complete')
  expect(of({ ended: 'reset' })).toBe('12,345 bytes of body, then the connection was reset (TCP RST)')
  expect(of({ response: { ...response, bytes: null } })).toBe(
    'a body that was not stored because of heavy load, complete',
  )
  expect(of({ response: null, ended: 'closed' })).toStartWith('no byte was sent, then the connection was closed')
  expect(of({ ended: null })).toBe('no data of the connection was stored')
})
