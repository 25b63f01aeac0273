// The exchange of a client's connection is stored with the trace, byte by byte and with its times, whichever API was called; and a trace
// shows the headers of its call without their secrets.
import { afterAll, expect } from 'bun:test'
import fc from 'fast-check'
import type { Exchange } from '../../src/contract/core/exchange.ts'
import type { StoredTrace } from '../../src/contract/core/trace.ts'
import { Allowance } from '../../src/lib/allowance.ts'
import { frontCoded, frontDecoded } from '../../src/lib/front-coding.ts'
import { bytesIn } from '../../src/views/wire-text.ts'
import { accepted } from '../support/accepted.ts'
import { type Answer, createTestApp, type TestApp, testApps } from '../support/app.ts'
import { character } from '../support/arbitrary.ts'
import { CHAT, user } from '../support/chat.ts'
import { property, runs, test } from '../support/property.ts'

const { appWith, close } = testApps()
const app = appWith()
afterAll(close)

const idOf = ({ headers }: Answer) => String(headers.get('x-understudy-trace'))
const exchangeOf = async (from: TestApp, id: string, session = 'default') =>
  (await from.fetch(`/s/${session}/_understudy/traces/${id}/exchange`)).json() as unknown as Exchange
const bytesSent = ({ response }: Exchange) => Buffer.concat((response?.body ?? []).map(bytesIn))
const onTheWire = (exchange: Exchange) => bytesSent(exchange).toString()

const long = { model: 'openai/gpt-4o', stream: true, ...user('Write a long text about ships and sails, please.') }
const tool = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }
const STREAMS: [string, string, object][] = [
  ['a chat', 'chat/completions', long],
  ['two choices with their usage', 'chat/completions', { ...long, n: 2, stream_options: { include_usage: true } }],
  ['log probabilities', 'chat/completions', { ...long, logprobs: true, top_logprobs: 2, max_tokens: 9 }],
  ['a tool call', 'chat/completions', { ...long, tools: [tool], tool_choice: 'required' }],
  ['reasoning', 'chat/completions', { ...long, model: 'openai/o3', reasoning_effort: 'low' }],
  ['a completion', 'completions', { model: 'openai/gpt-3.5-turbo-instruct', stream: true, prompt: 'Say it' }],
  ['a response', 'responses', { model: 'openai/gpt-4o', stream: true, input: 'Say it' }],
  ['an image', 'images/generations', { model: 'openai/gpt-image-1', stream: true, prompt: 'A ship' }],
]
test.each(STREAMS)('exchange of %s: shows the events as they were sent', async (_, path, body) => {
  const answer = await app.post(`/v2/router/${path}`, body)
  const sent = await exchangeOf(app, idOf(answer))
  expect([answer.status, sent.response?.status, sent.ended]).toEqual([200, 200, 'complete'])
  expect(onTheWire(sent)).toBe(answer.text)
  expect(sent.response?.body?.length).toBe(answer.text.split('\n\n').length - 1)
})

