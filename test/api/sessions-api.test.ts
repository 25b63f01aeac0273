// Sessions created explicitly: their own seed, clock, scenario and fixtures, shared with no other.
import { afterAll, describe, expect, test } from 'bun:test'
import type { TraceRecord } from '../../src/contract/core/trace.ts'
import type { Verification } from '../../src/contract/core/verification.ts'
import { createTestApp, type TestApp } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'
import { errorOf } from '../support/errors.ts'

const app = createTestApp()
afterAll(app.close)
const SESSIONS = '/_understudy/sessions'
const make = (body: object, target = app) => target.post(SESSIONS, body)
const say = (session: string, content: string, more: object = {}, target = app) =>
  target.post(`/s/${session}${CHAT}`, { model: 'openai/gpt-4o', ...user(content), ...more })
const remove = (name: string, target = app) => target.fetch(`${SESSIONS}/${name}`, { method: 'DELETE' })
const tracesOf = async (session: string, target: TestApp = app) =>
  (await target.fetch(`/s/${session}/_understudy/traces?limit=200`)).json().data as TraceRecord[]

/** A scenario in which the first calls of a user's message wait. */
const slow = (name: string, calls: string, wait: string) => ({
  name,
  rules: [{ name: `${name} waits`, when: { calls }, fault: { type: 'delay', for: wait } }],
})
const fixture = (content: string) => ({ match: { operation: 'chat.completions' }, reply: { content } })

describe('session API', () => {
  test('creates a session with its settings, shows, lists and deletes it', async () => {
    const made = await make({
      name: 'whole',
      seed: 7,
      clock: 'virtual',
      scenario: slow('own', '1', '10s'),
      fixtures: [{ name: 'mine', ...fixture('Mine.') }],
    })
    const info = {
      name: 'whole',
      seed: 7,
      clock: { kind: 'virtual', now: '2025-01-01T00:00:00.000Z', frozen: false, waiting: 0 },
      scenario: 'own',
      approvals: 'ask',
      fixtures: ['mine'],
      calls: 0,
      origin: 'made',
    }
    expect({ status: made.status, body: made.json() }).toEqual({ status: 200, body: info })
    const answer = await say('whole', 'Who are you?')
    expect(answer.headers.get('x-understudy-fixture')).toBe('mine')
    expect(answer.headers.get('x-understudy-scenario')).toBe('own')
    expect(JSON.parse(answer.text).choices[0].message.content).toBe('Mine.')
    const later = { ...info, calls: 1, clock: { ...info.clock, now: '2025-01-01T00:00:10.000Z' } }
    expect((await app.fetch(`${SESSIONS}/whole`)).json()).toEqual(later)
    expect((await app.fetch(SESSIONS)).json().data).toContainEqual(later)
    expect((await say('default', 'Who are you?')).headers.get('x-understudy-fixture')).not.toBe('mine')
    expect((await remove('whole')).json()).toEqual({ sessions: ['whole'] })
    expect((await app.fetch(`${SESSIONS}/whole`)).status).toBe(404)
    const anew = await say('whole', 'Who are you?')
    expect(anew.headers.get('x-understudy-fixture')).not.toBe('mine')
    expect(await tracesOf('whole')).toHaveLength(1)
    await remove('whole')
  })

  const mistakes: [string, object, number, string, string][] = [
    ['without a name', {}, 400, 'name', 'is required'],
    ['with an invalid name', { name: 'a b' }, 400, 'name', '"a b" must be 1 to 110'],
    ['with an existing name', { name: 'default' }, 409, 'name', 'there is a session named "default" already'],
    [
      'with an unknown scenario',
      { name: 'x', scenario: 'nope' },
      400,
      'scenario',
      'there is no scenario "nope"; known: ',
    ],
    [
      'with an invalid scenario',
      { name: 'x', scenario: { name: 'y', rules: [{ name: 'r', fault: { type: 'delai' } }] } },
      400,
      'scenario.rules[0].fault.type',
      '"delay"',
    ],
    [
      'with a fixture without an operation',
      { name: 'x', fixtures: [{ reply: { content: 'a' } }] },
      400,
      'fixtures[0]',
      'needs match.operation; valid: chat.completions',
    ],
    [
      'with an invalid fixture',
      { name: 'x', fixtures: [fixture('a'), { match: { operation: 'chat.completions', modle: 'x' }, reply: {} }] },
      400,
      'fixtures[1].match.modle',
      "is not known (did you mean 'model'?); valid: operation, model",
    ],
    ['with an unknown field', { name: 'x', tokens: 1 }, 400, 'tokens', 'is not known; valid: name, seed'],
    [
      'with another clock than its scenario',
      { name: 'x', clock: 'real', scenario: { ...slow('y', '1', '1s'), clock: 'virtual' } },
      400,
      'clock',
      'requires a virtual clock',
    ],
  ]
  test.each(mistakes)('rejects a session %s and creates none', async (_, body, status, param, message) => {
    const before = (await app.fetch(SESSIONS)).text
    const answer = await make(body)
    expect(answer.status).toBe(status)
    const error = errorOf(answer.text, status)
    expect(error.message).toContain(message)
    expect(error.param ?? '').toBe(param)
    expect((await app.fetch(SESSIONS)).text).toBe(before)
  })

  test('returns 404 for an unknown session everywhere, and the default one stays', async () => {
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/reset'],
    ]) {
      expect((await app.fetch(`${SESSIONS}/nobody${path}`, { method: method as string })).status).toBe(404)
    }
    expect(errorOf((await remove('default')).text, 400).message).toContain('it can be reset')
  })
})

