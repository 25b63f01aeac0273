// What the rules of scenarios match and when they are triggered: every key of `match` and `when`, matched and not.
import { afterAll, describe, expect, test } from 'bun:test'
import { createTestApp } from '../support/app.ts'
import { bodyOf, CHAT, MODEL, user } from '../support/chat.ts'
import { errorOf } from '../support/errors.ts'
import { playing } from '../support/scenario.ts'

const app = createTestApp()
afterAll(app.close)
const fault = { type: 'http-error', status: 503 }
const RETRY = { count: 1, on_codes: [503] }
const FALLBACK = { fallbacks: [{ model: 'anthropic/claude-sonnet-4' }] }
type Call = { body?: object; headers?: Record<string, string>; path?: string }
type Row = [name: string, match: object, hit: Call, missed: Call]

const rows: Row[] = [
  ['operation', { operation: 'chat.*' }, {}, { path: '/v2/router/completions', body: { prompt: 'a' } }],
  ['path', { path: '*/chat/*' }, {}, { path: '/v2/router/completions', body: { prompt: 'a' } }],
  ['path of the router', { path: '/v2/router/*' }, {}, { path: '/v1/completions', body: { prompt: 'a' } }],
  [
    'path of a compatible API',
    { path: '/v1/*' },
    { path: '/v1/completions', body: { prompt: 'a' } },
    { path: '/v2/router/completions', body: { prompt: 'a' } },
  ],
  ['provider', { provider: 'openai' }, {}, { body: { model: 'mistral/mistral-large' } }],
  ['providers by a pattern', { provider: 'open*' }, {}, { body: { model: 'mistral/mistral-large' } }],
  [
    'model without provider',
    { model: 'gpt-4o*' },
    { body: { model: 'openai/gpt-4o-mini' } },
    { body: { model: 'openai/o3' } },
  ],
  ['model with provider', { model: 'openai/gpt*' }, {}, { body: { model: 'azure/gpt-4o' } }],
  ['target primary', { target: 'primary', provider: 'openai' }, {}, { body: { model: 'mistral/mistral-large' } }],
  ['stream', { stream: true }, { body: { stream: true } }, { body: { stream: false } }],
  [
    'header',
    { header: { 'x-tier': { regex: '^go' } } },
    { headers: { 'X-Tier': 'gold' } },
    { headers: { 'x-tier': 'tin' } },
  ],
  [
    'identity',
    { identity: 'user-*' },
    { body: { identity: { id: 'user-7' } } },
    { body: { identity: { id: 'bot-7' } } },
  ],
  ['thread', { thread: 't-1' }, { body: { thread: { id: 't-1' } } }, { body: { thread: { id: 't-2' } } }],
  [
    'body',
    { body: { 'metadata.tier': 'gold' } },
    { body: { metadata: { tier: 'gold' } } },
    { body: { metadata: { tier: 'tin' } } },
  ],
  ['text', { text: { regex: 'refund' } }, { body: user('A refund, please') }, { body: user('Hello') }],
]

