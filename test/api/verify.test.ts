// What verify says of a session: counts, order, waits, canceled calls, fixtures, rules and expectations.
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { Verification } from '../../src/contract/core/verification.ts'
import { accepted } from '../support/accepted.ts'
import { createTestApp, type TestApp } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'
import { errorOf } from '../support/errors.ts'

let app: TestApp
beforeEach(() => {
  app = createTestApp()
})
afterEach(() => app.close())

const bodyOf = (content: string, more: object = {}) => ({ model: 'openai/gpt-4o', ...user(content), ...more })
const call = (content: string, more: object = {}, session = 'default') =>
  app.post(`/s/${session}${CHAT}`, bodyOf(content, more))
const look = async (session = 'default', query = '') =>
  (await app.fetch(`/s/${session}/_understudy/verify${query}`)).json() as unknown as Verification
const ask = async (expect: object[]) =>
  (await app.post('/_understudy/verify', { expect })).json() as unknown as Verification
const play = (scenario: object) =>
  app.fetch('/_understudy/scenario', {
    method: 'PUT',
    body: JSON.stringify(scenario),
    headers: { 'content-type': 'application/json' },
  })
const FALLBACK = { fallbacks: [{ model: 'anthropic/claude-sonnet-4' }] }
/** Streams of openai break off before their first content; its whole answers are too late. */
const outage = {
  name: 'outage',
  rules: [
    {
      name: 'nothing comes',
      match: { provider: 'openai', stream: true },
      fault: { type: 'cut-stream', after_chunks: 0 },
    },
    { name: 'late', match: { provider: 'openai', stream: false }, fault: { type: 'delay', for: '1m' } },
    { name: 'never', match: { provider: 'google' }, fault: { type: 'delay', for: '1m' } },
    { name: 'not now', match: { provider: 'openai' }, when: { after: '1h' }, fault: { type: 'delay', for: 1 } },
    { name: 'in vain', match: { provider: 'anthropic', stream: false }, fault: { type: 'cut-stream' } },
  ],
  expect: [
    { provider: 'openai', outcome: 'disconnected', attempts: 2 },
    { provider: 'anthropic', outcome: 'succeeded', attempts: 2 },
  ],
}

test('verify: reports calls that reached no session where none were received', async () => {
  await app.fetch(CHAT, { method: 'POST', headers: { authorization: '' }, body: '{}' })
  const { notices, verdict } = await look()
  expect(notices).toEqual([
    expect.stringMatching(/^no calls were received in this session; 1 call reached no session: send a token/),
  ])
  expect(verdict).toBe('pass')
  await call('hello')
  expect((await look()).notices).toEqual([])
})

test('verify: reports counts, order and recovery paths of the calls', async () => {
  await call('before')
  await play(outage)
  await call('streamed', { stream: true, retry: { count: 1, on_codes: [429] }, ...FALLBACK })
  await call('whole', { timeout: { call_timeout: 5000 }, ...FALLBACK })
  const report = await look()
  expect(report).toMatchObject({ session: 'default', scenario: 'outage', ok: true, calls: 2, attempts: 5 })
  const row = (at: string, model: string, outcome: string, count: number) => ({
    at,
    operation: 'chat.completions',
    provider: model.split('/')[0] as string,
    model,
    outcome,
    count,
  })
  expect(report.counts as object[]).toEqual([
    row('gateway', 'anthropic/claude-sonnet-4', 'succeeded', 2),
    row('provider', 'anthropic/claude-sonnet-4', 'succeeded', 2),
    row('provider', 'openai/gpt-4o', 'disconnected', 2),
    row('provider', 'openai/gpt-4o', 'timed_out', 1),
  ])
  expect(report.order.map(({ target, reason: why, outcome }) => `${why} ${target.split('/')[0]} ${outcome}`)).toEqual([
    'first openai disconnected',
    'retry openai disconnected',
    'fallback anthropic succeeded',
    'first openai timed_out',
    'fallback anthropic succeeded',
  ])
  expect(report.recovery_paths).toEqual({
    retry: 1,
    fallback: 2,
    timeout: 1,
    cache: 0,
    stream_recovery: 1,
    client_retry: 0,
    client_fallback: 0,
  })
  const rule = (name: string) => report.rules.find((one) => one.name === name)
  expect(rule('nothing comes')).toMatchObject({
    matched: 2,
    triggered: 2,
    applied: 2,
    skipped: {},
    not_triggered: null,
  })
  expect(rule('never')?.not_triggered).toBe('no request matched')
  expect(rule('not now')?.not_triggered).toStartWith('active from t=3600 s, last matching request at t=')
  expect(rule('in vain')).toMatchObject({ triggered: 1, applied: 0, skipped: { 'the response is not a stream': 1 } })
  expect(report.expectations).toEqual([
    { expected: '2 attempts: provider openai, outcome disconnected', actual: '2', met: true },
    { expected: '2 attempts: provider anthropic, outcome succeeded', actual: '2', met: true },
  ])
})