test('session scenario: determines the clock and the random seed', async () => {
  const real = createTestApp({ clock: 'real' })
  const clockOf = async (name: string) =>
    ((await real.fetch(`${SESSIONS}/${name}`)).json().clock as { kind: string }).kind
  const scenario = { ...slow('long', '1', '10m'), clock: 'virtual' }
  await make({ name: 'made', scenario }, real)
  expect(await clockOf('made')).toBe('virtual')
  const put = (body: object) =>
    real.fetch('/_understudy/scenario', {
      method: 'PUT',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    })
  expect(await clockOf('default')).toBe('real')
  await put(scenario)
  expect(await clockOf('default')).toBe('virtual')
  const answer = await say('default', 'Hello', {}, real)
  expect((await real.traceOf(answer)).duration_ms).toBe(600_000)
  await put(slow('short', '1', '0ms'))
  expect(await clockOf('default')).toBe('real')
  real.close()
})

describe('session reset', () => {
  test('gives the same responses and traces for the same calls, byte for byte', async () => {
    await make({ name: 'again', scenario: slow('own', '1-2', '3s'), fixtures: [fixture('Fixed.')] })
    const round = async () => {
      const answers = [
        await say('again', 'One'),
        await say('again', 'Two', { stream: true }),
        await say('again', 'One'),
      ]
      return JSON.stringify([answers.map(({ text }) => text), await tracesOf('again')])
    }
    const first = await round()
    const reset = await app.fetch(`${SESSIONS}/again/reset`, { method: 'POST' })
    expect(reset.json()).toMatchObject({ name: 'again', calls: 0, scenario: 'own', fixtures: ['fixtures[0]'] })
    expect(await tracesOf('again')).toEqual([])
    expect(await round()).toBe(first)
    expect(first).toContain('own waits')
  })

  test('leaves nothing of a call that began before it', async () => {
    await make({ name: 'late', scenario: slow('own', '1', '1m') })
    await app.post(`${SESSIONS}/late/clock`, { freeze: true })
    const callContext = say('late', 'Slow')
    while ((await app.fetch(`${SESSIONS}/late`)).json().calls === 0);
    await app.fetch(`${SESSIONS}/late/reset`, { method: 'POST' })
    await remove('late')
    expect((await app.fetch(`${SESSIONS}/late`)).status).toBe(404)
    expect(errorOf((await callContext).text, 409).code).toBe('session_reset')
  })
})

describe('thousand sessions', () => {
  test('reach the limit with 429, and deleting makes room', async () => {
    const crowded = createTestApp()
    for (let index = 1; index < 1000; index++) crowded.understudy.sessions.create(`s${index}`, {}, {})
    const full = await make({ name: 'one-more' }, crowded)
    expect(errorOf(full.text, 429).message).toContain('DELETE /_understudy/sessions/<name>')
    expect((await say('by-use', 'Hello', {}, crowded)).status).toBe(429)
    await remove('s500', crowded)
    expect((await make({ name: 'one-more' }, crowded)).status).toBe(200)
    const health = (await crowded.fetch('/_understudy/health')).json()
    expect(health.counts).toMatchObject({ sessions: 1000 })
    crowded.close()
  }, 30_000)
})

describe('clock of a session', () => {
  const clock = async (name: string, change: object) => (await app.post(`${SESSIONS}/${name}/clock`, change)).json()
  const at = (seconds: number) => new Date(Date.UTC(2025, 0, 1) + seconds * 1000).toISOString()

  test('lets a call wait while frozen until it is advanced past its end', async () => {
    await make({ name: 'held', scenario: slow('own', '1+', '90s') })
    expect(await clock('held', { freeze: true })).toMatchObject({ frozen: true, now: at(0) })
    const answer = say('held', 'Slow')
    let now = await clock('held', { advance: '30s' })
    while (now.waiting !== 1) now = await clock('held', { advance: 0 })
    expect(now).toEqual({ kind: 'virtual', now: at(30), frozen: true, waiting: 1 })
    expect(await clock('held', { advance: '2m' })).toMatchObject({ now: at(150), waiting: 0 })
    expect((await answer).status).toBe(200)
    const [trace] = await tracesOf('held')
    expect(trace?.duration_ms).toBe(90_000)
    expect(await clock('held', { resume: true })).toMatchObject({ frozen: false })
    await say('held', 'Slow again')
    expect(await clock('held', { advance: 0 })).toMatchObject({ now: at(240) })
  })

  test('shows another time when it is set', async () => {
    await make({ name: 'set' })
    expect(await clock('set', { set: '2030-02-03T04:05:06+01:00' })).toMatchObject({ now: '2030-02-03T03:05:06.000Z' })
    await say('set', 'Hello')
    expect((await tracesOf('set'))[0]?.started_at).toBe('2030-02-03T03:05:06.000Z')
  })

  const mistakes: [object, string][] = [
    [{}, "must have exactly one of 'advance', 'freeze', 'resume', 'set'"],
    [{ freeze: true, resume: true }, 'must have exactly one of'],
    [{ advance: 'soon' }, 'must be a duration such as 300ms or 2s, got "soon"'],
    [{ set: 'tomorrow' }, 'must be an ISO 8601 time'],
  ]
  test.each(mistakes)('rejects %j', async (change, message) => {
    const answer = await app.post(`${SESSIONS}/default/clock`, change)
    expect(errorOf(answer.text, 400).message).toContain(message)
  })

  test('cannot be moved when it is real', async () => {
    const real = createTestApp({ clock: 'real' })
    const answer = await real.post(`${SESSIONS}/default/clock`, { freeze: true })
    expect(errorOf(answer.text, 400).message).toContain('the clock of session "default" is real')
    real.close()
  })
})

