// GET /_understudy/live: the events of a session as they happen, for those who listen and at no cost to others.
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createParser } from 'eventsource-parser'
import type { CallsChanged } from '../../src/contract/core/call-row.ts'
import type { Observation } from '../../src/contract/core/observation.ts'
import { createObservers } from '../../src/observers/list.ts'
import { liveSize, liveStream } from '../../src/observers/live.ts'
import { accepted } from '../support/accepted.ts'
import { createTestApp, type TestApp } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'
import { errorOf } from '../support/errors.ts'

let app: TestApp
const open: AbortController[] = []
beforeEach(() => {
  app = createTestApp()
})
afterEach(() => {
  for (const client of open.splice(0)) client.abort()
  app.close()
})

interface LiveEvent {
  event?: string | undefined
  data: Observation & CallsChanged & { count: number }
}

/** Reads events of a body one by one. */
function eventsIn(body: ReadableStream<Uint8Array> | null) {
  const ready: LiveEvent[] = []
  const parser = createParser({ onEvent: ({ event, data }) => ready.push({ event, data: JSON.parse(data) }) })
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  const next = async (): Promise<LiveEvent | undefined> => {
    while (ready.length === 0) {
      const { value, done } = (await reader?.read()) ?? { done: true }
      if (done) return undefined
      parser.feed(decoder.decode(value))
    }
    return ready.shift()
  }
  return { next, close: () => reader?.cancel() }
}

/** Listens; the first event, which says that it does, is read. */
async function listen(path = '/_understudy/live') {
  const client = new AbortController()
  open.push(client)
  const headers = { authorization: 'Bearer any' }
  const response = await app.understudy.app.fetch(
    new Request(`http://localhost${path}`, { headers, signal: client.signal }),
  )
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
  const { next, close } = eventsIn(response.body as ReadableStream<Uint8Array>)
  const first = await next()
  expect(first?.event).toBe('ready')
  return { next, close, client }
}
const call = (session = 'default', more: object = {}) =>
  app.post(`/s/${session}${CHAT}`, { model: 'openai/gpt-4o', ...user('Hello!'), ...more })
const observers = () => app.understudy.observers

test('live events: report a call from its beginning to its trace, in order and with increasing times', async () => {
  const { next } = await listen()
  const answer = await call()
  const trace = await app.traceOf(answer)
  const { request: _, rendered: __, response: ___, request_headers: ____, ...record } = trace
  const [begun, attempted, saved] = [await next(), await next(), await next()]
  expect(begun).toMatchObject({
    event: 'call-begun',
    data: { session: 'default', trace: trace.id, operation: 'chat.completions', parent: null },
  })
  expect(attempted).toMatchObject({ event: 'attempt-ended', data: { trace: trace.id, attempt: record.attempts[0] } })
  expect(saved).toMatchObject({ event: 'trace-saved', data: { seq: 1 } })
  expect(saved?.data).toHaveProperty('trace', record)
  const times = [begun, attempted, saved].map((one) => one?.data.at ?? 0)
  expect(times).toEqual(times.toSorted((one, other) => one - other))
})

test('live events: are those of one session or of all', async () => {
  const [own, all] = [await listen('/s/mine/_understudy/live'), await listen('/_understudy/live?sessions=all')]
  await call('other')
  await call('mine')
  expect((await own.next())?.data.session).toBe('mine')
  const sessions = []
  for (let index = 0; index < 6; index++) sessions.push((await all.next())?.data.session)
  expect(sessions).toEqual(['other', 'other', 'other', 'mine', 'mine', 'mine'])
  expect(errorOf((await app.fetch('/_understudy/live?sessions=some')).text, 400).message).toContain("must be 'all'")
})

describe('live numbers', () => {
  const NUMBERS = '/_understudy/live?sessions=all&as=numbers'
  const saved = { type: 'trace-saved', session: 'default' } as const
  const begun = { type: 'call-begun', session: 'default', operation: 'x', parent: null } as const

  test('name the number above which calls of a session are new when a call has ended', async () => {
    await call()
    const { next } = await listen(NUMBERS)
    const answer = await call()
    expect(await next()).toEqual({ event: 'calls', data: { under_way: 0, above: { default: 1 } } as never })
    const { data } = (await app.fetch('/_understudy/calls?above=1')).json() as { data: { id: string }[] }
    expect(data.map(({ id }) => id)).toEqual([(await app.traceOf(answer)).id])
    expect(errorOf((await app.fetch('/_understudy/live?as=rows')).text, 400).message).toContain("must be 'events'")
  })

  test('count the running calls when one begins, is lost or ends', async () => {
    const trace = await app.traceOf(await call())
    const { next } = await listen(NUMBERS)
    for (const id of ['one', 'two', trace.id]) observers().notify({ ...begun, trace: id })
    expect((await next())?.data).toEqual({ under_way: 3, above: {} } as never)
    observers().notify({ type: 'call-lost', session: 'default', trace: 'one' })
    observers().notify({ ...saved, seq: 1, trace })
    expect((await next())?.data).toEqual({ under_way: 1, above: { default: 0 } } as never)
  })

  test('name the lowest number in one event when many calls end in any order', async () => {
    const trace = await app.traceOf(await call())
    const { next } = await listen(NUMBERS)
    for (let seq = 10_000; seq >= 7; seq--) observers().notify({ ...saved, seq, trace })
    observers().notify({ ...saved, session: 'other', seq: 3, trace })
    expect((await next())?.data.above).toEqual({ default: 6, other: 2 })
  })

  test('send session-changed before calls, which begin at 0, when a session is reset', async () => {
    const { next } = await listen(NUMBERS)
    await call()
    observers().notify({ ...begun, trace: 'one' })
    await accepted(app.post('/_understudy/sessions/default/reset', ''))
    await call()
    expect(await next()).toMatchObject({ event: 'session-changed', data: { session: 'default', change: 'reset' } })
    expect((await next())?.data).toEqual({ under_way: 0, above: { default: 0 } } as never)
  })

  test('send ready again when more has changed than is kept for a client that does not read', async () => {
    const { next } = await listen(NUMBERS)
    const deleted = { type: 'session-changed', change: 'deleted' } as const
    for (let index = 0; index <= 10_000; index++) observers().notify({ ...deleted, session: `s${index}` })
    expect((await next())?.event).toBe('ready')
  })
})