test('verify: covers everything since the session began without a scenario', async () => {
  await call('one')
  await call('one', { cache: { type: 'exact_match', ttl: 60 } })
  await call('one', { cache: { type: 'exact_match', ttl: 60 } })
  expect(await look()).toMatchObject({
    scenario: null,
    ok: true,
    calls: 3,
    attempts: 2,
    recovery_paths: { cache: 1 },
    rules: [],
  })
})

describe('verify expectations', () => {
  const met: [object, string][] = [
    [{ provider: 'openai', attempts: '2+' }, '3'],
    [{ provider: 'openai' }, '3'],
    [{ model: 'gpt-4*', target: 'primary', attempts: 3 }, '3'],
    [{ target: 'fallback', attempts: 2 }, '2'],
    [{ rule: 'late', outcome: 'timed_out', attempts: 1 }, '1'],
    [{ operation: 'chat.completions', status: 200, calls: 2 }, '2'],
    [{ at: 'gateway', stream: true }, '1'],
    [{ provider: 'google', attempts: 0 }, '0'],
    [{ order: [{ provider: 'openai' }, { provider: 'anthropic' }, { outcome: 'timed_out' }] }, 'in this order'],
    [{ retry_after_honored: true }, 'early retries: 0'],
  ]
  const unmet: [object, string][] = [
    [{ provider: 'openai', attempts: '1-2' }, '3'],
    [{ calls: 3 }, '2'],
    [{ cache: 'hit', calls: '1+' }, '0'],
    [{ provider: 'google' }, '0'],
    [{ order: [{ outcome: 'timed_out' }, { outcome: 'disconnected' }] }, 'only the first 1 of 2'],
  ]
  const after = async () => {
    await play({ ...outage, expect: [] })
    await call('streamed', { stream: true, retry: { count: 1, on_codes: [429] }, ...FALLBACK })
    await call('whole', { timeout: { call_timeout: 5000 }, ...FALLBACK })
  }
  test('are met or not, one by one', async () => {
    await after()
    const report = await ask([...met, ...unmet].map(([expectation]) => expectation))
    expect(report.ok).toBe(false)
    expect(report.expectations.map(({ actual, met: good }) => [actual, good])).toEqual([
      ...met.map(([, actual]): [string, boolean] => [actual, true]),
      ...unmet.map(([, actual]): [string, boolean] => [actual, false]),
    ])
    expect((await ask(met.map(([expectation]) => expectation))).ok).toBe(true)
  })

  const mistakes: [object, string][] = [
    [{ provider: 'openai', attempt: 1 }, "is not known (did you mean 'attempts'?); valid: provider, model"],
    [{ attempts: 1, calls: 1 }, "cannot be combined with 'calls'"],
    [{ retry_after_honored: true, model: 'x' }, 'cannot be combined with other conditions'],
    [{ outcome: 'fine' }, 'must be one of "succeeded"'],
  ]
  test.each(mistakes)('reject %j', async (expectation, message) => {
    const answer = await app.post('/_understudy/verify', { expect: [expectation] })
    expect(errorOf(answer.text, 400).message).toContain(message)
  })
})

describe('verify budget', () => {
  /** A session whose only file is a budget, after a call of a model with a price and one of a model without. */
  const budget = async (expect: object[], model = 'openai/gpt-4o') => {
    await accepted(play({ name: 'budget', expect }))
    const usage = { prompt_tokens: 1000, completion_tokens: 100 }
    await accepted(
      app.fetch('/_understudy/fixtures', {
        method: 'PUT',
        body: JSON.stringify([{ match: { operation: 'chat.completions' }, reply: { content: 'Hi', usage } }]),
        headers: { 'content-type': 'application/json' },
      }),
    )
    await call('one', { model })
    await call('two', { model: 'openai/gpt-4o', stream: true })
    return look()
  }
  const seen = ({ expectations }: Verification) => expectations.map(({ actual, met }) => [actual, met])

  test('passes without rules when cost, tokens and calls are within it', async () => {
    const report = await budget([
      { cost: '0-0.007' },
      { tokens: '0-2200' },
      { calls: '0-2' },
      { cost: 0, model: 'gpt-5*' },
    ])
    // 2 x (1,000 x $2.50 + 100 x $10) / 1,000,000.
    expect(seen(report)).toEqual([
      ['$0.007', true],
      ['2200', true],
      ['2', true],
      ['$0', true],
    ])
    expect(report.expectations.map(({ expected }) => expected)).toEqual([
      '$0 to $0.007',
      '0 to 2200 tokens',
      '0 to 2 calls',
      '$0: model gpt-5*',
    ])
    expect([report.verdict, report.inconclusive, report.rules]).toEqual(['pass', [], []])
  })

  test('fails when one of them is exceeded', async () => {
    const report = await budget([
      { cost: '0-0.006' },
      { tokens: '0-2199' },
      { cost: '0.01+' },
      { tokens: '1100', stream: true },
    ])
    expect(seen(report)).toEqual([
      ['$0.007', false],
      ['2200', false],
      ['$0.007', false],
      ['1100', true],
    ])
    expect(report.verdict).toBe('fail')
  })

  test('fails when a price is not known', async () => {
    const report = await budget([{ cost: '0-1' }, { cost: '0-1', model: 'gpt-4o' }], 'openai/my-own-model')
    expect(seen(report)).toEqual([
      ['$0.0035, and 1 call of unknown price: openai/my-own-model', false],
      ['$0.0035', true],
    ])
  })

  test('counts a response from the cache as free', async () => {
    await accepted(play({ name: 'budget', expect: [{ tokens: '1+', cache: 'hit' }] }))
    const cached = { cache: { type: 'exact_match' } }
    await call('one', cached)
    await call('one', cached)
    expect(seen(await look())).toEqual([['0', false]])
  })

  test('is rejected when it has neither rules nor expectations', async () => {
    const answer = await play({ name: 'empty', rules: [] })
    expect(errorOf(answer.text, 400).message).toContain("'rules' is required, unless there is an 'expect'")
  })

  test.each([
    [{ cost: '0-' }, "must be an amount in USD, or a range such as '0-0.02' or '0.01+'"],
    [{ cost: '2-1' }, 'must not end before it starts'],
    [{ cost: -1 }, 'must be at least 0, got -1'],
    [{ cost: 1, tokens: 1 }, "cannot be combined with 'tokens'"],
    [{ tokens: '0.5' }, "must be a number, or a range such as '1-3' or '2+'"],
  ])('rejects %j', async (expectation, message) => {
    const answer = await app.post('/_understudy/verify', { expect: [expectation] })
    expect(errorOf(answer.text, 400).message).toContain(message)
  })
})

