// Faults inside a stream, in detail: where they act, what they leave, and what a retry, a fallback or a timeout does.
import { afterAll, describe, expect, test } from 'bun:test'
import { accepted } from '../support/accepted.ts'
import { eventsOf } from '../support/app.ts'
import { type Asking, blocksOf, rehearsal } from '../support/faults.ts'

const { app, hear, close } = rehearsal()
afterAll(close)

const healthy = await hear()
const blocks = blocksOf(healthy.text)
const tokens = Number(healthy.trace.usage?.completion_tokens)
const fallbacks = [{ model: 'anthropic/claude-sonnet-4' }]
const TOO_SHORT = { 'the response ended before the position of the fault': 1 }

describe('cut-stream', () => {
  const cut = (options: object, more: Asking = {}) =>
    hear({ point: 'gateway', fault: { type: 'cut-stream', ...options }, ...more })
  const places: [string, object, string][] = [
    ['chunks', { after_chunks: 4 }, blocks.slice(0, 4).join('')],
    ['no chunks', { after_chunks: 0 }, ''],
    ['one chunk when no position is given', {}, blocks.slice(0, 1).join('')],
    ['tokens', { after_tokens: 3 }, blocks.slice(0, 4).join('')],
    ['the first of two positions', { after_tokens: 3, after_chunks: 2 }, blocks.slice(0, 2).join('')],
    ['bytes', { after_bytes: 1000 }, healthy.text.slice(0, 1000)],
    ['no bytes', { after_bytes: 0 }, ''],
    [
      'a share of the bytes',
      { after_fraction: 0.1 },
      Buffer.from(healthy.text)
        .subarray(0, Math.floor(Buffer.byteLength(healthy.text) / 10))
        .toString(),
    ],
    ['all events, before the end mark', { after_chunks: blocks.length - 1 }, blocks.slice(0, -1).join('')],
  ]
  test.each(places)('cuts after %s', async (_, options, text) => {
    for (const [close, message] of [
      ['reset', /reset/],
      ['abrupt', /closed/],
      ['clean', undefined],
    ] as const) {
      const heard = await cut({ ...options, close })
      expect(heard.text).toBe(text)
      if (message) expect(heard.broken?.message).toMatch(message)
      else expect(heard.broken).toBeUndefined()
    }
  })

  test('does nothing and reports why when the position is past the end', async () => {
    for (const options of [
      { after_chunks: 999 },
      { after_tokens: 999 },
      { after_bytes: 99_999 },
      { after_fraction: 1 },
    ]) {
      const heard = await cut(options)
      expect(heard.text).toBe(healthy.text)
      expect(heard.rule).toMatchObject({ applied: 0, skipped: TOO_SHORT })
    }
  })

  test('cuts a whole response after bytes', async () => {
    const whole = await hear({ stream: false })
    const heard = await cut({ after_bytes: 50 }, { stream: false })
    expect(heard.text).toBe(whole.text.slice(0, 50))
    expect(heard.broken?.message).toMatch(/reset/)
    const { trace } = await cut({ after_bytes: 50 }, { stream: false, point: 'provider' })
    expect(trace.outcome).toBe('disconnected')
  })

  test('keeps the pace of a stream that it cuts by bytes', async () => {
    const slow = { type: 'slow-stream', tokens_per_second: 1 }
    const third = blocks.slice(0, 3).join('')
    const after = { type: 'cut-stream', after_bytes: Buffer.byteLength(third), close: 'clean' }
    const heard = await hear({ point: 'provider', fault: [after, slow] })
    expect(blocksOf(heard.text).slice(0, 3).join('')).toBe(third)
    expect(heard.trace.attempts[0]).toMatchObject({ outcome: 'disconnected', duration_ms: 3000 })
  })

  test('allows another target before any content, and loses nothing after the finish reason', async () => {
    const fault = { type: 'cut-stream', after_chunks: 1 }
    const none = await hear({ fault })
    expect([none.status, none.trace.outcome]).toEqual([502, 'disconnected'])
    const { status, text, trace } = await hear({ fault, more: { fallbacks } })
    // The rule is about the fallback too.
    expect(trace.attempts.map(({ target, outcome }) => [target, outcome])).toEqual([
      ['openai/gpt-4o', 'disconnected'],
      ['anthropic/claude-sonnet-4', 'disconnected'],
    ])
    expect([status, JSON.parse(text).error.code]).toEqual([502, 'provider_disconnected'])
    const finished = await hear({ fault: { type: 'cut-stream', after_chunks: blocks.length - 1 } })
    expect([finished.text, finished.trace.outcome]).toEqual([healthy.text, 'succeeded'])
  })
})

