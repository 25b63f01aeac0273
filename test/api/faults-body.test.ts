// Body faults, whole or streamed, in detail: bytes, their chunks and their headers.
import { afterAll, describe, expect, test } from 'bun:test'
import { accepted } from '../support/accepted.ts'
import { type Asking, rehearsal } from '../support/faults.ts'
import { exchange } from '../support/server.ts'

const { app, hear, close } = rehearsal()
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  fetch: (request) => app.understudy.app.fetch(request),
})
afterAll(async () => {
  await server.stop(true)
  close()
})

const FORMS = [true, false]
const healthy = new Map<boolean, string>()
for (const stream of FORMS) healthy.set(stream, (await hear({ stream })).text)
const usual = (stream: boolean): string => healthy.get(stream) ?? ''

/** The bytes of a response on the wire, for a whole answer with a fault at the gateway. */
async function onTheWire(fault: object, end: string): Promise<string> {
  const session = '/s/wire'
  const scenario = { name: 'wire', rules: [{ name: 'r', at: 'gateway', fault }] }
  const json = { 'content-type': 'application/json' }
  await accepted(
    app.fetch(`${session}/_understudy/scenario`, { method: 'PUT', headers: json, body: JSON.stringify(scenario) }),
  )
  const body = JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Grüße' }] })
  const head = `POST ${session}/v2/router/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer any\r\ncontent-type: application/json`
  const request = `${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  return exchange(server.url.href, request, end)
}

describe('split-bytes', () => {
  const split = (options: object, asking: Asking = {}) =>
    hear({ point: 'gateway', ...asking, fault: { type: 'split-bytes', ...options } })

  test.each(FORMS)(
    'cuts inside a character (streamed: %p), so that a chunk begins with a continuation byte',
    async (stream) => {
      const { pieces, text } = await split({ inside: 'character' }, { stream })
      expect(text).toBe(usual(stream))
      const inside = pieces.filter(([first = 0]) => (first & 0xc0) === 0x80)
      const wide = Buffer.from(text).filter((byte) => byte >= 0xc2).length
      expect(wide).toBeGreaterThan(0)
      expect(inside).toHaveLength(wide)
    },
  )

  test.each(FORMS)('cuts inside a token (streamed: %p), so that no property name is in one chunk', async (stream) => {
    const { pieces, text } = await split({ inside: 'token' }, { stream })
    expect(text).toBe(usual(stream))
    const texts = pieces.map((piece) => Buffer.from(piece).toString('latin1'))
    for (const name of ['"choices"', '"model"', 'null', 'data', '"openai/gpt-4o"'])
      expect(texts.filter((piece) => piece.includes(name))).toEqual([])
    expect(texts.length).toBeGreaterThan(30)
  })

  test('cuts chunks of one size with a wait between them', async () => {
    const { pieces, text, trace } = await split({ size: 7, wait: '10ms' }, { stream: false })
    expect(text).toBe(usual(false))
    const bytes = Buffer.byteLength(text)
    expect(pieces.map(({ length }) => length)).toEqual([...Array(Math.ceil(bytes / 7) - 1).fill(7), bytes % 7 || 7])
    expect(trace.outcome).toBe('succeeded')
  })

  test('cuts one byte at a time, which the gateway can read', async () => {
    for (const stream of FORMS)
      for (const operation of ['chat.completions', 'responses']) {
        const well = await hear({ stream, operation })
        const heard = await split({ size: 1 }, { stream, operation, point: 'provider' })
        expect([heard.text, heard.trace.outcome]).toEqual([well.text, 'succeeded'])
      }
  })

  test('leaves a response without multi-byte characters alone and reports that', async () => {
    const more = { messages: [{ role: 'user', content: 'plain' }] }
    const { rule } = await split({ inside: 'character' }, { more })
    expect(rule).toMatchObject({ applied: 0, skipped: { 'the response has no such position': 1 } })
  })

  test('sends each piece as an HTTP chunk of its own', async () => {
    const text = await onTheWire({ type: 'split-bytes', size: 100 }, '\r\n0\r\n\r\n')
    const [, body = ''] = text.split(/\r\n\r\n(.*)/s)
    const sizes = [...body.matchAll(/(?:^|\r\n)([0-9a-f]+)\r\n/g)].map(([, size = '']) => Number.parseInt(size, 16))
    expect(sizes.length).toBeGreaterThan(5)
    expect(sizes.slice(0, -2)).toEqual(Array(sizes.length - 2).fill(100))
  })
})

describe('malformed-json', () => {
  test('removes the first quotation mark of the body, or replaces the body', async () => {
    const ask = { stream: false, point: 'gateway' } as const
    const broken = await hear({ ...ask, fault: { type: 'malformed-json' } })
    expect(broken.text).toBe(usual(false).replace('{"', '{'))
    expect(() => JSON.parse(broken.text)).toThrow()
    const page = await hear({ ...ask, fault: { type: 'malformed-json', text: '<html>Bad Gateway</html>' } })
    expect(page.text).toBe('<html>Bad Gateway</html>')
    expect(page.headers.get('content-type')).toBe('application/json')
  })

  test('makes the gateway retry and then fall back', async () => {
    const fault = { type: 'malformed-json' }
    const more = { retry: { count: 1 }, fallbacks: [{ model: 'google/gemini-2.5-pro' }] }
    const { trace, text } = await hear({ stream: false, fault, more })
    expect(trace.attempts.map(({ reason: why, outcome }) => [why, outcome])).toEqual([
      ['first', 'invalid_response'],
      ['retry', 'invalid_response'],
      ['fallback', 'invalid_response'],
      ['retry', 'invalid_response'],
    ])
    expect(JSON.parse(text).error).toMatchObject({
      code: 'provider_unreadable',
      message: expect.stringContaining('not valid JSON'),
    })
  })
})

test('missing-finish: leaves a whole response unfinished in the form of each operation', async () => {
  const rows: [string, object][] = [
    ['chat.completions', { choices: [{ finish_reason: null }] }],
    ['completions', { choices: [{ finish_reason: null }] }],
    ['responses', { status: 'in_progress' }],
  ]
  for (const [operation, open] of rows) {
    const heard = await hear({ operation, stream: false, point: 'gateway', fault: { type: 'missing-finish' } })
    expect(JSON.parse(heard.text)).toMatchObject(open)
  }
})

test('wrong-content-type: leaves the body unchanged', async () => {
  for (const stream of FORMS) {
    const fault = { type: 'wrong-content-type', content_type: 'application/xml' }
    const { text, headers } = await hear({ stream, point: 'gateway', fault })
    expect([text, headers.get('content-type')]).toEqual([usual(stream), 'application/xml'])
    const { text: told } = await hear({ stream, fault })
    expect(JSON.parse(told).error.message).toContain('content-type "application/xml" instead of')
  }
})

test('empty-body: returns a success with content-length 0', async () => {
  const text = await onTheWire({ type: 'empty-body' }, '\r\n\r\n')
  expect(text).toStartWith('HTTP/1.1 200 OK\r\n')
  expect(text.toLowerCase()).toContain('content-length: 0\r\n')
})

describe('truncate-body', () => {
  test('sets content-length to what is left', async () => {
    const text = await onTheWire({ type: 'truncate-body', after_bytes: 40 }, '\r\n\r\n{"id":"chatcmpl-')
    expect(text.toLowerCase()).toContain('content-length: 40\r\n')
  })

  test('cuts half by default, and the rest is never taken for a response', async () => {
    const bytes = Buffer.from(usual(false))
    const half = await hear({ stream: false, point: 'gateway', fault: { type: 'truncate-body' } })
    expect(half.text).toBe(bytes.subarray(0, bytes.length >> 1).toString())
    for (const stream of FORMS)
      for (const operation of ['chat.completions', 'completions', 'responses'])
        for (const after_fraction of [0, 0.2, 0.4, 0.6, 0.8]) {
          const { trace, text } = await hear({ stream, operation, fault: { type: 'truncate-body', after_fraction } })
          expect([operation, after_fraction, trace.outcome]).not.toContain('succeeded')
          expect(text).not.toContain('[DONE]')
        }
  })
})