describe('rule match', () => {
  test.each(rows)('selects calls by %s', async (_, match, hit, missed) => {
    const { prefix } = await playing(app, [{ match, fault }])
    const faultsOf = async ({ body = {}, headers = {}, path = CHAT }: Call) => {
      const whole = path === CHAT ? bodyOf(body) : { model: 'openai/gpt-3.5-turbo-instruct', ...body }
      const answer = await app.post(`${prefix}${path}`, whole, headers)
      expect([200, 503]).toContain(answer.status)
      return answer.headers.get('x-understudy-faults')
    }
    expect(await faultsOf(hit)).toBe('rule 1')
    expect(await faultsOf(missed)).toBe('')
  })

  const attempts: [name: string, match: object, hit: boolean[]][] = [
    ['attempt 1', { attempt: 1 }, [true, false]],
    ['attempt 2+', { attempt: '2+', target: 'primary' }, [false]],
    ['target fallback', { target: 'fallback' }, [false]],
  ]
  test.each(attempts)('selects attempts by %s', async (_, match, hit) => {
    const { chat } = await playing(app, [{ match, fault }])
    const { attempts: made } = await app.traceOf(await chat({ retry: RETRY, ...FALLBACK }))
    expect(made.map(({ faults }) => faults.length > 0)).toEqual(hit)
  })

  test.each([
    ['model', [503, 503, 200, 200]],
    ['provider', [503, 503, 503, 200]],
  ])("called_first: %s is that of the session's first call, even as a fallback", async (called_first, statuses) => {
    const { chat } = await playing(app, [{ match: { called_first }, fault }])
    const models = ['openai/gpt-4o', 'openai/gpt-4o', 'openai/gpt-4o-mini', 'anthropic/claude-sonnet-4']
    const received: number[] = []
    for (const model of models) received.push((await chat({ model })).status)
    expect(received).toEqual(statuses)
    const fallen = await chat({ model: 'anthropic/claude-sonnet-4', fallbacks: [{ model: MODEL }] })
    expect((await app.traceOf(fallen)).attempts.map(({ status }) => status)).toEqual([200])
    const kept = await app.traceOf(await chat(FALLBACK))
    expect(kept.attempts.map(({ status }) => status)).toEqual([503, 200])
  })

  test('selects the second fallback and the second try of the first', async () => {
    const { chat } = await playing(app, [
      { match: { target: 'primary' }, fault },
      { match: { target: 'fallback 1', attempt: 2 }, fault },
      { match: { target: 1, attempt: 1 }, fault },
      { match: { target: 'fallback 2' }, fault },
    ])
    const fallbacks = [...FALLBACK.fallbacks, { model: 'mistral/mistral-large' }]
    const { attempts: made } = await app.traceOf(await chat({ retry: RETRY, fallbacks }))
    const told = made.map(({ target, faults }) => `${target.split('/')[0]}: ${faults.join()}`)
    expect(told).toEqual([
      'openai: rule 1',
      'openai: rule 1',
      'anthropic: rule 3',
      'anthropic: rule 2',
      'mistral: rule 4',
      'mistral: rule 4',
    ])
  })
})

/** Which of so many calls are hit, as text; so much time passes between them. */
async function hits(rules: readonly object[], calls: number, step = '1m'): Promise<string> {
  const { prefix, chat } = await playing(app, rules)
  let told = ''
  for (let turn = 0; turn < calls; turn++) {
    told += (await chat()).status === 503 ? 'x' : '.'
    const clock = `/_understudy/sessions/${prefix.slice(3)}/clock`
    expect((await app.post(clock, { advance: step })).status).toBe(200)
  }
  return told
}

describe('rule when', () => {
  const table: [name: string, when: object, hit: string][] = [
    ['calls: 2', { calls: 2 }, '.x....'],
    ['calls: 2-3', { calls: '2-3' }, '.xx...'],
    ['an open range of calls', { calls: '5+' }, '....xx'],
    ['every', { every: 3 }, '..x..x'],
    ['every, from the first', { every: 2, first: 1 }, 'x.x.x.'],
    ['every, from a later one', { every: 2, first: 4 }, '...x.x'],
    ['every, of some calls', { every: 2, calls: '3+' }, '...x.x'],
    ['after', { after: '2m' }, '..xxxx'],
    ['for', { for: '2m' }, 'xx....'],
    ['after and for', { after: '1m', for: '3m' }, '.xxx..'],
    ['probability 1', { probability: 1 }, 'xxxxxx'],
    ['requires', { requires: 'start' }, 'xxxxxx'],
    ['sets', { requires: 'start', sets: 'over' }, 'x.....'],
    [
      'a schedule',
      { schedule: [{ phase: 'healthy', for: '2m' }, { phase: 'down', for: '2m' }, { phase: 'healthy' }] },
      '..xx..',
    ],
    ['a schedule that ends', { schedule: [{ phase: 'down', for: '1m' }] }, 'x.....'],
    ['a constant ramp', { schedule: [{ phase: 'degrading', for: '6m', from: 1, to: 1 }] }, 'xxxxxx'],
  ]
  test.each(table)('selects calls by %s', async (_, when, hit) => {
    expect(await hits([{ when, fault }], 6)).toBe(hit)
  })

  test('moves from rule to rule by states', async () => {
    const rules = [
      { when: { requires: 'start', sets: 'down', calls: 2 } },
      { when: { requires: 'down', sets: 'start', calls: '2+' }, match: {}, fault },
    ]
    expect(await hits(rules, 3)).toBe('.x.')
  })

  test('makes faults more or less likely with ramps', async () => {
    const ramp = (phase: string) => [{ when: { schedule: [{ phase, for: '60m' }] }, fault }]
    const thirds = async (phase: string) => {
      const told = await hits(ramp(phase), 60)
      const [first = 0, , last = 0] = [0, 20, 40].map((from) => told.slice(from, from + 20).split('x').length - 1)
      return last - first
    }
    expect(await thirds('degrading')).toBeGreaterThan(5)
    expect(await thirds('recovering')).toBeLessThan(-5)
  })
})

