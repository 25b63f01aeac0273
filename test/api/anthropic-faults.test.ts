// Every fault type between the gateway and a client of Anthropic's API: what it reads has the shapes of that API.
import { afterAll, describe, expect, test } from 'bun:test'
import { faultKinds } from '../../src/faults/index.ts'
import { blocksOf, type Fault, type Heard, rehearsal } from '../support/faults.ts'

const app = rehearsal()
afterAll(app.close)
const call = {
  path: '/v1/messages',
  body: { model: 'claude-sonnet-4', max_tokens: 60, messages: [{ role: 'user', content: 'Grüße 👋' }] },
  streamed: { stream: true },
}
const hear = (stream: boolean, fault?: Fault | Fault[], point: 'provider' | 'gateway' = 'gateway') =>
  app.hear({ call, stream, point, ...(fault && { fault }) })
/** The same call with an option that only a gateway has. */
const throughGateway = { ...call, body: { ...call.body, timeout: { call_timeout: 60_000 } } }
const without = (text: string) => text.replaceAll(/"request_id":"[^"]*"/g, '"request_id":"X"')

interface Data {
  type?: string
  content?: { type: string; text: string }[]
  stop_reason?: string | null
  usage?: object
  message?: { usage?: object }
  delta?: { type?: string; text?: string; stop_reason?: string | null }
}
/** The data of the events, each of which has the name of its type. */
const eventsOf = (text: string): Data[] =>
  blocksOf(text)
    .filter((block) => block.startsWith('event: '))
    .map((block) => {
      const [, name, data = ''] = /^event: (\S+)\ndata: (.*)$/m.exec(block) ?? []
      const event = JSON.parse(data) as Data
      expect(event.type).toBe(name)
      return event
    })
const textOf = (events: readonly Data[]) => events.map(({ delta }) => delta?.text ?? '').join('')
const deltas = (events: readonly Data[]) => events.filter(({ type }) => type === 'content_block_delta')

type Check = (heard: Heard, healthy: string) => void
/** A refusal, in the words of Anthropic. */
const refused =
  (status: number, type: string): Check =>
  (heard) => {
    const body = JSON.parse(heard.text) as { request_id: string }
    const message = expect.any(String) as unknown
    expect([heard.status, body]).toEqual([
      status,
      { type: 'error', error: { type, message }, request_id: body.request_id } as never,
    ])
    // That of a trace is passed over in the text, as it goes on with the clock.
    const id = heard.headers.get('request-id') ?? ''
    expect([id, 'X'.repeat(id.length)]).toContain(body.request_id)
  }
const same: Check = ({ text }, healthy) => expect(text).toBe(healthy)
const broken: Check = ({ text, broken }) => expect([text, broken === undefined]).toEqual(['', false])
const both = (check: Check) => ({ whole: check, streamed: check })
const skipped: Check = ({ rule }) => expect(rule).toMatchObject({ applied: 0 })