describe('stall-stream', () => {
  test('continues after its time', async () => {
    for (const point of ['provider', 'gateway'] as const) {
      const heard = await hear({ point, fault: { type: 'stall-stream', after_chunks: 2, for: '10m' } })
      expect([heard.text, heard.trace.duration_ms]).toEqual([healthy.text, 600_000])
    }
  })

  test.each([
    ['clean', undefined],
    ['reset', /reset/],
    ['abrupt', /closed/],
  ] as const)('ends instead of continuing: %s', async (how, message) => {
    const fault = { type: 'stall-stream', after_tokens: 2, for: '1s', close: how }
    const heard = await hear({ point: 'gateway', fault })
    expect([heard.text, heard.trace.duration_ms]).toEqual([blocks.slice(0, 3).join(''), 1000])
    if (message) expect(heard.broken?.message).toMatch(message)
    else expect(heard.broken).toBeUndefined()
  })

  test('never continues: the timeout ends it, with a retry before any content and an error event after it', async () => {
    const fault = (after_chunks: number) => ({ type: 'stall-stream', after_chunks })
    const timeout = { call_timeout: 700 }
    const before = await hear({ fault: fault(1), more: { timeout, retry: { count: 1 } } })
    expect(before.status).toBe(504)
    expect(before.trace.attempts.map(({ outcome, duration_ms }) => [outcome, duration_ms])).toEqual([
      ['timed_out', 700],
      ['timed_out', 700],
    ])
    const after = await hear({ fault: fault(4), more: { timeout } })
    expect(after.text).toStartWith(blocks.slice(0, 4).join(''))
    expect(eventsOf(after.text).slice(4)).toMatchObject([{ code: '504', error: { type: 'timeout_error' } }])
    expect(after.trace).toMatchObject({ outcome: 'timed_out', duration_ms: 700 })
  })

  test('never continues at the gateway: it ends when the client disconnects', async () => {
    const scenario = {
      name: 'silence',
      rules: [{ name: 'r', at: 'gateway', fault: { type: 'stall-stream', after_chunks: 2 } }],
    }
    const json = { 'content-type': 'application/json' }
    await accepted(
      app.fetch('/s/silent/_understudy/scenario', { method: 'PUT', headers: json, body: JSON.stringify(scenario) }),
    )
    const gone = new AbortController()
    const body = JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'x' }], stream: true })
    const init = { method: 'POST', body, headers: { authorization: 'Bearer any' }, signal: gone.signal }
    const response = await app.understudy.app.fetch(
      new Request('http://localhost/s/silent/v2/router/chat/completions', init),
    )
    const reader = response.body?.getReader()
    await reader?.read()
    await reader?.read()
    const third = reader?.read().catch(() => 'broken')
    gone.abort()
    await third
    const id = response.headers.get('x-understudy-trace')
    expect((await app.fetch(`/s/silent/_understudy/traces/${id}`)).json()).toMatchObject({ outcome: 'canceled' })
  })
})

describe('slow-stream', () => {
  const slow = (options: object, more: Asking = {}) => hear({ fault: { type: 'slow-stream', ...options }, ...more })

  test('takes the time of its tokens and adds none to a slower stream', async () => {
    for (const point of ['provider', 'gateway'] as const) {
      const heard = await slow({ tokens_per_second: 4 }, { point })
      expect([heard.text, heard.trace.duration_ms]).toEqual([healthy.text, tokens * 250])
    }
    const [fast, slower] = [10, 2].map((tokens_per_second) => ({ type: 'slow-stream', tokens_per_second }))
    for (const fault of [
      [fast, slower],
      [slower, fast],
    ]) {
      expect((await hear({ fault: fault as never })).trace.duration_ms).toBe(tokens * 500)
    }
  })

  test('keeps jitter within its bounds, the same with the same seed', async () => {
    const run = async () => {
      const other = rehearsal()
      const durations: number[] = []
      for (let call = 0; call < 3; call++) {
        const fault = { type: 'slow-stream', tokens_per_second: 4, jitter: 0.5 }
        durations.push((await other.hear({ fault, more: { seed: call } })).trace.duration_ms)
      }
      other.close()
      return durations
    }
    const durations = await run()
    expect(await run()).toEqual(durations)
    expect(new Set(durations).size).toBe(3)
    for (const one of durations) {
      expect(one).toBeGreaterThan(tokens * 125)
      expect(one).toBeLessThan(tokens * 375)
    }
  })

  test('exceeds a timeout that is shorter than the time of one token', async () => {
    const heard = await slow({ tokens_per_second: 1 }, { more: { timeout: { call_timeout: 900 } } })
    expect([heard.status, heard.trace.outcome]).toEqual([504, 'timed_out'])
  })
})

describe('stream-error', () => {
  const fault = { type: 'stream-error', after_chunks: 5, status: 529, message: 'Too much.' }

  test('is an error in the form of the called API, after the content so far', async () => {
    const heard = await hear({ point: 'gateway', fault })
    expect(heard.text).toStartWith(blocks.slice(0, 5).join(''))
    expect(eventsOf(heard.text).slice(5)).toEqual([
      {
        code: '529',
        message: 'Too much.',
        error: { message: 'Too much.', type: 'server_error', param: null, code: 'server_error' },
      },
    ])
  })

  test('has its own events in a responses stream, with the response so far', async () => {
    const heard = await hear({ point: 'gateway', operation: 'responses', fault })
    const events = eventsOf(heard.text) as Record<string, unknown>[]
    expect(events.slice(0, 5)).toEqual(eventsOf((await hear({ operation: 'responses' })).text).slice(0, 5) as never)
    expect(events.slice(5)).toMatchObject([
      { type: 'error', sequence_number: 5, message: 'Too much.' },
      {
        type: 'response.failed',
        sequence_number: 6,
        response: { status: 'failed', output_text: 'This', error: { message: 'Too much.' } },
      },
    ])
    expect(heard.text).toContain('event: response.failed\n')
  })

  test('is retried by the gateway before any content', async () => {
    const early = { ...fault, after_chunks: 1 }
    const heard = await hear({ fault: early, more: { retry: { count: 2, on_codes: [529, 502] } } })
    expect(heard.trace.attempts.map(({ outcome }) => outcome)).toEqual(['http_error', 'http_error', 'http_error'])
    expect(JSON.parse(heard.text).error.message).toBe('Too much.')
  })
})