const messages = [{ role: 'user', content: 'Grüße 👋 "to" you\n' }]
const CALLS: [string, string, object][] = [
  ['chat', '/v1/chat/completions', { model: 'gpt-4o', messages }],
  ['a chat with the full name of its model', '/v1/chat/completions', { model: 'openai/gpt-4o', messages }],
  ['a stream of chat', '/v1/chat/completions', { model: 'gpt-4o', messages, stream: true }],
  ['a chat through the gateway', '/v1/chat/completions', { model: 'gpt-4o', messages, retry: { count: 1 } }],
  [
    'a stream of a chat through the gateway',
    '/v1/chat/completions',
    { model: 'gpt-4o', messages, stream: true, retry: { count: 1 } },
  ],
  ['responses', '/v1/responses', { model: 'gpt-4o', input: 'Hi' }],
  ['a stream of responses', '/v1/responses', { model: 'gpt-4o', input: 'Hi', stream: true }],
  ['completions', '/v1/completions', { model: 'gpt-3.5-turbo-instruct', prompt: 'Hi' }],
  ['a stream of completions', '/v1/completions', { model: 'gpt-3.5-turbo-instruct', prompt: 'Hi', stream: true }],
  ['embeddings', '/v1/embeddings', { model: 'text-embedding-3-small', input: 'Hi' }],
  ['moderations', '/v1/moderations', { input: 'Hi' }],
  ['images', '/v1/images/generations', { model: 'gpt-image-1', prompt: 'A ship' }],
  ['a stream of images', '/v1/images/generations', { model: 'gpt-image-1', prompt: 'A ship', stream: true }],
  ['messages', '/v1/messages?beta=true', { model: 'claude-sonnet-4', max_tokens: 40, messages }],
  ['a stream of messages', '/messages', { model: 'claude-sonnet-4', max_tokens: 40, messages, stream: true }],
  [
    'messages through the gateway',
    '/v1/messages',
    { model: 'claude-sonnet-4', max_tokens: 40, messages, fallbacks: [] },
  ],
  ['rerank', '/v2/router/rerank', { model: 'cohere/rerank-v3.5', query: 'a', documents: ['a', 'b'] }],
  ['an error response', '/v1/chat/completions', { model: 'gpt-4o', messages, temperature: 9 }],
  ['a rejected stream of messages', '/v1/messages', { model: 'claude-sonnet-4', messages, stream: true }],
  ['an unknown provider', '/v2/router/chat/completions', { model: 'none/none', messages }],
]
test.each(CALLS)('exchange of %s: keeps the bytes of both sides in the called API', async (_, path, body) => {
  const text = JSON.stringify(body, null, 2)
  const answer = await app.post(`/s/bytes${path}`, text, { 'x-own': 'yes', 'anthropic-beta': 'some' })
  const { request, response, ended } = await exchangeOf(app, idOf(answer), 'bytes')
  expect(request).toMatchObject({
    ...{ method: 'POST', address: `/s/bytes${path}`, body: { text }, bytes: Buffer.byteLength(text), truncated: false },
    headers: { 'x-own': '(masked)', 'anthropic-beta': 'some', authorization: 'Bearer (masked)' },
  })
  expect(request?.headers).not.toHaveProperty('x-understudy-session')
  const sent = Buffer.concat((response?.body ?? []).map(bytesIn))
  expect([response?.status, sent.toString(), ended]).toEqual([answer.status, answer.text, 'complete'])
  expect([response?.bytes, response?.truncated]).toEqual([sent.length, sent.length < Buffer.byteLength(answer.text)])
  for (const [name, value] of Object.entries(response?.headers ?? {}))
    expect([name, answer.headers.get(name)]).toEqual([name, value])
  expect(response?.headers).toHaveProperty('content-type')
})

const BODIES: [string, Uint8Array<ArrayBuffer>][] = [
  ['spaces, order and unknown fields', Buffer.from('{ "x" : 1.50,\r\n"messages":[], "model":"gpt-4o" }\n')],
  ['what is not JSON', Buffer.from('{"model": "gpt-4o", messages')],
  ['no bytes', Buffer.from('')],
  ['a text of JSON', Buffer.from('"text"')],
  ['a byte order mark', Buffer.from('\ufeff{"model":"gpt-4o","messages":[]}')],
  ['bytes that are not UTF-8', Buffer.from([123, 34, 255, 34, 0, 125])],
  ['a lone surrogate', Buffer.from([...Buffer.from('{"model":"'), 0xf0, 0x9f, 0x98, 34, 125])],
  ['an escaped lone surrogate', Buffer.from('{"model":"gpt-4o","messages":[{"role":"user","content":"\\ud800"}]}')],
]
property.each(BODIES)('exchange body: is kept as received for %s', async (_, body) => {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
  const { request } = await exchangeOf(app, idOf(await app.fetch('/v1/chat/completions', init)))
  expect(Buffer.from(bytesIn(request?.body ?? {})).toString('base64')).toBe(Buffer.from(body).toString('base64'))
  expect([request?.bytes, request?.truncated]).toEqual([body.length, false])
})