/** What is heard of each kind, as its example has it. */
const ROWS: Record<string, { whole: Check; streamed: Check }> = {
  'http-error': both(refused(503, 'api_error')),
  'rate-limit': both(({ status, headers }) => {
    expect(status).toBe(200)
    expect(headers.get('anthropic-ratelimit-requests-limit')).toBe('1')
    expect(headers.get('anthropic-ratelimit-requests-remaining')).toBe('0')
    expect(headers.get('anthropic-ratelimit-requests-reset')).toMatch(/^\d{4}-.*Z$/)
  }),
  delay: both(same),
  reset: both(broken),
  'empty-reply': both(broken),
  'auth-failure': both(refused(401, 'authentication_error')),
  'context-length': both((heard) => {
    refused(400, 'invalid_request_error')(heard, '')
    expect(heard.text).toContain('prompt is too long')
  }),
  // Anthropic refuses what it takes for unsafe.
  'content-filter': both(refused(400, 'invalid_request_error')),
  'quota-exceeded': both(refused(400, 'invalid_request_error')),
  'model-not-found': both(refused(404, 'not_found_error')),
  'cut-stream': {
    whole: skipped,
    streamed({ text, broken }, healthy) {
      expect(text).toBe(blocksOf(healthy).slice(0, 6).join(''))
      expect(broken).toBeDefined()
    },
  },
  'stall-stream': { whole: skipped, streamed: same },
  'slow-stream': { whole: skipped, streamed: same },
  'stream-error': {
    whole: skipped,
    streamed({ text }, healthy) {
      const [last = ''] = blocksOf(text).slice(-1)
      expect(text).toBe(blocksOf(healthy).slice(0, 6).join('') + last)
      expect(eventsOf(last)).toMatchObject([{ type: 'error', error: { type: 'api_error' }, request_id: 'X' } as Data])
    },
  },
  'plain-json-error-in-stream': {
    whole: skipped,
    streamed({ text }, healthy) {
      const [last = ''] = blocksOf(text).slice(-1)
      expect(text).toBe(blocksOf(healthy).slice(0, 6).join('') + last)
      expect(JSON.parse(last)).toMatchObject({ type: 'error', error: { type: 'api_error' } })
    },
  },
  'malformed-chunk': {
    whole: skipped,
    streamed({ text }, healthy) {
      const cut = blocksOf(text)[6] ?? ''
      expect(blocksOf(healthy)[6]).toStartWith(cut.trimEnd())
      expect(text.replace(cut, '')).toBe(healthy.replace(blocksOf(healthy)[6] ?? '', ''))
    },
  },
  'malformed-content': {
    whole({ text }, healthy) {
      const [before, after] = [healthy, text].map((one) => (JSON.parse(one) as Data).content?.[0]?.text ?? '')
      expect(after).toBe(before?.slice(0, Math.ceil(before.length / 2)) ?? '')
    },
    streamed({ text }, healthy) {
      const first = deltas(eventsOf(healthy))[0]
      expect(deltas(eventsOf(text))).toEqual(first ? [first] : [])
      expect(text).toContain('message_stop')
    },
  },
  'malformed-json': {
    whole: ({ text }, healthy) => expect(text).toBe(healthy.replace('"', '')),
    streamed: skipped,
  },
  'missing-done': {
    whole: skipped,
    streamed: ({ text }, healthy) => expect(text).toBe(blocksOf(healthy).slice(0, -1).join('')),
  },
  'last-event-without-blank-line': {
    whole: skipped,
    streamed: ({ text }, healthy) => expect(text).toBe(healthy.slice(0, -2)),
  },
  'unknown-finish-reason': {
    whole: ({ text }) => expect(JSON.parse(text)).toMatchObject({ stop_reason: 'unknown' }),
    streamed: ({ text }, healthy) => expect(text).toBe(healthy.replace('"end_turn"', '"unknown"')),
  },
  'missing-finish': {
    whole: ({ text }) => expect(JSON.parse(text)).toMatchObject({ stop_reason: null }),
    streamed({ text }, healthy) {
      expect(eventsOf(text).at(-2)?.delta?.stop_reason).toBeNull()
      expect(textOf(eventsOf(text))).toBe(textOf(eventsOf(healthy)))
    },
  },
  'missing-usage': {
    whole: ({ text }) => expect(JSON.parse(text)).not.toHaveProperty('usage'),
    streamed({ text }) {
      const events = eventsOf(text)
      expect(events.filter(({ usage, message }) => usage ?? message?.usage)).toEqual([])
      expect(events.at(-2)?.delta?.stop_reason).toBe('end_turn')
    },
  },
  'duplicate-chunk': {
    whole: skipped,
    streamed({ text }, healthy) {
      const pieces = deltas(eventsOf(healthy))
      const second = pieces.slice(1, 2)
      expect(deltas(eventsOf(text))).toEqual(pieces.toSpliced(2, 0, ...second))
    },
  },
  'reorder-chunks': {
    whole: skipped,
    streamed({ text }, healthy) {
      const [first, second, third, ...rest] = deltas(eventsOf(healthy))
      expect(deltas(eventsOf(text))).toEqual([first, third, second, ...rest] as Data[])
    },
  },
  'split-bytes': both(same),
  'keep-alive-comments': {
    whole: skipped,
    streamed({ text }, healthy) {
      const comments = blocksOf(text).filter((block) => block.startsWith(':'))
      expect(comments.length).toBeGreaterThan(0)
      expect(text.replaceAll(comments[0] ?? '', '')).toBe(healthy)
    },
  },
  'wrong-content-type': both((heard, healthy) => {
    same(heard, healthy)
    expect(heard.headers.get('content-type')).toStartWith('text/html')
  }),
  'empty-body': both(({ text }) => expect(text).toBe('')),
  'truncate-body': both(({ text }, healthy) => {
    expect(healthy).toStartWith(text)
    expect(text.length).toBeLessThan(healthy.length)
  }),
  'broken-framing': both(({ text, broken }, healthy) => {
    expect(healthy).toStartWith(text)
    expect(broken).toBeDefined()
  }),
  // A text calls no tool; those that do are below.
  'tool-wrong-arguments': both(skipped),
  'tool-truncated': both(skipped),
  'tool-duplicate': both(skipped),
  'unknown-tool': both(skipped),
  runaway: both(skipped),
}