describe('scenario file as people write it', () => {
  const rules = [
    {
      name: 'the first two calls are refused',
      match: { provider: 'openai', model: 'gpt-4o*', operation: 'chat.completions', stream: true },
      when: { calls: '1-2' },
      fault: { type: 'http-error', status: 429, retry_after: '2s' },
    },
    { name: 'then the stream is cut', match: { provider: 'openai' }, fault: { type: 'cut-stream', after_chunks: 3 } },
  ]
  test('runs as it reads, and its expectations are met', async () => {
    const expectations = [
      { provider: 'openai', attempts: 3 },
      { rule: 'then the stream is cut', attempts: 1 },
    ]
    const body = {
      name: 'read',
      scenario: { name: 'brown-out', seed: 42, clock: 'virtual', rules, expect: expectations },
    }
    expect((await app.post('/_understudy/sessions', body)).status).toBe(200)
    const answer = await app.post(`/s/read${CHAT}`, bodyOf({ stream: true, retry: { count: 2 }, model: MODEL }))
    expect(answer.text).not.toContain('[DONE]')
    const { attempts, scenario } = await app.traceOf(answer)
    expect(scenario).toBe('brown-out')
    expect(attempts.map(({ status, wait_ms }) => [status, wait_ms])).toEqual([
      [429, 0],
      [429, 2000],
      [502, 2000],
    ])
    const verdict = (await app.fetch('/s/read/_understudy/verify')).json()
    expect(verdict).toMatchObject({ ok: true, expectations: [{ met: true }, { met: true }] })
  })

  const one = rules.slice(0, 1).map((rule) => ({ ...rule, when: {} }))
  const mistakes: [name: string, patch: object, message: string][] = [
    [
      'an expectation of an unknown rule',
      { expect: [{ rule: 'the third' }] },
      `'expect[0].rule' must be the name of a rule: "${one[0]?.name}", got "the third"`,
    ],
    [
      'an unknown rule in an order',
      { expect: [{ order: [{ rule: one[0]?.name }, { rule: 'the third' }] }] },
      `'expect[0].order[1].rule' must be the name of a rule: "${one[0]?.name}", got "the third"`,
    ],
    [
      'an invalid target',
      { rules: [{ ...one[0], match: { target: 'second' } }] },
      "'rules[0].match.target' must be 'primary', 'fallback', 'fallback 1' or a position from 0, got \"second\"",
    ],
    [
      'an invalid range',
      { rules: [{ ...one[0], when: { calls: 'two' } }] },
      "'rules[0].when.calls' must be a number, or a range such as '1-3' or '2+', got \"two\"",
    ],
    [
      "'first' without 'every'",
      { rules: [{ ...one[0], when: { first: 2 } }] },
      "'rules[0].when.first' requires 'every'",
    ],
    [
      'an invalid status',
      { rules: [{ ...one[0], fault: { type: 'http-error', status: 'busy' } }] },
      "'rules[0].fault.status' must be a status from 400 to 599, or 'overloaded', got \"busy\"",
    ],
    [
      'an unknown need',
      { needs: { streams: true } },
      "'needs.streams' is not known (did you mean 'stream'?); valid: calls, elapsed, stream, agent, gateway",
    ],
    [
      'an empty list of needs',
      { needs: {} },
      "'needs' must contain at least one of calls, elapsed, stream, agent, gateway",
    ],
    ['a need of a single call', { needs: { calls: 1 } }, "'needs.calls'"],
    ['a gateway need that is not true', { needs: { gateway: 'retries' } }, "'needs.gateway'"],
    [
      'a range that ends before it begins',
      { rules: [{ ...one[0], when: { calls: '3-1' } }] },
      "'rules[0].when.calls' must not end before it starts",
    ],
  ]
  test.each(mistakes)('is rejected for %s', async (_, patch, message) => {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'wrong', rules: one, ...patch })
    const answer = await app.fetch('/_understudy/scenario', { method: 'PUT', headers, body })
    expect(errorOf(answer.text, 400).message).toContain(message)
  })
})