test('exchange of a form: is kept as received, or its beginning when it is long', async () => {
  for (const size of [100, 100_000]) {
    const form = new FormData()
    form.append('model', 'whisper-1')
    form.append('file', new File([new Uint8Array(size).map((_, at) => at * 7)], 'a.wav'))
    const made = new Request('http://localhost', { method: 'POST', body: form })
    const type = made.headers.get('content-type') ?? ''
    const body = await made.bytes()
    const init = { method: 'POST', headers: { 'content-type': type }, body }
    const { request } = await exchangeOf(app, idOf(await app.fetch('/v1/audio/transcriptions', init)))
    const kept = bytesIn(request?.body ?? {})
    expect([request?.bytes, request?.truncated, request?.headers?.['content-type']]).toEqual([
      body.length,
      size > 100,
      type,
    ])
    expect(Buffer.from(kept)).toEqual(Buffer.from(body.subarray(0, kept.length)))
    expect(kept.length > 40_000 || kept.length === body.length).toBe(true)
  }
})

test('exchange of a long response: keeps the beginning and the full length', async () => {
  const content = Array.from({ length: 30_000 }, (_, word) => `word${word * 7919}`).join(' ')
  await accepted(
    app.post('/_understudy/sessions', {
      name: 'much',
      fixtures: [{ name: 'much', match: { operation: 'chat.completions' }, replies: [{ content }] }],
    }),
  )
  const answer = await app.post('/s/much/v1/chat/completions', { model: 'gpt-4o', messages, stream: true })
  const { response, ended } = await exchangeOf(app, idOf(answer), 'much')
  const kept = Buffer.concat((response?.body ?? []).map(bytesIn)).toString()
  expect([response?.truncated, response?.bytes, ended]).toEqual([true, Buffer.byteLength(answer.text), 'complete'])
  expect(kept.length).toBeGreaterThan(100_000)
  expect(answer.text.startsWith(kept)).toBe(true)
})

const LEFT: [string, string, object][] = [
  ['a stream of the router', '/v2/router/chat/completions', {}],
  ['a stream of a compatible API', '/v1/chat/completions', {}],
  ['a stream under a scenario', '/v1/chat/completions', { 'x-understudy-scenario': 'stream-missing-done' }],
]
test.each(LEFT)('exchange of %s: records that the client left in the middle', async (_, path, headers) => {
  const name = `left${path}${Object.keys(headers).length}`.replace(/\W/g, '-')
  const timing = { first_token: '100ms', tokens_per_second: 10 }
  const match = { operation: 'chat.completions' }
  const fixtures = [{ name: 'slow', match, replies: [{ content: 'One two three four five six', timing }] }]
  await accepted(app.post('/_understudy/sessions', { name, clock: 'virtual', fixtures }))
  const client = new AbortController()
  const leaving = app.understudy.sessions
    .get(name)
    .clock.sleep(350)
    .then(() => client.abort())
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'openai/gpt-4o', messages, stream: true }),
    signal: client.signal,
  }
  const [answer] = await Promise.all([app.fetch(`/s/${name}${path}`, init), leaving])
  const exchange = await exchangeOf(app, idOf(answer), name)
  expect(exchange.ended).toBe('left')
  expect(onTheWire(exchange)).toBe(answer.text)
  expect(answer.text).toContain('"content":" two"')
  expect(answer.text).not.toContain('[DONE]')
})