describe('verify wait', () => {
  test('gives a client time to make its calls', async () => {
    await play({ ...outage, expect: [{ calls: 1 }] })
    const report = look('default', '?wait=30s')
    await call('late', FALLBACK)
    expect(await report).toMatchObject({ ok: true, calls: 1 })
  })

  test('ends with the current state at its limit, which has a maximum', async () => {
    await play({ ...outage, expect: [{ calls: 1 }] })
    expect(await look('default', '?wait=30ms')).toMatchObject({ ok: false, calls: 0 })
    const answer = await app.fetch('/_understudy/verify?wait=2h')
    expect(errorOf(answer.text, 400).message).toContain('must be at most 60s')
  })
})

test('verify: tells an early retry from one that waits', async () => {
  await play({
    name: 'busy',
    rules: [{ name: 'limit', fault: { type: 'http-error', status: 429, retry_after: '20s' } }],
  })
  const refused = await call('busy')
  expect({ status: refused.status, wait: refused.headers.get('retry-after') }).toEqual({ status: 429, wait: '20' })
  await accepted(app.post('/_understudy/sessions/default/clock', { advance: '20s' }))
  await call('busy')
  await accepted(app.post('/_understudy/sessions/default/clock', { advance: '19s' }))
  await call('busy')
  const { retry_after: waits, recovery_paths: paths, ok } = await ask([{ retry_after_honored: true }])
  expect(waits).toMatchObject({
    sent: 3,
    honored: 1,
    not_honored: [{ retry_after_ms: 20_000, retried_after_ms: 19_000 }],
  })
  expect(paths.client_retry).toBe(2)
  expect(ok).toBe(false)
})
test('verify: shows a call that the client abandoned with its outcome', async () => {
  await play(outage)
  await accepted(app.post('/_understudy/sessions/default/clock', { freeze: true }))
  const gone = new AbortController()
  const request = new Request(`http://localhost${CHAT}`, {
    method: 'POST',
    body: JSON.stringify(bodyOf('never mind')),
    headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
    signal: gone.signal,
  })
  const answer = app.understudy.app.fetch(request)
  while ((await app.post('/_understudy/sessions/default/clock', { advance: 0 })).json().waiting !== 1);
  await accepted(app.post('/_understudy/sessions/default/clock', { advance: '7s' }))
  gone.abort()
  await (await answer).text()
  expect((await look()).canceled).toEqual([{ trace: expect.any(String), after_ms: 7000, provider_stopped: true }])
})

test('verify: reports unused fixtures and unmatched calls', async () => {
  const match = { operation: 'chat.completions' }
  await accepted(
    app.post('/_understudy/sessions', {
      name: 'fixed',
      fixtures: [
        { name: 'used', match: { ...match, user: 'one' }, reply: { content: '1' } },
        { name: 'idle', match: { ...match, user: 'two' }, reply: { content: '2' } },
      ],
    }),
  )
  await call('one', {}, 'fixed')
  const missed = await call('Something that nobody has foreseen', {}, 'fixed')
  expect((await look('fixed')).fixtures).toEqual({
    unused: ['idle'],
    unmatched: [
      {
        trace: missed.headers.get('x-understudy-trace') as string,
        operation: 'chat.completions',
        model: 'openai/gpt-4o',
      },
    ],
  })
})
