// The gateway's reaction to faults before a response: retry, fallback, and what client and trace receive.
import { afterAll, describe, expect, test } from 'bun:test'
import { accepted } from '../support/accepted.ts'
import { createTestApp, eventsOf } from '../support/app.ts'
import { errorOf } from '../support/errors.ts'
import { playing } from '../support/scenario.ts'
import { strictChunk, strictCompletion } from '../support/strict/chat.ts'

const app = createTestApp()
afterAll(app.close)

const MODELS = {
  openai: 'openai/gpt-4o',
  azure: 'azure/gpt-4o',
  anthropic: 'anthropic/claude-sonnet-4',
  google: 'google/gemini-2.5-pro',
  aws: 'aws/claude',
  mistral: 'mistral/mistral-large',
  cohere: 'cohere/command-r',
} as const
type Provider = keyof typeof MODELS
const OTHER = 'deepseek/deepseek-chat'

interface Row {
  fault: { type: string; [option: string]: unknown }
  /** Status of the attempt where it differs by provider, else that of all. */
  status: number
  of?: Partial<Record<Provider, number>>
  outcome: string
  said: Partial<Record<Provider, string>>
  falls: boolean
}
const disconnected = { status: 502, outcome: 'disconnected', falls: true }
const refused = { outcome: 'http_error', falls: false }
const ROWS: Row[] = [
  { fault: { type: 'http-error', status: 503 }, status: 503, outcome: 'http_error', said: {}, falls: true },
  {
    fault: { type: 'http-error', status: 529 },
    status: 529,
    ...refused,
    said: { anthropic: 'Overloaded' },
    falls: true,
  },
  { fault: { type: 'http-error', status: 408 }, status: 408, ...refused, said: {}, falls: true },
  { fault: { type: 'http-error', status: 422 }, status: 422, ...refused, said: {} },
  { fault: { type: 'rate-limit', requests: 0 }, status: 429, ...refused, said: { openai: 'gpt-4o' }, falls: true },
  {
    fault: { type: 'auth-failure' },
    status: 401,
    of: { google: 400, aws: 403 },
    ...refused,
    said: { openai: 'API key', anthropic: 'x-api-key', cohere: 'token', mistral: 'Unauthorized' },
  },
  {
    fault: { type: 'context-length' },
    status: 400,
    ...refused,
    said: { openai: 'maximum context length is 128000 tokens', anthropic: '> 200000 maximum' },
  },
  {
    fault: { type: 'content-filter', as: 'error' },
    status: 400,
    of: { mistral: 403, cohere: 498 },
    ...refused,
    said: { azure: 'content management' },
  },
  {
    fault: { type: 'model-not-found' },
    status: 404,
    of: { mistral: 400 },
    ...refused,
    said: { openai: 'gpt-4o', anthropic: 'model: claude-sonnet-4', azure: 'deployment' },
  },
  {
    fault: { type: 'connection-refused' },
    ...disconnected,
    said: { openai: 'api.openai.com:443', azure: 'ECONNREFUSED' },
  },
  {
    fault: { type: 'dns-failure' },
    ...disconnected,
    said: { openai: 'api.openai.com was not found', aws: 'ENOTFOUND' },
  },
  { fault: { type: 'dns-failure', code: 'EAI_AGAIN' }, ...disconnected, said: { google: 'EAI_AGAIN' } },
  { fault: { type: 'tls-failure' }, ...disconnected, said: { anthropic: 'CERT_HAS_EXPIRED' } },
  { fault: { type: 'tls-failure', reason: 'wrong-host' }, ...disconnected, said: { cohere: 'another host' } },
  { fault: { type: 'reset' }, ...disconnected, said: { openai: 'ECONNRESET' } },
  { fault: { type: 'empty-reply' }, ...disconnected, said: { openai: 'without a response' } },
  { fault: { type: 'hang', for: '20s' }, ...disconnected, said: { openai: 'long silence' } },
]

/** Those whose errors have a shape of their own; before the first byte, all others are asked for a stream as OpenAI is. */
const STREAMED: readonly Provider[] = ['openai', 'anthropic', 'google']

