// A reset, a snapshot and a change of scenario end what runs, by one signal; nothing of it reaches what follows.
import { afterAll, describe, expect, test } from 'bun:test'
import type { TraceRecord } from '../../src/contract/core/trace.ts'
import { accepted } from '../support/accepted.ts'
import { createTestApp, eventsOf } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'
import { errorOf } from '../support/errors.ts'
import { A, closeScripted, createScripted, hangs, ROLE, refuses, said, says, streams } from '../support/scripted.ts'

const app = createTestApp()
afterAll(() => {
  app.close()
  closeScripted()
})
const SESSIONS = '/_understudy/sessions'
const slow = { name: 'slow', rules: [{ name: 'waits', fault: { type: 'delay', for: '90s' } }] }
const dull = { name: 'dull', rules: [{ name: 'never', when: { calls: '99' }, fault: { type: 'delay', for: '1s' } }] }
const say = (session: string, more: object = {}) =>
  app.post(`/s/${session}${CHAT}`, { model: 'openai/gpt-4o', ...user('Hello!'), ...more })
const put = (path: string, body: object, target = app) =>
  target.fetch(path, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const clock = (session: string, change: object) => app.post(`${SESSIONS}/${session}/clock`, change)
const tracesOf = async (session: string, target: Pick<typeof app, 'fetch'> = app) =>
  (await target.fetch(`/s/${session}/_understudy/traces`)).json().data as TraceRecord[]
/** Waits until something in the session waits on its clock. */
async function untilWaiting(session: string): Promise<void> {
  while (((await app.fetch(`${SESSIONS}/${session}`)).json().clock as { waiting: number }).waiting === 0);
}
/** A session whose calls wait for 90 s on a clock that stands still. */
async function frozen(name: string): Promise<void> {
  expect((await app.post(SESSIONS, { name, clock: 'virtual', scenario: slow })).status).toBe(200)
  await clock(name, { freeze: true })
}

const empty = async () => (await app.fetch('/s/never-written/_understudy/snapshot')).json()
const ends: [string, (session: string) => Promise<unknown>, traces: number][] = [
  ['a reset by name', (name) => app.post(`${SESSIONS}/${name}/reset`, {}), 0],
  ['a reset of its own', (name) => app.post(`/s/${name}/_understudy/reset`, {}), 0],
  ['a snapshot', async (name) => app.post(`/s/${name}/_understudy/snapshot`, await empty()), 0],
  ['another scenario', (name) => put(`/s/${name}/_understudy/scenario`, dull), 1],
  ['a scenario on another clock', (name) => put(`/s/${name}/_understudy/scenario`, { ...dull, clock: 'real' }), 1],
  ['stopping the scenario', (name) => app.fetch(`/s/${name}/_understudy/scenario`, { method: 'DELETE' }), 1],
]
describe.each(ends)('end of a session generation by %s', (how, end, left) => {
  const name = how.replaceAll(' ', '-')
  test('ends a waiting call with 409 and traces it correctly', async () => {
    await frozen(name)
    const running = say(name, {
      retry: { count: 2, on_codes: [409] },
      fallbacks: [{ model: 'anthropic/claude-sonnet-4' }],
    })
    await untilWaiting(name)
    await end(name)
    const answer = await running
    expect(errorOf(answer.text, 409)).toMatchObject({ code: 'session_reset' })
    const traces = await tracesOf(name)
    expect(traces).toHaveLength(left)
    if (left) expect(traces).toMatchObject([{ status: 409, attempts: [{}], error: { code: 'session_reset' } }])
  })

  test('leaves nothing behind for the next call', async () => {
    await clock(name, { resume: true })
    const answer = await say(name)
    expect(answer.status).toBe(200)
    const [newest] = await tracesOf(name)
    expect(newest?.id).toBe(answer.headers.get('x-understudy-trace') as string)
  })
})

test('reset during a stream: ends it with the error and no end mark', async () => {
  const scripted = createScripted({ [A]: [streams(ROLE, said('One '), Number.POSITIVE_INFINITY), says('Anew.')] })
  const answer = scripted.ask({ stream: true })
  while (scripted.reached.length === 0) await new Promise((resolve) => setImmediate(resolve))
  await new Promise((resolve) => setImmediate(resolve))
  expect((await scripted.post('/_understudy/reset', {})).status).toBe(200)
  const { status, text } = await answer
  const events = eventsOf(text)
  expect(status).toBe(200)
  expect(events.at(-1)).toMatchObject({ error: { code: 'session_reset' } })
  expect(events).not.toContain('[DONE]')
  expect(scripted.reached[0]?.signal.aborted).toBe(true)
  expect(await tracesOf('default', scripted)).toEqual([])
})

test('reset during a stream that a gateway fault slows down: ends it with the error', async () => {
  const rules = [{ name: 'slows', at: 'gateway', fault: { type: 'slow-stream', tokens_per_second: 1 } }]
  expect(
    (await app.post(SESSIONS, { name: 'slowed', clock: 'virtual', scenario: { name: 'slow', rules } })).status,
  ).toBe(200)
  await clock('slowed', { freeze: true })
  const running = say('slowed', { stream: true })
  await untilWaiting('slowed')
  await app.post(`${SESSIONS}/slowed/reset`, {})
  const events = eventsOf((await running).text)
  expect(events.at(-1)).toMatchObject({ error: { code: 'session_reset' } })
  expect(events).not.toContain('[DONE]')
})

test('reset during a hang: ends the call down to the provider', async () => {
  const scripted = createScripted({ [A]: [hangs] })
  const answer = scripted.ask({})
  while (scripted.reached.length === 0) await new Promise((resolve) => setImmediate(resolve))
  await accepted(scripted.post('/_understudy/reset', {}))
  expect(errorOf((await answer).text, 409).code).toBe('session_reset')
  expect(scripted.reached[0]?.signal.aborted).toBe(true)
})

test('change of clocks during a retry wait: does not mix their times', async () => {
  const scripted = createScripted({ [A]: [refuses(429, { 'retry-after': '50' }), says('Late.')] }, { clock: 'real' })
  const answer = scripted.ask({ retry: { count: 1 } })
  while (scripted.reached.length === 0) await new Promise((resolve) => setImmediate(resolve))
  await accepted(put('/_understudy/scenario', { ...dull, clock: 'virtual' }, scripted as unknown as typeof app))
  expect(errorOf((await answer).text, 409).code).toBe('session_reset')
  const [trace] = await tracesOf('default', scripted)
  expect(trace?.duration_ms).toBeLessThan(50_000)
  expect(trace?.duration_ms).toBeGreaterThanOrEqual(0)
})

test.each([
  ['a reset', () => app.post('/s/desk/_understudy/reset', {})],
  ['stopping the scenario', () => app.fetch('/s/desk/_understudy/scenario', { method: 'DELETE' })],
])('workspace call in progress: is ended by %s, and the next one is answered', async (_, end) => {
  await app.fetch(`${SESSIONS}/desk`, { method: 'DELETE' })
  const waits = {
    name: 'slow-workspace',
    rules: [{ name: 'waits', at: 'workspace', when: { calls: 1 }, fault: { type: 'delay', for: '90s' } }],
  }
  expect((await app.post(SESSIONS, { name: 'desk', clock: 'virtual', scenario: waits })).status).toBe(200)
  await clock('desk', { freeze: true })
  const running = app.fetch('/s/desk/v2/datasets')
  await untilWaiting('desk')
  expect((await end()).status).toBe(200)
  expect(errorOf((await running).text, 409)).toMatchObject({ code: 'session_reset' })
  expect((await app.fetch('/s/desk/v2/datasets')).status).toBe(200)
})

test('loaded snapshot: continues virtual time, so that the same calls get the same responses', async () => {
  const load = (body: unknown) => app.post('/s/loaded/_understudy/snapshot', body)
  const answers = async () => {
    const answer = await say('loaded')
    return [answer.headers.get('x-understudy-trace'), answer.text]
  }
  const began = await answers()
  await clock('loaded', { advance: '1h' })
  await load(await empty())
  expect(await answers()).toEqual(began)
  await clock('loaded', { advance: '24h' })
  const made = (await app.post('/s/loaded/v2/datasets', { display_name: 'One', path: 'Default' })).json()
  const saved = (await app.fetch('/s/loaded/_understudy/snapshot')).json()
  await clock('loaded', { advance: '24h' })
  const { clock: time } = (await app.fetch(`${SESSIONS}/loaded`)).json() as { clock: { now: string } }
  expect(time.now > String(made.created)).toBe(true)
  await load(saved)
  const [first, again] = [await answers(), (await load(saved)) && (await answers())]
  expect(again).toEqual(first)
  const [trace] = await tracesOf('loaded')
  expect(trace?.started_at).toBe(String(made.created))
})
