// What a provider may send: too much, compressed without a request, broken, or with the key in it.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { readForwarding } from '../../src/config/providers.ts'
import { createTestApp, type TestApp } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'
import { at, KEY, startBreaking, startProvider } from '../support/forward.ts'

const MAX_COUNT = 200_000
let answer: (request: Request) => Response = () => new Response('{}')
let app: TestApp
let provider: ReturnType<typeof startProvider>
const reported: unknown[] = []

beforeAll(() => {
  provider = startProvider((request) => answer(request))
  const section = {
    value: { openai: at(`${provider.url}/v1`), anthropic: at(provider.url), other: at(`${provider.url}/v1`) },
    locationOf: () => '',
  }
  const forwarding = readForwarding({ section, backend: 'fixture', environment: {} })
  app = createTestApp({ clock: 'real', forwarding, max_response: MAX_COUNT }, (error) => reported.push(error))
})
afterAll(() => {
  app.close()
  provider.stop()
})

const completion = (content: string) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-4o',
  choices: [
    { index: 0, message: { role: 'assistant', content, refusal: null }, finish_reason: 'stop', logprobs: null },
  ],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})
const chunk = (content: string, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o', choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: finish, logprobs: null }] })}\n\n`
const streamed = (...texts: string[]) => [...texts.map((text) => chunk(text)), chunk('', 'stop'), 'data: [DONE]\n\n']

const JSON_TYPE = { 'content-type': 'application/json' }
const SSE = { 'content-type': 'text/event-stream' }
const inPieces = (pieces: Iterable<string | Uint8Array>, headers: Record<string, string>, status = 200) =>
  new Response(
    (async function* () {
      for (const piece of pieces) yield piece
    })() as unknown as ReadableStream,
    { status, headers },
  )
function* forever(piece: string): Generator<string> {
  for (;;) yield piece
}
const body = Buffer.from(JSON.stringify(completion('packed')))

type Way = [name: string, path: string, body: object]
const WAYS: Way[] = [
  ['the router', CHAT, { model: 'openai/gpt-4o', ...user('Hi') }],
  ['the compatible API', '/v1/chat/completions', { model: 'gpt-4o', ...user('Hi') }],
]
const STREAMS = WAYS.map(([name, path, given]): Way => [`a stream of ${name}`, path, { ...given, stream: true }])

/** A call and its trace; what the call could not read is an empty text. */
async function callOf([, path, given]: Way) {
  const response = await app.understudy.app.fetch(
    new Request(`http://localhost${path}`, {
      method: 'POST',
      headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
      body: JSON.stringify(given),
    }),
  )
  const text = await response.text().catch(() => '')
  const id = response.headers.get('x-understudy-trace')
  const trace = (await app.fetch(`/_understudy/traces/${id}`)).json()
  const exchange = (await app.fetch(`/_understudy/traces/${id}/exchange`)).text
  return { status: response.status, headers: response.headers, text, trace, exchange }
}

const TOO_MUCH: [string, () => Response, RegExp][] = [
  [
    'a length beyond the limit',
    () => new Response('x'.repeat(MAX_COUNT + 1), { headers: JSON_TYPE }),
    /larger than 200000 bytes \(--max-response\)/,
  ],
  ['no end', () => inPieces(forever('x'.repeat(1_000)), JSON_TYPE), /--max-response/],
  ['no end and an error status', () => inPieces(forever('x'.repeat(1_000)), JSON_TYPE, 500), /--max-response/],
  [
    'a small body that decompresses to a large one',
    () => new Response(gzipSync(Buffer.alloc(50_000_000)), { headers: { ...JSON_TYPE, 'content-encoding': 'gzip' } }),
    /--max-response/,
  ],
  [
    'a body compressed twice',
    () =>
      new Response(gzipSync(gzipSync(Buffer.alloc(100_000_000))), {
        headers: { ...JSON_TYPE, 'content-encoding': 'gzip, gzip' },
      }),
    /--max-response/,
  ],
  [
    'a truncated compressed body',
    () => new Response(gzipSync(body).subarray(0, 60), { headers: { ...JSON_TYPE, 'content-encoding': 'gzip' } }),
    /cannot be decompressed/,
  ],
  [
    'a body that does not have its declared compression',
    () => new Response(body, { headers: { ...JSON_TYPE, 'content-encoding': 'br' } }),
    /cannot be decompressed/,
  ],
  [
    'an unknown content encoding',
    () => new Response(body, { headers: { ...JSON_TYPE, 'content-encoding': 'snappy' } }),
    /content-encoding "snappy"/,
  ],
]
for (const way of WAYS)
  test.each(TOO_MUCH)(`${way[0]}, response with %s: is recorded as unreadable`, async (_, made, message) => {
    answer = made
    const { trace } = await callOf(way)
    // A client of a direct call has got the beginning, and then a broken connection.
    const outcome = expect.stringMatching(
      way === WAYS[0] && message.source.includes('max') ? /^invalid_response$/ : /^(invalid_response|disconnected)$/,
    )
    expect(trace).toMatchObject({ outcome, error: { message: expect.stringMatching(message) } })
    expect(reported).toEqual([])
  })

for (const way of STREAMS)
  test.each<[string, () => Response]>([
    ['endless events', () => inPieces(forever(chunk('x'.repeat(500))), SSE)],
    ['an endless line', () => inPieces(forever('data: xxxxxxxxxxxx'), SSE)],
    ['endless comments', () => inPieces(forever(': x\n\n'.repeat(1_000)), SSE)],
    [
      'events that decompress endlessly',
      () => new Response(gzipSync(chunk('x').repeat(100_000)), { headers: { ...SSE, 'content-encoding': 'gzip' } }),
    ],
  ])(`${way[0]}, stream of %s: ends at the limit`, async (_, made) => {
    answer = made
    const { trace, text } = await callOf(way)
    expect(trace).toMatchObject({
      outcome: expect.stringMatching(/^(invalid_response|disconnected)$/),
      error: { message: expect.stringMatching(/--max-response/) },
    })
    expect(text.length).toBeLessThan(MAX_COUNT + 10_000)
    expect(reported).toEqual([])
  })

test('response beyond the limit: falls back as an unreadable one does', async () => {
  answer = (request) =>
    request.url.includes('/v1/') && provider.seen.length % 2 === 0
      ? new Response(body, { headers: JSON_TYPE })
      : new Response('x'.repeat(MAX_COUNT + 1), { headers: JSON_TYPE })
  if (provider.seen.length % 2 === 1) await fetch(provider.url)
  const asked = { model: 'openai/gpt-4o', fallbacks: [{ model: 'openai/gpt-4o-mini' }], ...user('Hi') }
  const { status, trace } = await callOf(['fallback', CHAT, asked])
  expect([status, (trace as { attempts: unknown[] }).attempts.length]).toEqual([200, 2])
})

const PACKED: [string, (bytes: Buffer) => Uint8Array][] = [
  ['gzip', gzipSync],
  ['GZIP', gzipSync],
  ['x-gzip', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
  ['identity', (bytes) => bytes],
  ['gzip, br', (bytes) => brotliCompressSync(gzipSync(bytes))],
]
test.each(PACKED)('response compressed with %s: is read', async (encoding, pack) => {
  answer = () =>
    new Response(pack(body) as Uint8Array<ArrayBuffer>, { headers: { ...JSON_TYPE, 'content-encoding': encoding } })
  for (const way of WAYS) {
    const { status, headers, text } = await callOf(way)
    expect([status, headers.get('content-encoding')]).toEqual([200, null])
    expect(JSON.parse(text)).toMatchObject({ choices: [{ message: { content: 'packed' } }] })
  }
  const events = Buffer.from(streamed('packed').join(''))
  answer = () =>
    new Response(pack(events) as Uint8Array<ArrayBuffer>, { headers: { ...SSE, 'content-encoding': encoding } })
  for (const way of STREAMS) expect((await callOf(way)).trace).toMatchObject({ status: 200, outcome: 'succeeded' })
})

const HALF = KEY.length >> 1
const ESCAPED = [...KEY].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
const text = JSON.stringify(completion(`your key is ${KEY}, ${KEY}`))
const ECHOES: [string, boolean, () => Response][] = [
  ['in the text', false, () => new Response(text, { headers: JSON_TYPE })],
  ['in chunks of the body', false, () => inPieces(text.split(/(?=s)|(?<=e)/), JSON_TYPE)],
  [
    'in a compressed body',
    false,
    () => new Response(gzipSync(text), { headers: { ...JSON_TYPE, 'content-encoding': 'gzip' } }),
  ],
  ['escaped', false, () => new Response(text.replaceAll(KEY, ESCAPED), { headers: JSON_TYPE })],
  [
    'in headers',
    false,
    () => new Response(body, { headers: { ...JSON_TYPE, 'x-request-id': KEY, 'x-ratelimit-limit': `Bearer ${KEY}` } }),
  ],
  ['in an error', false, () => new Response(`{"error":{"message":"no ${KEY}"}}`, { status: 401, headers: JSON_TYPE })],
  [
    'in an error in chunks',
    false,
    () => inPieces([`{"error":{"message":"no ${KEY.slice(0, 9)}`, `${KEY.slice(9)}"}}`], JSON_TYPE, 400),
  ],
  ['in an HTML page', false, () => new Response(`<h1>${KEY}</h1>`, { headers: { 'content-type': 'text/html' } })],
  ['in events', true, () => inPieces(streamed(KEY), SSE)],
  ['in events in chunks', true, () => inPieces(streamed(KEY).join('').split(/(?=-)/), SSE)],
  ['across two events', true, () => inPieces(streamed(KEY.slice(0, HALF), KEY.slice(HALF)), SSE)],
  ['letter by letter', true, () => inPieces(streamed(...KEY), SSE)],
  ['in a stream that breaks', true, () => inPieces([chunk(KEY), `data: ${KEY}\n\n`], SSE)],
]
test.each(ECHOES)('provider key %s: is masked in everything that is stored', async (_, isStream, made) => {
  answer = made
  for (const way of isStream ? STREAMS : WAYS) {
    const { trace, exchange, headers } = await callOf(way)
    expect(JSON.stringify(trace)).not.toContain(KEY)
    expect(exchange).not.toContain(KEY)
    expect(JSON.stringify([...headers])).not.toContain(KEY)
  }
  expect((await app.fetch('/_understudy/snapshot')).text).not.toContain(KEY)
})

test('provider key: is not masked when it is an ordinary word', async () => {
  const section = { value: { openai: at(`${provider.url}/v1`, { api_key: 'x' }) }, locationOf: () => '' }
  const forwarding = readForwarding({ section, backend: 'fixture', environment: {} })
  const local = createTestApp({ clock: 'real', forwarding })
  answer = () => new Response(JSON.stringify(completion('an axe in a box')), { headers: JSON_TYPE })
  try {
    for (const [, path, given] of WAYS) expect((await local.post(path, given)).text).toContain('an axe in a box')
  } finally {
    local.close()
  }
})

const BROKEN_REDIRECT = 'HTTP/1.1 301 Moved\r\nlocation: /elsewhere\r\ntransfer-encoding: chunked\r\n\r\n'
test.each([
  ['a redirect with a body that is not HTTP', `${BROKEN_REDIRECT}zz\r\nnonsense`],
  ['a redirect with a truncated body', `${BROKEN_REDIRECT}5\r\nab`],
  ['a status that HTTP does not have', 'HTTP/1.1 999 Odd\r\ncontent-length: 2\r\n\r\n{}'],
  ['such a status without a body', 'HTTP/1.1 600 Odd\r\ncontent-length: 0\r\n\r\n'],
])('provider response: is recorded as disconnected for %s', async (_, sent) => {
  const breaking = startBreaking(sent)
  const errors: unknown[] = []
  const section = { value: { openai: at(`${breaking.url}/v1`) }, locationOf: () => '' }
  const forwarding = readForwarding({ section, backend: 'fixture', environment: {} })
  const local = createTestApp({ clock: 'real', forwarding }, (error) => errors.push(error))
  try {
    // Whether the body has broken by then is a matter of chance.
    for (let count = 0; count < 20; count++)
      for (const [, path, given] of WAYS) expect((await local.post(path, given)).status).toBe(502)
    expect(errors).toEqual([])
  } finally {
    breaking.stop()
    await local.close()
  }
})
