// Every call has one end: whatever fails in it, even by an internal error, it leaves a trace, the error is reported once, and the client
// receives it.
import { afterEach, describe, expect, test } from 'bun:test'
import type { Backend } from '../../src/contract/core/backend.ts'
import type { Reply } from '../../src/contract/core/reply.ts'
import { dataEvent, StreamEvent } from '../../src/lib/sse.ts'
import { createTestApp, eventsOf, type TestApp } from '../support/app.ts'
import { CHAT } from '../support/chat.ts'
import { errorOf } from '../support/errors.ts'
import { ROLE, STOP, said } from '../support/scripted.ts'

const open: TestApp[] = []
afterEach(() => {
  for (const app of open.splice(0)) app.close()
})

const BUG = 'Understudy failed at this call, which is a bug in it; its output says more'
const NOTHING = { status: 200, headers: {}, usage: null, fixture: null, generated: false }
/** A stream of these events; what cannot be made is thrown. */
const streaming = (...items: (StreamEvent | (() => StreamEvent))[]): Reply => ({
  ...NOTHING,
  body: {
    kind: 'events',
    events: (async function* () {
      for (const item of items) {
        yield [typeof item === 'function' ? item() : item]
      }
    })(),
  },
})
const eventOf = (text: string, tokens = 0): StreamEvent => {
  const json = text.replace(/^data: /, '').trim()
  return new StreamEvent(json, { tokens })
}
const role = eventOf(ROLE)
const hello = eventOf(said('Hello'), 1)
const stop = eventOf(STOP)
/** An event that is well on the wire, and whose data cannot be looked at. */
const poisoned = (): StreamEvent =>
  new StreamEvent(hello.text, hello, {
    get choices(): never {
      throw new TypeError('nobody thought of this')
    },
  })
/** A stream that fails at this place. */
const failing = (): never => {
  throw new TypeError('nobody thought of this')
}