describe.each(Object.keys(MODELS) as Provider[])('fault outcome, %s', (provider) => {
  const model = MODELS[provider]

  describe.each(STREAMED.includes(provider) ? [false, true] : [false])('with stream: %p', (stream) => {
    test.each(ROWS.map((row) => [row.fault, row] as const))(
      'is the same at each place and in the trace for %j',
      async (fault, row) => {
        const { chat, rule } = await playing(app, [{ match: { provider }, fault }])
        const status = row.of?.[provider] ?? row.status
        const said = row.said[provider] ?? ''
        const alone = await chat({ model, stream })
        expect(alone.status).toBe(status)
        expect(errorOf(alone.text, status).message).toContain(said)
        expect(alone.headers.get('x-understudy-faults')).toBe('rule 1')
        const attempt = {
          target: model,
          outcome: row.outcome,
          status,
          faults: ['rule 1'],
          error: expect.stringContaining(said),
        }
        expect(await app.traceOf(alone)).toMatchObject({
          status,
          outcome: row.outcome,
          faults: [],
          attempts: [attempt],
        })

        const helped = await chat({ model, stream, fallbacks: [{ model: OTHER }] })
        const other = { target: OTHER, position: 1, reason: 'fallback', outcome: 'succeeded', status: 200, faults: [] }
        const { attempts } = await app.traceOf(helped)
        expect(attempts).toMatchObject(row.falls ? [attempt, other] : [attempt])
        expect(attempts).toHaveLength(row.falls ? 2 : 1)
        expect(helped.status).toBe(row.falls ? 200 : status)
        if (row.falls) {
          const told = stream ? eventsOf(helped.text).slice(0, -1).map(strictChunk) : [strictCompletion(helped.json())]
          expect(new Set(told.map((one) => one.model))).toEqual(new Set([OTHER]))
          expect(helped.headers.get('x-understudy-fallback')).toBe('1')
        }
        expect(await rule()).toMatchObject({ triggered: 2, applied: 2, skipped: {} })
      },
    )
  })

  test('retries after each form of retry time', async () => {
    for (const form of ['seconds', 'date', 'ms']) {
      const fault = { type: 'http-error', status: 429, retry_after: '7s', retry_after_form: form }
      const { chat } = await playing(app, [{ match: { provider }, when: { calls: '1-2' }, fault }])
      const answer = await chat({ model, retry: { count: 2 } })
      expect(answer.status).toBe(200)
      const { attempts, duration_ms: duration } = await app.traceOf(answer)
      expect(attempts.map(({ reason: why, wait_ms: wait, status }) => [why, wait, status])).toEqual([
        ['first', 0, 429],
        ['retry', 7000, 429],
        ['retry', 7000, 200],
      ])
      expect(duration).toBe(14_000)
    }
  })
})

test('hang fault: is ended only by the timeout, whole and streamed, then retried and abandoned', async () => {
  for (const stream of [false, true]) {
    const { chat } = await playing(app, [{ match: { target: 'primary' }, fault: { type: 'hang' } }])
    const settings = { timeout: { call_timeout: 9000 }, retry: { count: 1, on_codes: [500] } }
    const answer = await chat({ stream, ...settings, fallbacks: [{ model: OTHER }] })
    expect(answer.status).toBe(200)
    const { attempts } = await app.traceOf(answer)
    expect(attempts.map(({ outcome, duration_ms: took, faults }) => [outcome, took, faults])).toEqual([
      ['timed_out', 9000, ['rule 1']],
      ['timed_out', 9000, ['rule 1']],
      ['succeeded', 0, []],
    ])
  }
})