test('exchange under load: keeps the bytes of failed and short calls, and the headers of failed ones', async () => {
  const busy = appWith()
  const stream = { model: 'gpt-4o', messages, stream: true }
  const some = async (count: number, body: object) =>
    Promise.all(Array.from({ length: count }, () => busy.post('/v1/chat/completions', body)))
  // Until no more headers are kept.
  for (let headers = true; headers; ) {
    const last = (await some(100, { model: 'gpt-4o', messages })).at(-1)
    headers = last !== undefined && (await busy.traceOf(last)).request_headers !== null
  }
  const failed = await some(100, { ...stream, temperature: 9 })
  const answers = [...(await some(100, stream)), ...(await some(10, { ...stream, stream: false }))]
  let dropped = 0
  for (const answer of answers) {
    const exchange = await exchangeOf(busy, idOf(answer))
    expect([exchange.request?.address, exchange.response?.status, exchange.ended]).toEqual([
      ...['/v1/chat/completions', 200, 'complete'],
    ])
    if (exchange.response?.body) expect(onTheWire(exchange)).toBe(answer.text)
    else dropped++
  }
  expect(dropped).toBeGreaterThan(0)
  expect(dropped).toBeLessThanOrEqual(100)
  for (const answer of failed) expect((await busy.traceOf(answer)).request_headers).not.toBeNull()
  const [first] = failed
  if (first) expect(onTheWire(await exchangeOf(busy, idOf(first)))).toBe(first.text)
})

test('exchange address: masks secrets and keeps the session name', async () => {
  const answer = await app.post('/v1/chat/completions?key=tell-nobody&api-version=7&token=tell-nobody', '{}')
  const { request } = await exchangeOf(app, idOf(answer))
  expect(request?.address).toBe('/v1/chat/completions?key=(masked)&api-version=7&token=(masked)')
  const tokens: [string, string][] = [
    ['Bearer session:mine', 'Bearer session:mine'],
    ['Bearer sk-tell-nobody#mine', 'Bearer (masked)#mine'],
  ]
  for (const [authorization, shown] of tokens) {
    const named = await app.post('/v1/chat/completions', '{}', { authorization })
    expect((await exchangeOf(app, idOf(named), 'mine')).request?.headers?.authorization).toBe(shown)
  }
})

test('exchange of an error: keeps the namespace of the deployment', async () => {
  const named = appWith({ namespace: 'acme' })
  const body = { model: 'openai/gpt-4o', ...user('Hi'), acme: { knowledge_bases: [{ knowledge_id: 'none' }] } }
  const answer = await named.post(CHAT, body)
  expect(answer.text).toContain('acme.')
  expect(onTheWire(await exchangeOf(named, idOf(answer)))).toBe(answer.text)
  const trace = await named.traceOf(answer)
  expect(trace.error?.param).toStartWith('acme.')
})

test('exchange event: has the time at which it was sent', async () => {
  const replies = [{ content: 'One two three four five', timing: { first_token: '100ms', tokens_per_second: 10 } }]
  const fixtures = [{ name: 'slow', match: { operation: 'chat.completions' }, replies }]
  await accepted(app.post('/_understudy/sessions', { name: 'slow', clock: 'virtual', fixtures }))
  const sent = await exchangeOf(app, idOf(await app.post(`/s/slow${CHAT}`, long)), 'slow')
  const times = (sent.response?.body ?? []).map(({ at_ms }) => at_ms ?? -1)
  expect(times[0]).toBe(100)
  expect(times.toSorted((one, other) => one - other)).toEqual(times)
  expect(new Set(times).size).toBeGreaterThan(4)
  expect(sent.response?.body?.at(-1)?.text).toBe('data: [DONE]\n\n')
})

test("exchange of a provider's stream: keeps its unusual form and the error event", async () => {
  const chunk = (more: object) =>
    `data: ${JSON.stringify({ id: 'c-1', object: 'chat.completion.chunk', created: 1, model: 'x', ...more })}\n\n`
  const said = (content: string, finish: string | null = null) =>
    chunk({ own: { field: content.length }, choices: [{ index: 0, delta: { content }, finish_reason: finish }] })
  const odd = (last: string) => `${said('Good ')}${said('mor')}${said('ning')}${last}`
  const replies = [odd(`${said('', 'stop')}data: [DONE]\n\n`), odd('')].map((text) => new TextEncoder().encode(text))
  const { appOf } = oddProvider(replies)
  const provider = appOf()
  try {
    for (const whole of [true, false]) {
      const answer = await provider.post(CHAT, long)
      const sent = await exchangeOf(provider, idOf(answer))
      expect(onTheWire(sent)).toBe(answer.text)
      expect(answer.text.includes('"error"')).toBe(!whole)
      expect(answer.text).toContain('"own":{"field":5}')
    }
  } finally {
    await provider.close()
  }
})