/** An application over a backend that answers so, and what it reports. */
function appOver(answer: Backend['answer']) {
  const reported: unknown[] = []
  const app = createTestApp({}, (error) => void reported.push(error), { backend: { answer } })
  open.push(app)
  const ask = (more: object = {}) =>
    app.post(CHAT, { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hello' }], ...more })
  return { ...app, ask, reported }
}
const play = (app: TestApp, rule: object) =>
  app.fetch('/_understudy/scenario', {
    method: 'PUT',
    body: JSON.stringify({ name: 'bad-day', rules: [{ name: 'rule', ...rule }] }),
    headers: { 'content-type': 'application/json' },
  })

describe('internal error', () => {
  test('before a response is a 500 without further attempts', async () => {
    let calls = 0
    const app = appOver(async () => {
      calls++
      throw new TypeError('nobody thought of this')
    })
    const answer = await app.ask({ retry: { count: 3, on_codes: [500] }, fallbacks: [{ model: 'groq/b' }] })
    expect(errorOf(answer.text, 500)).toMatchObject({ message: BUG, code: 'internal_error' })
    expect(await app.traceOf(answer)).toMatchObject({
      outcome: 'internal_error',
      status: 500,
      error: { code: 'internal_error', message: 'TypeError: nobody thought of this' },
      attempts: [{ outcome: 'internal_error', status: 500 }],
    })
    expect(app.reported).toEqual([new TypeError('nobody thought of this')])
    expect(calls).toBe(1)
  })

  test('outside of every attempt is reported once', async () => {
    const app = appOver(async () => ({ ...NOTHING, body: { kind: 'value', value: { choices: [] } } }))
    const session = app.understudy.sessions.get('default')
    const bug = new TypeError('nobody thought of this')
    const keyValues = Object.assign(Object.create(session.keyValues), {
      get() {
        throw bug
      },
    })
    Object.defineProperty(session, 'keyValues', { get: () => keyValues })
    const answer = await app.ask({ cache: { type: 'exact_match', ttl: 60 } })
    expect(errorOf(answer.text, 500).message).toBe(BUG)
    expect(app.reported).toEqual([bug])
  })

  test('inside a stream sends an error event and no end mark instead of dropping the connection', async () => {
    const app = appOver(async () => streaming(role, hello, failing))
    const answer = await app.ask({ stream: true })
    expect(answer.status).toBe(200)
    const events = eventsOf(answer.text)
    expect(errorOf(JSON.stringify(events.at(-1)), 500).message).toBe(BUG)
    expect(events).toHaveLength(3)
    expect(await app.traceOf(answer)).toMatchObject({
      outcome: 'internal_error',
      status: 200,
      error: { code: 'internal_error', message: 'TypeError: nobody thought of this' },
      attempts: [{ outcome: 'internal_error', error: 'TypeError: nobody thought of this' }],
      response: { choices: [{ message: { content: 'Hello' } }] },
    })
    expect(app.reported).toEqual([new TypeError('nobody thought of this')])
  })

  test('in writing an event replaces that event by an error', async () => {
    const unspeakable = () => dataEvent({ choices: [{ index: 0, delta: { content: 5n } }] }, { tokens: 1 })
    const app = appOver(async () => streaming(role, hello, unspeakable, stop))
    const answer = await app.ask({ stream: true })
    const events = eventsOf(answer.text)
    expect(errorOf(JSON.stringify(events.at(-1)), 500).message).toBe(BUG)
    expect(events).toHaveLength(3)
    expect(await app.traceOf(answer)).toMatchObject({
      outcome: 'internal_error',
      attempts: [{ outcome: 'internal_error' }],
    })
    expect(app.reported.length).toBeGreaterThan(0)
  })

  test('in building the trace loses neither the trace nor the response', async () => {
    const app = appOver(async () => streaming(role, poisoned(), stop))
    const answer = await app.ask({ stream: true })
    expect(answer.text).toEndWith('data: [DONE]\n\n')
    expect(await app.traceOf(answer)).toMatchObject({
      outcome: 'succeeded',
      response: null,
      error: { code: 'internal_error', message: 'TypeError: nobody thought of this' },
    })
    expect(app.reported).toEqual([new TypeError('nobody thought of this')])
  })

  test.each(['provider', 'gateway'])('in a fault at the %s is reported inside the stream', async (at) => {
    const app = appOver(async () => streaming(role, poisoned(), stop))
    await play(app, { at, fault: { type: 'missing-finish' } })
    const answer = await app.ask({ stream: true })
    expect(errorOf(JSON.stringify(eventsOf(answer.text).at(-1)), 500).message).toBe(BUG)
    const { data } = (await app.fetch('/_understudy/traces')).json() as { data: object[] }
    expect(data).toMatchObject([{ outcome: 'internal_error', error: { message: 'TypeError: nobody thought of this' } }])
    expect(app.reported.length).toBeGreaterThan(0)
  })
})

test('attempt: ends at its timeout even if its backend never does', async () => {
  const app = appOver(() => new Promise(() => {}))
  const answer = await app.ask({ timeout: { call_timeout: 500 } })
  expect(errorOf(answer.text, 504).code).toBe('timeout')
  expect(await app.traceOf(answer)).toMatchObject({
    outcome: 'timed_out',
    duration_ms: 500,
    attempts: [{ outcome: 'timed_out', duration_ms: 500 }],
  })
})

describe('call whose trace cannot be stored', () => {
  const full = new Error('the disk is full')
  const appWithoutRoom = () => {
    const app = appOver(async ({ stream }) =>
      stream ? streaming(role, hello, stop) : { ...NOTHING, body: { kind: 'value', value: { choices: [] } } },
    )
    const session = app.understudy.sessions.get('default')
    const traces = Object.assign(Object.create(session.traces), { record: () => Promise.reject(full) })
    Object.defineProperty(session, 'traces', { get: () => traces })
    return app
  }

  test('is not answered as successful', async () => {
    const app = appWithoutRoom()
    expect(errorOf((await app.ask()).text, 500).message).toBe(BUG)
    expect(app.reported).toEqual([full])
  })

  test('ends its stream with an error instead of the end mark', async () => {
    const app = appWithoutRoom()
    const answer = await app.ask({ stream: true })
    expect(errorOf(JSON.stringify(eventsOf(answer.text).at(-1)), 500).message).toBe(BUG)
    expect(app.reported).toEqual([full])
  })
})

test('trace: records what a gateway fault did to the response', async () => {
  const app = appOver(async () => streaming(role, hello, hello, stop))
  await play(app, { at: 'gateway', fault: { type: 'stream-error', after_chunks: 2, status: 503 } })
  const cut = await app.ask({ stream: true })
  expect(await app.traceOf(cut)).toMatchObject({ outcome: 'disconnected', faults: ['rule'] })
  await play(app, { at: 'gateway', fault: { type: 'content-filter', as: 'error' } })
  const refused = await app.ask()
  expect(await app.traceOf(refused)).toMatchObject({ outcome: 'http_error', status: refused.status, faults: ['rule'] })
})
