// A streamed answer can be looked at as it was sent: every event as it was on the wire, with its time, whoever made it; and a trace
// shows the headers of its call without their secrets.
import { afterAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { SentEvents } from '../src/contract/sent-events.ts'
import type { StoredTrace } from '../src/contract/trace.ts'
import { Allowance } from '../src/lib/allowance.ts'
import { frontCoded, frontDecoded } from '../src/lib/front-coding.ts'
import { type Answer, createTestApp, type TestApp, testApps } from './support/app.ts'
import { CHAT, user } from './support/chat.ts'

const { appWith, close } = testApps()
const app = appWith()
afterAll(close)

const idOf = ({ headers }: Answer) => String(headers.get('x-understudy-trace'))
const eventsOf = async (from: TestApp, id: string, session = 'default') =>
  (await from.fetch(`/s/${session}/_understudy/traces/${id}/events`)).json() as unknown as SentEvents
const onTheWire = ({ data }: SentEvents) => data.map(({ text }) => `${text}\n\n`).join('')

const long = { model: 'openai/gpt-4o', stream: true, ...user('Write a long text about ships and sails, please.') }
const tool = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }
const STREAMS: [string, string, object][] = [
  ['a chat', 'chat/completions', long],
  ['two choices with their usage', 'chat/completions', { ...long, n: 2, stream_options: { include_usage: true } }],
  ['log probabilities', 'chat/completions', { ...long, logprobs: true, top_logprobs: 2, max_tokens: 9 }],
  ['a call of a tool', 'chat/completions', { ...long, tools: [tool], tool_choice: 'required' }],
  ['reasoning', 'chat/completions', { ...long, model: 'openai/o3', reasoning_effort: 'low' }],
  ['a completion', 'completions', { model: 'openai/gpt-3.5-turbo-instruct', stream: true, prompt: 'Say it' }],
  ['a response', 'responses', { model: 'openai/gpt-4o', stream: true, input: 'Say it' }],
  ['a picture', 'images/generations', { model: 'openai/gpt-image-1', stream: true, prompt: 'A ship' }],
]
test.each(STREAMS)('%s is shown as it was on the wire, event by event', async (_, path, body) => {
  const answer = await app.post(`/v2/router/${path}`, body)
  const sent = await eventsOf(app, idOf(answer))
  expect([answer.status, sent.source]).toEqual([200, 'answer'])
  expect(onTheWire(sent)).toBe(answer.text)
  expect(sent.count).toBe(sent.data.filter(({ text }) => text !== 'data: [DONE]').length)
})

test('the time of each event is the one at which it went out', async () => {
  const replies = [{ content: 'One two three four five', timing: { first_token: '100ms', tokens_per_second: 10 } }]
  const fixtures = [{ name: 'slow', match: { operation: 'chat.completions' }, replies }]
  await app.post('/_understudy/sessions', { name: 'slow', clock: 'virtual', fixtures })
  const sent = await eventsOf(app, idOf(await app.post(`/s/slow${CHAT}`, long)), 'slow')
  const times = sent.data.slice(0, -1).map(({ at_ms }) => at_ms ?? -1)
  expect(times[0]).toBe(100)
  expect(times.toSorted((one, other) => one - other)).toEqual(times)
  expect(new Set(times).size).toBeGreaterThan(4)
  expect(sent.data.at(-1)).toEqual({ at_ms: null, text: 'data: [DONE]' })
})

test('what a provider sends in its own way is shown in that way, and so is the event of a failure', async () => {
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
      const sent = await eventsOf(provider, idOf(answer))
      expect(sent.source).toBe('kept')
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
  const about = { status: 200, headers: {}, usage: null, fixture: null, synthesized: false }
  const backend = {
    answer: async () => {
      const bytes = replies.shift() ?? new Uint8Array()
      return { ...about, body: { kind: 'bytes' as const, contentType: 'text/event-stream', bytes } }
    },
  }
  return { appOf: () => createTestApp({}, undefined, backend) }
}

test('an answer that is no stream has no events, and an unknown trace is a 404', async () => {
  const whole = await app.post(CHAT, { ...long, stream: false })
  expect(await eventsOf(app, idOf(whole))).toEqual({ object: 'list', source: 'none', count: 0, data: [] })
  expect((await app.fetch('/_understudy/traces/none/events')).status).toBe(404)
})

test('events and headers are in a snapshot too', async () => {
  const id = idOf(await app.post(`/s/before${CHAT}`, long, { 'user-agent': 'a client' }))
  const snapshot = (await app.fetch('/s/before/_understudy/snapshot')).text
  await app.post('/s/after/_understudy/snapshot', snapshot)
  const found = (await app.fetch(`/s/after/_understudy/traces/${id}`)).json() as unknown as StoredTrace
  expect(found.request_headers?.['user-agent']).toBe('a client')
  expect(await eventsOf(app, id, 'after')).toEqual(await eventsOf(app, id, 'before'))
})

test('a trace has the headers of its call, and no secret of them', async () => {
  const headers = {
    'user-agent': 'a client',
    authorization: 'Bearer tell-nobody',
    'x-api-key': 'tell-nobody',
    cookie: 'session=tell-nobody',
    'x-goog-api-key': 'tell-nobody',
    'idempotency-key': 'order-17',
    'x-long': 'x'.repeat(2_000),
  }
  const trace = await app.traceOf(await app.post(CHAT, { ...long, stream: false }, headers))
  const shown = trace.request_headers ?? {}
  expect(shown).toMatchObject({
    'user-agent': 'a client',
    authorization: 'Bearer (masked)',
    'x-api-key': '(masked)',
    cookie: '(masked)',
    'x-goog-api-key': '(masked)',
    'idempotency-key': 'order-17',
  })
  expect(JSON.stringify(trace)).not.toContain('tell-nobody')
  expect(shown['x-long']?.length).toBeLessThan(600)
})

test('headers are read of so many calls a second, and of as many more as were left over', () => {
  const some = new Allowance({ perSecond: 10, most: 20 })
  const taken = (now: number) => Array.from({ length: 100 }, () => some.take(now)).filter(Boolean).length
  expect([taken(1_000), taken(1_000), taken(2_000), taken(2_050), taken(60_000)]).toEqual([20, 0, 10, 0, 20])
})

test('texts that are much alike are kept as what differs, and read as they were', () => {
  const texts = fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('aa', 'aaa', 'aba', 'a', '')))
  fc.assert(fc.property(texts, (given) => expect(frontDecoded(frontCoded(given, 1e6))).toEqual(given)))
  expect(frontDecoded(frontCoded(['abc', 'abd', 'x'.repeat(100)], 50))).toEqual(['abc', 'abd'])
})

test('no character is kept that the text before has at the same end, however alike the texts before were', () => {
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
    { numRuns: 1_000 },
  )
})