/** An application whose provider answers with these bytes, one after the other. */
function oddProvider(replies: Uint8Array[]) {
  const about = { status: 200, headers: {}, usage: null, fixture: null, generated: false }
  const backend = {
    answer: async () => {
      const bytes = replies.shift() ?? new Uint8Array()
      return { ...about, body: { kind: 'bytes' as const, contentType: 'text/event-stream', bytes } }
    },
  }
  return { appOf: () => createTestApp({}, undefined, { backend }) }
}

test('exchange: returns 404 for an unknown trace', async () => {
  expect((await app.fetch('/_understudy/traces/none/exchange')).status).toBe(404)
})

test('exchange: is part of a snapshot, with its headers', async () => {
  const id = idOf(await app.post(`/s/before${CHAT}`, long, { 'user-agent': 'a client' }))
  const snapshot = (await app.fetch('/s/before/_understudy/snapshot')).text
  await accepted(app.post('/s/after/_understudy/snapshot', snapshot))
  const found = (await app.fetch(`/s/after/_understudy/traces/${id}`)).json() as unknown as StoredTrace
  expect(found.request_headers?.['user-agent']).toBe('a client')
  expect(await exchangeOf(app, id, 'after')).toEqual(await exchangeOf(app, id, 'before'))
})

const SECRET = 'tell-nobody-4f9K2x'
const HEADERS: [name: string, sent: string, shown: string][] = [
  ['user-agent', 'a client', 'a client'],
  [
    'user-agent',
    'Mozilla/5.0 (X11; Linux x86_64) Chrome/141.0.0.0',
    'Mozilla/5.0 (X11; Linux x86_64) Chrome/141.0.0.0',
  ],
  ['user-agent', `app/1.0 token=${SECRET}`, 'app/1.0 token=(masked)'],
  ['user-agent', 'app/1.0 ghp_16C7e42F292c6912E7710c838347Ae178B4a', 'app/1.0 (masked)'],
  ['user-agent', 'app 9f86d081884c7d659a2feaa0c55ad015', 'app (masked)'],
  ['user-agent', 'app 3b241101-e2bb-4255-8caf-4136c566a962', 'app (masked)'],
  ['authorization', `Bearer ${SECRET}`, 'Bearer (masked)'],
  ['x-api-key', `two ${SECRET}`, '(masked)'],
  ['x-api-key', SECRET, '(masked)'],
  ['cookie', `session=${SECRET}#mine`, '(masked)'],
  ['x-goog-api-key', SECRET, '(masked)'],
  ['x-vault', SECRET, '(masked)'],
  ['ocp-apim-subscription-id', SECRET, '(masked)'],
  ['x-understudy-key', SECRET, '(masked)'],
  ['baggage', `user=${SECRET}`, '(masked)'],
  ['x-forwarded-uri', `/a?b=${SECRET}`, '(masked)'],
  ['idempotency-key', 'order-17', 'order-17'],
  ['referer', 'http://localhost:3000/chat/1', 'http://localhost:3000/chat/1'],
  [
    'referer',
    `https://me:${SECRET}@app.example/a?page=2&q=${SECRET}#${SECRET}`,
    'https://(masked)@app.example/a?page=2&q=(masked)#(masked)',
  ],
  [
    'referer',
    'https://app.example/reset/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc',
    'https://app.example/reset/(masked)',
  ],
  ['x-request-id', 'sk-ant-api03-abcdefgh', '(masked)'],
  ['accept', 'application/json', 'application/json'],
  ['x-stainless-retry-count', '1', '1'],
]
test.each(HEADERS)('exchange header %s: %s is shown as %s', async (name, sent, shown) => {
  const trace = await app.traceOf(await app.post(CHAT, { ...long, stream: false }, { [name]: sent }))
  expect(trace.request_headers?.[name]).toBe(shown)
  expect(JSON.stringify(trace)).not.toContain(SECRET)
})

