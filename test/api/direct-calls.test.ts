// Calls of a compatible API without gateway options go straight to the provider: whatever a rule does to it reaches the client.
import { afterAll, describe, expect, test } from 'bun:test'
import { faultKinds } from '../../src/faults/index.ts'
import { type Asking, type Fault, rehearsal } from '../support/faults.ts'

const app = rehearsal()
afterAll(app.close)

const messages = [{ role: 'user', content: 'Grüße 👋' }]
const CALLS = {
  chat: { path: '/v1/chat/completions', body: { model: 'gpt-4o', messages }, streamed: { stream: true } },
  responses: { path: '/v1/responses', body: { model: 'gpt-4o', input: 'Grüße 👋' }, streamed: { stream: true } },
  messages: {
    path: '/v1/messages',
    body: { model: 'claude-sonnet-4', max_tokens: 60, messages },
    streamed: { stream: true },
  },
  completions: {
    path: '/v1/completions',
    body: { model: 'gpt-3.5-turbo-instruct', prompt: 'Grüße 👋' },
    streamed: { stream: true },
  },
} satisfies Record<string, Asking['call']>
const GATEWAY = { timeout: { call_timeout: 600_000 } }
const hear = (api: keyof typeof CALLS, more: Asking) => app.hear({ call: CALLS[api], ...more })
const apis = ['chat', 'responses', 'messages'] as const

// Those that end by themselves on a clock that nobody waits for.
const kinds = faultKinds.filter(({ points }) => points.includes('provider') && points.includes('gateway'))
const rows = apis.flatMap((api) =>
  kinds.flatMap(({ type, example }) =>
    [false, true].map((stream) => [api, type, stream ? 'streamed' : 'whole', { type, ...example }] as const),
  ),
)
const SLOW = new Set(['hang', 'stall-stream', 'slow-stream', 'delay', 'keep-alive-comments'])

describe('rule at the provider and rule at the gateway', () => {
  test.each(rows.filter(([, type]) => !SLOW.has(type)))(
    'have the same effect on a direct call: %s, %s, %s',
    async (api, _, form, fault) => {
      const stream = form === 'streamed'
      const seen = async (point: 'provider' | 'gateway') => {
        const { status, text, broken, rule, trace } = await hear(api, { stream, point, fault: fault as Fault })
        const { route, attempts, outcome } = trace
        const ids = /"(?:request_id|id)":"[^"]*"|req_\w+/g
        return {
          status,
          text: text.replace(ids, ''),
          broken: broken?.message,
          rule,
          route,
          outcome,
          tries: attempts.length,
        }
      }
      const provider = await seen('provider')
      expect(provider).toMatchObject({ route: 'direct', tries: 1 })
      const gateway = await seen('gateway')
      expect({ ...provider, rule: undefined }).toEqual({ ...gateway, rule: undefined })
      expect(provider.rule?.applied).toBe(gateway.rule?.applied ?? -1)
    },
  )
})