test('live events: create no session', async () => {
  await listen('/s/nobody/_understudy/live')
  expect(app.understudy.sessions.list().map(({ name }) => name)).toEqual(['default'])
})

test('live events: report changes of a session', async () => {
  const { next } = await listen('/s/mine/_understudy/live')
  const json = { 'content-type': 'application/json' }
  const scenario = JSON.stringify({ name: 'black-hole' })
  await accepted(app.post('/_understudy/sessions', { name: 'mine', clock: 'virtual' }))
  await accepted(app.post('/_understudy/sessions/mine/clock', { advance: '1m' }))
  await accepted(app.fetch('/s/mine/_understudy/scenario', { method: 'PUT', body: scenario, headers: json }))
  await accepted(app.post('/_understudy/sessions/mine/reset', ''))
  await app.fetch('/_understudy/sessions/mine', { method: 'DELETE' })
  const changes = []
  for (let index = 0; index < 5; index++) changes.push((await next())?.data)
  expect(changes.map((data) => data?.type === 'session-changed' && data.change)).toEqual([
    'created',
    'clock',
    'scenario',
    'reset',
    'deleted',
  ])
})

describe('live listener', () => {
  test('is removed when the client disconnects', async () => {
    const { client } = await listen()
    expect(observers().active).toBe(true)
    client.abort()
    expect(observers().active).toBe(false)
  })
  test('is removed when the stream is canceled', async () => {
    const { close } = await listen()
    await close()
    expect(observers().active).toBe(false)
  })
})

test('live queue of a client: is bounded when it does not read, and counts what is left out', async () => {
  const list = createObservers((error) => {
    throw error
  })
  const client = new AbortController()
  open.push(client)
  const stream = liveStream(list, { session: undefined, signal: client.signal, as: 'events' })
  const change = 'x'.repeat(100_000) as 'clock'
  for (let index = 0; index < 100; index++) list.notify({ type: 'session-changed', session: 'default', change })
  const { next } = eventsIn(stream)
  const events = []
  for (let one = await next(); one?.event !== undefined; one = await next()) {
    events.push(one)
    if (one.event === 'dropped') break
  }
  const shown = events.filter(({ event }) => event === 'session-changed').length
  expect(shown).toBeLessThan(50)
  expect(events.at(-1)?.data.count).toBe(100 - shown)
})

test('live queues of all clients: are bounded together, and readers still receive everything', async () => {
  const list = createObservers((error) => {
    throw error
  })
  const watch = () => {
    const client = new AbortController()
    open.push(client)
    return { client, stream: liveStream(list, { session: undefined, signal: client.signal, as: 'events' }) }
  }
  const before = liveSize()
  const silent = Array.from({ length: 40 }, watch)
  const { next } = eventsIn(watch().stream)
  expect((await next())?.event).toBe('ready')
  const change = 'x'.repeat(100_000) as 'clock'
  for (let index = 0; index < 60; index++) {
    list.notify({ type: 'session-changed', session: 'default', change })
    expect((await next())?.event).toBe('session-changed')
  }
  const { bytes, entries, limit } = liveSize()
  expect(entries - before.entries).toBe(41)
  expect(bytes).toBeGreaterThan(limit / 2)
  // Each may have one event more.
  expect(bytes).toBeLessThan(limit + 41 * 110_000)
  for (const { client } of silent) client.abort()
  expect(liveSize().bytes).toBeLessThan(1_000_000)
})

test('failing observer: is reported and affects neither the call nor other observers', async () => {
  const reported: unknown[] = []
  app.close()
  app = createTestApp({}, (error) => void reported.push(error))
  const seen: string[] = []
  observers().add(() => {
    throw new Error('no')
  })
  observers().add(({ type }) => void seen.push(type))
  expect((await call()).status).toBe(200)
  expect(seen).toEqual(['call-begun', 'attempt-ended', 'trace-saved'])
  expect(reported).toHaveLength(3)
})
