// verify?wait: reads again only when something has happened, stops with its client, and reports what it cannot see.
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { Verification } from '../../src/contract/core/verification.ts'
import { accepted } from '../support/accepted.ts'
import { createTestApp, type TestApp } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'

let app: TestApp
beforeEach(() => {
  app = createTestApp()
})
afterEach(() => app.close())

const call = (content = 'Hello!') => app.post(CHAT, { model: 'openai/gpt-4o', ...user(content) })
const post = (wait: string, expect: object[], init: RequestInit = {}) =>
  app.understudy.app.fetch(
    new Request(`http://localhost/_understudy/verify?wait=${wait}`, {
      method: 'POST',
      headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
      body: JSON.stringify({ expect }),
      ...init,
    }),
  )
const reportOf = async (response: Promise<Response>) => (await (await response).json()) as Verification
/** Counts how often all traces of the session are read. */
function countReads() {
  const session = app.understudy.sessions.get('default')
  const { traces } = session
  const reads = { all: 0, one: 0 }
  const counting = Object.assign(Object.create(traces), {
    since(seq: number) {
      reads.all++
      return traces.since(seq)
    },
    bySeq(seq: number) {
      reads.one++
      return traces.bySeq(seq)
    },
  })
  Object.defineProperty(session, 'traces', { get: () => counting })
  return reads
}

describe('verify while it waits', () => {
  test('reads each trace once', async () => {
    await call()
    const reads = countReads()
    const report = reportOf(post('30s', [{ calls: 4 }]))
    while (!app.understudy.observers.active) await new Promise(setImmediate)
    for (let index = 0; index < 3; index++) await call()
    expect(await report).toMatchObject({ ok: true, calls: 4 })
    expect(reads).toEqual({ all: 1, one: 3 })
  })

  test('starts again after a reset', async () => {
    await call('before')
    const report = reportOf(post('30s', [{ calls: 2 }]))
    while (!app.understudy.observers.active) await new Promise(setImmediate)
    await accepted(app.post('/_understudy/reset', ''))
    await call('after')
    await call('after')
    expect(await report).toMatchObject({ ok: true, calls: 2 })
  })
})

describe('verify waiting for a session', () => {
  const own = { headers: { authorization: 'Bearer session:mine', 'content-type': 'application/json' } }
  const send = (path: string, body: unknown) =>
    app.understudy.app.fetch(
      new Request(`http://localhost${path}`, { method: 'POST', body: JSON.stringify(body), ...own }),
    )
  const changes: [string, () => unknown][] = [
    ['made on purpose', () => send('/_understudy/sessions', { name: 'mine', seed: 7, clock: 'virtual' })],
    ['used', () => {}],
    [
      'reset',
      async () => [
        await send(CHAT, { model: 'openai/gpt-4o', ...user('before') }),
        await send('/_understudy/reset', {}),
      ],
    ],
    [
      'given a scenario',
      () =>
        send('/_understudy/sessions', {
          name: 'mine',
          scenario: { name: 'slow', clock: 'real', rules: [{ name: 'late', fault: { type: 'delay', for: '1ms' } }] },
        }),
    ],
    [
      'deleted',
      async () => [
        await send(CHAT, { model: 'openai/gpt-4o', ...user('before') }),
        await app.understudy.app.fetch(
          new Request('http://localhost/_understudy/sessions/mine', { method: 'DELETE', ...own }),
        ),
      ],
    ],
  ]
  test.each(changes)('reads the session by name after it was %s', async (name, change) => {
    const report = reportOf(post('30s', [{ calls: 2 }], own))
    while (!app.understudy.observers.active) await new Promise(setImmediate)
    await change()
    for (const content of ['one', 'two']) await send(CHAT, { model: 'openai/gpt-4o', ...user(content) })
    const scenario = name === 'given a scenario' ? 'slow' : null
    expect(await report).toMatchObject({ session: 'mine', calls: 2, ok: true, scenario })
  })
})

test('verify: stops when its client disconnects', async () => {
  const client = new AbortController()
  const report = reportOf(post('60s', [{ calls: 1 }], { signal: client.signal }))
  while (!app.understudy.observers.active) await new Promise(setImmediate)
  client.abort()
  expect(await report).toMatchObject({ ok: false })
  expect(Boolean(app.understudy.observers.active)).toBe(false)
})

describe('many waiting verify calls', () => {
  test('share what they have read', async () => {
    for (let index = 0; index < 5; index++) await call()
    const reads = countReads()
    const reports = Array.from({ length: 50 }, () => reportOf(post('30s', [{ calls: 6 }])))
    while (!app.understudy.observers.active) await new Promise(setImmediate)
    await call()
    for (const report of await Promise.all(reports)) expect(report).toMatchObject({ ok: true, calls: 6 })
    expect(reads).toEqual({ all: 1, one: 1 })
  })

  test('are limited in number', async () => {
    const client = new AbortController()
    const waits = Array.from({ length: 101 }, () => post('60s', [{ calls: 1 }], { signal: client.signal }))
    const first = await Promise.race(waits)
    expect(first.status).toBe(429)
    expect(await first.json()).toMatchObject({ error: { code: 'too_many_waits', param: 'wait' } })
    client.abort()
    const statuses = (await Promise.all(waits)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(100)
    expect(await reportOf(post('0s', []))).toMatchObject({ calls: 0 })
    expect(Boolean(app.understudy.observers.active)).toBe(false)
  })
})

test('verify: reports calls whose traces were dropped', async () => {
  app.close()
  app = createTestApp({ keep_traces: 2 })
  for (let index = 0; index < 2; index++) await call()
  expect(await reportOf(post('0s', []))).toMatchObject({ calls: 2, dropped: 0, notices: [] })
  for (let index = 0; index < 3; index++) await call()
  const { calls, dropped, notices } = await reportOf(post('0s', []))
  expect({ calls, dropped }).toEqual({ calls: 2, dropped: 3 })
  expect(notices.join()).toContain('the traces of 3 calls were dropped')
})

test('verify: reports no dropped traces when the scenario began after them', async () => {
  app.close()
  app = createTestApp({ keep_traces: 2 })
  for (let index = 0; index < 4; index++) await call()
  await accepted(
    app.fetch('/_understudy/scenario', {
      method: 'PUT',
      body: JSON.stringify({
        name: 'calm',
        rules: [{ name: 'no call', match: { model: 'none' }, fault: { type: 'delay', for: '1s' } }],
      }),
      headers: { 'content-type': 'application/json' },
    }),
  )
  await call()
  expect(await reportOf(post('0s', []))).toMatchObject({ calls: 1, dropped: 0 })
})