/** What a correct client makes of what it got. */
describe('trace of a direct call', () => {
  const cases: [string, Fault, object][] = [
    ['a refusal', { type: 'http-error', status: 418 }, { status: 418, outcome: 'http_error', attempt: 418 }],
    ['a reset before any byte', { type: 'reset' }, { status: 0, outcome: 'disconnected', attempt: 0 }],
    ['a cut stream', { type: 'cut-stream', after_chunks: 4 }, { status: 200, outcome: 'disconnected', attempt: 200 }],
    [
      'a stream that ends early',
      { type: 'cut-stream', after_chunks: 4, close: 'clean' },
      { status: 200, outcome: 'disconnected', attempt: 200 },
    ],
    [
      'a chunk that is not JSON',
      { type: 'malformed-chunk', after_chunks: 3 },
      { status: 200, outcome: 'invalid_response' },
    ],
    ['an error event', { type: 'stream-error', after_chunks: 4, status: 503 }, { status: 200, outcome: 'http_error' }],
    ['a repeated chunk', { type: 'duplicate-chunk', chunk: 3 }, { status: 200, outcome: 'succeeded' }],
    ['another content type', { type: 'wrong-content-type' }, { status: 200, outcome: 'invalid_response' }],
  ]
  test.each(
    [...apis, 'completions' as const].flatMap((api) => cases.map(([name, ...rest]) => [api, name, ...rest] as const)),
  )('of %s records the outcome of %s', async (api, _, fault, expected) => {
    const { trace } = await hear(api, { stream: true, fault })
    const { route, status, outcome, attempts } = trace
    const [attempt] = attempts
    const { attempt: attempted, ...rest } = expected as { attempt?: number }
    expect({ status, outcome }).toEqual(rest as never)
    expect({ route, tries: attempts.length, scenario: trace.scenario }).toEqual({
      route: 'direct',
      tries: 1,
      scenario: 'faults',
    })
    expect(attempt).toMatchObject({
      outcome,
      faults: ['rule 1'],
      ...(attempted !== undefined && { status: attempted }),
    })
  })

  test.each([
    ['chat', { type: 'missing-done' }, 'succeeded'],
    ['messages', { type: 'missing-done' }, 'succeeded'],
    ['responses', { type: 'missing-done' }, 'disconnected'],
  ] as const)('of %s records a missing last event', async (api, fault, outcome) => {
    const healthy = await hear(api, { stream: true })
    const { text, trace } = await hear(api, { stream: true, fault })
    expect(trace.outcome).toBe(outcome)
    const last = { chat: '[DONE]', messages: 'message_stop', responses: 'response.completed' }[api]
    expect([healthy.text.includes(last), text.includes(last)]).toEqual([true, false])
  })

  test.each(apis)('of %s records a cut, empty or unfinished whole response as unreadable', async (api) => {
    for (const type of ['empty-body', 'truncate-body', 'malformed-json', 'missing-finish']) {
      const fault = { type }
      const { trace, status, headers } = await hear(api, { stream: false, fault })
      expect([fault.type, status, trace.outcome]).toEqual([fault.type, 200, 'invalid_response'])
      expect(headers.get('x-understudy-faults')).toBe('rule 1')
    }
  })

  test.each(apis)('of %s succeeded when a response is too short to be truncated', async (api) => {
    const { trace, broken } = await hear(api, {
      stream: false,
      fault: { type: 'truncate-body', after_bytes: 100_000, announce: true },
    })
    expect([broken, trace.outcome, trace.attempts[0]?.faults]).toEqual([undefined, 'succeeded', []])
  })

  test.each(apis)('of %s is direct and answered when no rule applies', async (api) => {
    const { trace } = await hear(api, { stream: true })
    expect(trace).toMatchObject({ route: 'direct', outcome: 'succeeded', attempts: [{ outcome: 'succeeded' }] })
  })
})

describe('call with a gateway option', () => {
  test.each(apis)('of %s reports a cut stream as an error of the API', async (api) => {
    const fault = { type: 'cut-stream', after_tokens: 2 }
    const { trace, text, broken } = await hear(api, { stream: true, fault, more: GATEWAY })
    expect([trace.route, broken]).toEqual(['gateway', undefined])
    expect(text).toContain('"error"')
  })

  test.each(apis)('of %s is retried by the gateway', async (api) => {
    const fault = { type: 'http-error', status: 429 }
    const { trace, status } = await hear(api, { stream: false, fault, more: { retry: { count: 1 } } })
    expect([trace.route, trace.attempts.length, status]).toEqual(['gateway', 2, 429])
  })

  test.each(apis)('of %s is rejected in the shape of the API when the option has the wrong type', async (api) => {
    const { status, text } = await hear(api, { stream: false, more: { retry: 'always' } })
    expect(status).toBe(400)
    const { error } = JSON.parse(text) as { error: { type: string; message: string } }
    expect([error.type, error.message]).toEqual(['invalid_request_error', expect.stringContaining('retry') as never])
  })

  test('is what every router operation is', async () => {
    const { trace } = await app.hear({ stream: true })
    expect(trace.route).toBe('gateway')
  })
})

test.each([
  ['chat', 'openai'],
  ['messages', 'anthropic'],
] as const)('error of %s: has the shape of the called provider', async (api, provider) => {
  const { text } = await hear(api, { stream: false, fault: { type: 'http-error', status: 503 } })
  const keys = { openai: ['error'], anthropic: ['type', 'error', 'request_id'] }[provider]
  expect(Object.keys(JSON.parse(text) as object)).toEqual(keys)
})

test('responses stream error: is an error event and a failed response', async () => {
  const { text } = await hear('responses', {
    stream: true,
    fault: { type: 'stream-error', after_chunks: 4, status: 503 },
  })
  const events = text.split('\n\n').flatMap((block) => /^event: (\S+)/.exec(block)?.[1] ?? [])
  expect(events.slice(-2)).toEqual(['error', 'response.failed'])
})