test('exchange header: is shortened when kept, and masked whatever its length otherwise', async () => {
  const headers = { accept: 'x '.repeat(2_000), 'x-long': 'x'.repeat(2_000) }
  const shown = (await app.traceOf(await app.post(CHAT, { ...long, stream: false }, headers))).request_headers
  expect([shown?.accept?.length, shown?.['x-long']]).toEqual([501, '(masked)'])
})

const QUERIES: [sent: string, shown: string][] = [
  ['beta=true&api-version=2024-10-21', 'beta=true&api-version=2024-10-21'],
  [`code=${SECRET}&%6bey=${SECRET}&x=1`, 'code=(masked)&%6bey=(masked)&x=(masked)'],
  [`${SECRET}&beta`, '(masked)&beta'],
  [`beta=1;key=${SECRET}`, 'beta=1;key=(masked)'],
  [`limit=${SECRET}9aB8c7D6`, 'limit=(masked)'],
]
test.each(QUERIES)('exchange query ?%s: is shown as ?%s', async (sent, shown) => {
  const { request } = await exchangeOf(app, idOf(await app.post(`/v1/chat/completions?${sent}`, '{}')))
  expect(request?.address).toBe(`/v1/chat/completions?${shown}`)
})

test('exchange response header: is masked when unknown', async () => {
  const reply = {
    error: {
      status: 429,
      message: 'Slow.',
      headers: { 'x-amz-security-token': SECRET, 'retry-after': 7, 'x-own': SECRET },
    },
  }
  const fixed = appWith({ fixtures: [] })
  await accepted(
    fixed.fetch('/_understudy/fixtures', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify([{ match: { operation: 'chat.completions' }, reply }]),
    }),
  )
  const answer = await fixed.post(CHAT, { ...long, stream: false })
  expect(answer.headers.get('x-own')).toBe(SECRET)
  expect((await exchangeOf(fixed, idOf(answer))).response?.headers).toMatchObject({
    ...{ 'x-amz-security-token': '(masked)', 'retry-after': '7', 'x-own': '(masked)' },
  })
})

test('header allowance: grants a number of calls a second, and saves up unused ones', () => {
  const some = new Allowance({ perSecond: 10, most: 20 })
  const taken = (now: number) => Array.from({ length: 100 }, () => some.take(now)).filter(Boolean).length
  expect([taken(1_000), taken(1_000), taken(2_000), taken(2_050), taken(60_000)]).toEqual([20, 0, 10, 0, 20])
})

property('front coding: stores similar texts as differences and reads them unchanged', () => {
  const texts = fc.array(fc.oneof(fc.string({ unit: character }), fc.constantFrom('aa', 'aaa', 'aba', 'a', '')))
  fc.assert(fc.property(texts, (given) => expect(frontDecoded(frontCoded(given, 1e6))).toEqual(given)))
  expect(frontDecoded(frontCoded(['abc', 'abd', 'x'.repeat(100)], 50))).toEqual(['abc', 'abd', 'x'.repeat(22)])
  expect(frontDecoded(frontCoded(['abd'], 50, 'abc'), 'abc')).toEqual(['abd'])
})

property('property: front coding keeps no character that the previous text has at the same end', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '\u{1f600}'), maxLength: 6 })
  fc.assert(
    fc.property(fc.array(text, { maxLength: 8 }), (given) => {
      const coded = frontCoded(given, 1e6)
      for (const [index, own] of given.entries()) {
        const before = given[index - 1] ?? ''
        const [head, tail] = [Number(coded[3 * index]), Number(coded[3 * index + 1])]
        const isShort = head + tail === Math.min(own.length, before.length)
        expect(isShort || (own[head] !== before[head] && own.at(-1 - tail) !== before.at(-1 - tail))).toBe(true)
      }
    }),
    { numRuns: runs(1_000) },
  )
})