describe('fifty parallel sessions', () => {
  const names = Array.from({ length: 50 }, (_, index) => `p${index}`)
  const scenarioOf = (index: number) => ({
    name: `day-${index}`,
    rules: [
      {
        name: `rule-${index}`,
        when: { calls: `1-${1 + (index % 4)}` },
        fault: { type: 'delay', for: `${index + 1}s` },
      },
      {
        name: `cut-${index}`,
        match: { stream: true },
        when: { probability: 0.5 },
        fault: { type: 'cut-stream', after_chunks: 2 + (index % 3) },
      },
    ],
  })
  const CALLS = 5
  const call = (target: TestApp, session: string, number: number) =>
    say(session, `Question ${number} of ${session}`, { stream: number % 2 === 1 }, target)
  const settle = async (target: TestApp) => {
    for (const [index, name] of names.entries())
      await make({ name, seed: index, scenario: scenarioOf(index), fixtures: [fixture(`I am ${name}.`)] }, target)
  }
  const stateOf = async (target: TestApp, name: string) => JSON.stringify(await tracesOf(name, target))

  test('have their own faults, data and counts, reproducible however calls are mixed', async () => {
    const orderly = createTestApp()
    await settle(orderly)
    for (const name of names) for (let number = 0; number < CALLS; number++) await call(orderly, name, number)

    const mixed = createTestApp()
    await settle(mixed)
    // Every session makes its calls in order, and all sessions at once, in an order of turns that looks like chance.
    const chains = names.map((name) => async (rank: number) => {
      for (let turn = 0; turn < (rank * 7919) % 13; turn++) await Promise.resolve()
      for (let number = 0; number < CALLS; number++) await call(mixed, name, number)
    })
    await Promise.all(chains.reverse().map((chain, rank) => chain(rank)))

    for (const [index, name] of names.entries()) {
      expect(await stateOf(mixed, name)).toBe(await stateOf(orderly, name))
      const traces = await tracesOf(name, mixed)
      expect(traces).toHaveLength(CALLS)
      for (const { session, scenario, attempts, fixture: used } of traces) {
        expect({ session, scenario, used }).toEqual({ session: name, scenario: `day-${index}`, used: 'fixtures[0]' })
        for (const fault of attempts.flatMap(({ faults }) => faults)) expect(fault).toEndWith(`-${index}`)
      }
      const report = (await mixed.fetch(`/s/${name}/_understudy/verify`)).json() as unknown as Verification
      expect(report).toMatchObject({ session: name, scenario: `day-${index}`, calls: CALLS, attempts: CALLS })
      expect(report.rules[0]).toMatchObject({ triggered: 1 + (index % 4), applied: 1 + (index % 4), matched: CALLS })
      expect(traces.filter(({ duration_ms }) => duration_ms >= (index + 1) * 1000)).toHaveLength(1 + (index % 4))
    }
    orderly.close()
    mixed.close()
  }, 60_000)

  test('give each call its own random outcome in any order', async () => {
    const scenario = {
      name: 'luck',
      rules: [{ name: 'cut', match: { stream: true }, when: { probability: 0.5 }, fault: { type: 'cut-stream' } }],
    }
    const faultsBy = async (numbers: number[]) => {
      const target = createTestApp()
      await make({ name: 'luck', scenario }, target)
      const told = await Promise.all(
        numbers.map(async (number) => {
          const answer = await say('luck', `Question ${number}`, { stream: true }, target)
          return [number, (await target.traceOf(answer)).attempts.flatMap(({ faults }) => faults)] as const
        }),
      )
      target.close()
      return told.sort(([one], [other]) => one - other)
    }
    const numbers = Array.from({ length: 20 }, (_, index) => index)
    const straight = await faultsBy(numbers)
    const shuffled = await faultsBy(numbers.map((number) => (number * 7 + 3) % 20))
    expect(shuffled).toEqual(straight)
    const hit = straight.filter(([, faults]) => faults.length > 0).length
    expect(hit).toBeGreaterThan(3)
    expect(hit).toBeLessThan(17)
  })
})