const kinds = faultKinds.filter(({ points, type }) => points.includes('gateway') && type !== 'hang')

test('fault table: has a row for every type that acts between gateway and client', () => {
  expect(kinds.map(({ type }) => type).sort()).toEqual(Object.keys(ROWS).sort())
})

describe.each(['whole', 'streamed'] as const)('Anthropic API, %s', (form) => {
  const stream = form === 'streamed'
  for (const { type, example } of kinds)
    test(`applies fault ${type}`, async () => {
      const { text: healthy } = await hear(stream)
      const heard = await hear(stream, { type, ...example })
      const check = ROWS[type]?.[form]
      if (check !== skipped && type !== 'rate-limit') expect(heard.rule).toMatchObject({ applied: 1, skipped: {} })
      check?.({ ...heard, text: heard.text.startsWith('event') ? without(heard.text) : heard.text }, healthy)
    })
})

const weather = { name: 'get_weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } }
test.each([
  ['unknown-tool', 'made_up_tool'],
  ['tool-wrong-arguments', 'get_weather'],
])('Anthropic API: puts %s in the tool call of a message', async (type, name) => {
  const asking = { ...call, body: { ...call.body, tools: [weather], tool_choice: { type: 'any' } } }
  const heard = await app.hear({ call: asking, stream: false, point: 'gateway', fault: { type } })
  expect(heard.rule).toMatchObject({ applied: 1 })
  expect(JSON.parse(heard.text)).toMatchObject({ content: [{ type: 'tool_use', name }], stop_reason: 'tool_use' })
})

test('Anthropic API: supports the stop reason that a fault sets', async () => {
  const fault = { type: 'content-filter', as: 'finish' }
  const whole = await hear(false, fault)
  expect(JSON.parse(whole.text)).toMatchObject({ content: [], stop_reason: 'refusal' })
  const events = eventsOf((await hear(true, fault)).text)
  expect(deltas(events)).toEqual([])
  expect(events.at(-2)?.delta?.stop_reason).toBe('refusal')
})

test('Anthropic API: combines faults that change the response with faults that change its bytes', async () => {
  const faults = [
    { type: 'content-filter', as: 'finish' },
    { type: 'cut-stream', after_chunks: 1, close: 'clean' },
  ]
  const { text } = await hear(true, faults)
  expect(eventsOf(text).map(({ type }) => type)).toEqual(['message_start'])
})

test("Anthropic API: counts down a quota in Anthropic's headers and rejects further calls with a retry time", async () => {
  const fault = { type: 'rate-limit', requests: 0, tokens: 5000, per: '90s' }
  const heard = await hear(false, fault)
  refused(429, 'rate_limit_error')(heard, '')
  expect(heard.headers.get('retry-after')).toBe('90')
  expect(heard.headers.get('anthropic-ratelimit-tokens-limit')).toBe('5000')
  expect([...heard.headers.keys()].filter((name) => name.startsWith('x-ratelimit'))).toEqual([])
})

test.each([
  [{ type: 'http-error', status: 529 }, 529, 'overloaded_error'],
  [{ type: 'http-error', status: 402 }, 402, 'billing_error'],
  [{ type: 'http-error', status: 413 }, 413, 'request_too_large'],
  [{ type: 'rate-limit', requests: 0 }, 429, 'rate_limit_error'],
  [{ type: 'auth-failure' }, 401, 'authentication_error'],
  [{ type: 'context-length' }, 400, 'invalid_request_error'],
])("Anthropic API: reports the provider fault %p in Anthropic's error shape", async (fault, status, type) => {
  refused(status, type)(await hear(false, fault, 'provider'), '')
})

test("Anthropic API: reports a provider's reset as an error of the gateway", async () => {
  const heard = await app.hear({ call: throughGateway, stream: false, fault: { type: 'reset' } })
  refused(502, 'api_error')(heard, '')
})

test.each([
  [{ type: 'cut-stream', after_chunks: 6, close: 'reset' }, 'api_error'],
  [{ type: 'stream-error', after_chunks: 6, status: 529 }, 'overloaded_error'],
  [{ type: 'malformed-chunk', after_chunks: 6 }, 'api_error'],
])('Anthropic API: reports the provider fault %p as an error event in a started stream', async (fault, type) => {
  const { text } = await app.hear({ call: throughGateway, stream: true, fault })
  const events = eventsOf(without(text))
  expect(events.at(-1)).toMatchObject({ type: 'error', error: { type }, request_id: 'X' } as Data)
  expect(text).not.toContain('message_stop')
})