test.each(['provider', 'gateway'])(
  'client disconnect: ends a hang or a delay at the %s without an internal error',
  async (at) => {
    for (const fault of [{ type: 'hang' }, { type: 'hang', for: '10m' }, { type: 'delay', for: '10m' }]) {
      const { prefix } = await playing(app, [{ at, fault }], { clock: 'real' })
      const leaving = new AbortController()
      const answer = app.fetch(`${prefix}/v2/router/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: MODELS.openai, messages: [{ role: 'user', content: 'Hi' }] }),
        signal: leaving.signal,
      })
      leaving.abort()
      await answer.catch(() => undefined)
      const [trace] = (await app.fetch(`${prefix}/_understudy/traces`)).json().data as object[]
      expect(trace).toMatchObject({ outcome: 'canceled', status: 499 })
    }
  },
)

test.each<[fault: object]>([
  [{ type: 'reset', after: '5s' }],
  [{ type: 'empty-reply', after: '5s' }],
  [{ type: 'hang', for: '5s' }],
])("gateway fault %j: breaks the client's connection after its time", async (fault) => {
  for (const stream of [false, true]) {
    const { chat, prefix } = await playing(app, [{ at: 'gateway', fault }])
    expect(chat({ stream })).rejects.toThrow(/connection/)
    await chat({ stream }).catch(() => undefined)
    const traces = (await app.fetch(`${prefix}/_understudy/traces`)).json().data as object[]
    expect(traces).toHaveLength(2)
    for (const trace of traces) {
      expect(trace).toMatchObject({ outcome: 'disconnected', status: 0, faults: ['rule 1'], attempts: [] })
      expect(trace).toHaveProperty('duration_ms', 5000)
    }
  }
})

test('connection faults: are possible only between gateway and provider', async () => {
  for (const type of ['connection-refused', 'dns-failure', 'tls-failure']) {
    const body = JSON.stringify({ name: 'wrong', rules: [{ name: 'one', at: 'gateway', fault: { type } }] })
    const headers = { 'content-type': 'application/json' }
    const answer = await app.fetch('/s/wrong/_understudy/scenario', { method: 'PUT', headers, body })
    const { param, message } = errorOf(answer.text, 400)
    expect([param, message]).toEqual(['rules[0].at', expect.stringContaining(`must be one of provider for ${type}`)])
  }
})

describe('quota-exceeded', () => {
  test.each<[Provider, number]>([
    ['openai', 429],
    ['azure', 403],
    ['anthropic', 400],
    ['google', 429],
    ['aws', 400],
    ['mistral', 429],
    ['cohere', 402],
  ])('is a %i of %s, and retries do not help where that is 429', async (provider, status) => {
    const { chat } = await playing(app, [{ fault: { type: 'quota-exceeded' } }])
    const answer = await chat({ model: MODELS[provider], retry: { count: 2 } })
    expect(answer.status).toBe(status)
    expect((await app.traceOf(answer)).attempts).toHaveLength(status === 429 ? 3 : 1)
  })
})

test('context-length: rejects an input only above the limit', async () => {
  const { chat, rule } = await playing(app, [{ fault: { type: 'context-length', limit: 20 } }])
  expect((await chat()).status).toBe(200)
  expect(await rule()).toMatchObject({
    triggered: 1,
    applied: 0,
    skipped: { 'the input has no more than 20 tokens': 1 },
  })
  const long = await chat({ messages: [{ role: 'user', content: 'word '.repeat(30) }] })
  const { code, message } = errorOf(long.text, 400)
  expect([code, message]).toEqual([
    'context_length_exceeded',
    expect.stringMatching(/is 20 tokens, but the input has 3\d tokens/),
  ])
})

test('uniform delay: is spread over the range between its bounds', async () => {
  const fresh = createTestApp()
  const fault = { type: 'delay', distribution: 'uniform', min: '2s', max: '4s' }
  await accepted(
    fresh.fetch('/_understudy/scenario', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'uniform', rules: [{ name: 'late', fault }] }),
    }),
  )
  const waits: number[] = []
  for (let call = 0; call < 100; call++) {
    const answer = await fresh.post('/v2/router/chat/completions', {
      model: MODELS.openai,
      messages: [{ role: 'user', content: 'Hi' }],
    })
    waits.push((await fresh.traceOf(answer)).duration_ms)
  }
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(2_000)
  expect(Math.max(...waits)).toBeLessThanOrEqual(4_000)
  // A fair share of them in each quarter.
  for (const from of [2_000, 2_500, 3_000, 3_500])
    expect(waits.filter((wait) => wait >= from && wait <= from + 500).length).toBeGreaterThan(10)
  await fresh.close()
})

test('reproducibility: the same scenario twice gives the same bytes, ids and traces', async () => {
  const rules = [
    { match: { provider: 'openai' }, when: { probability: 0.5 }, fault: { type: 'http-error', status: 500 } },
    { match: { provider: 'anthropic' }, fault: { type: 'delay', distribution: 'normal', mean: '3s', deviation: '1s' } },
    { when: { probability: 0.5 }, fault: { type: 'rate-limit', requests: 1 } },
  ]
  const played = async () => {
    const fresh = createTestApp()
    try {
      const body = JSON.stringify({
        name: 'twice',
        rules: rules.map((rule, index) => ({ name: `r${index}`, ...rule })),
      })
      await accepted(
        fresh.fetch('/_understudy/scenario', {
          method: 'PUT',
          headers: { 'content-type': 'application/json' },
          body,
        }),
      )
      const texts: unknown[] = []
      for (const provider of Object.keys(MODELS) as Provider[]) {
        const call = { model: MODELS[provider], messages: [{ role: 'user', content: 'Hi' }], retry: { count: 2 } }
        const answer = await fresh.post('/v2/router/chat/completions', call)
        texts.push([answer.status, answer.text, await fresh.traceOf(answer)])
      }
      return texts
    } finally {
      fresh.close()
    }
  }
  const [first, second] = [await played(), await played()]
  expect(first).toEqual(second)
  expect(JSON.stringify(first)).toContain('"faults":["r0"')
})
