// When a forwarded stream begins: at once where no other target can be tried, else with the first content.
import { afterAll, expect, test } from 'bun:test'
import { readForwarding } from '../../src/config/providers.ts'
import { createTestApp, eventsOf } from '../support/app.ts'
import { errorOf } from '../support/errors.ts'
import { at, HELLO, startProvider } from '../support/forward.ts'

const stops: (() => unknown)[] = []
afterAll(async () => {
  for (const stop of stops) await stop()
})
const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const ROLE = chunk({ role: 'assistant', content: '' })
const WORD = chunk({ content: 'word' })
const END = `${chunk({}, 'stop')}data: [DONE]\n\n`

/** An app that forwards `slow`, which sends its pieces one by one, each once it may, and `sound`, which answers at once. */
function forwarding(pieces: readonly string[]) {
  const gates = pieces.map(() => Promise.withResolvers<void>())
  const headers = { 'content-type': 'text/event-stream' }
  const slow = startProvider(() => {
    async function* body() {
      for (const [index, piece] of pieces.entries()) {
        await gates[index]?.promise
        yield piece
      }
    }
    return new Response(body() as unknown as BodyInit, { headers })
  })
  const sound = startProvider(() => new Response(ROLE + WORD + END, { headers }))
  const section = { value: { slow: at(slow.url), sound: at(sound.url) }, locationOf: () => '' }
  const rules = readForwarding({ section, backend: 'fixture', environment: {} })
  const app = createTestApp({ clock: 'real', forwarding: rules })
  stops.push(slow.stop, sound.stop, app.close)
  const call = (more: object = {}) => {
    const body = JSON.stringify({ ...HELLO, model: 'slow/m', stream: true, ...more })
    const about = { method: 'POST', body, headers: { authorization: 'Bearer any', 'content-type': 'application/json' } }
    return app.understudy.app.fetch(new Request('http://localhost/v2/router/chat/completions', about))
  }
  return { app, call, send: (...numbers: number[]) => numbers.forEach((number) => void gates[number]?.resolve()) }
}

test('forwarded stream: is passed on from its beginning, before there is content', async () => {
  const { call, send } = forwarding([ROLE, WORD, END])
  send(0)
  const response = await call()
  expect(response.status).toBe(200)
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const next = () => reader.read().then(({ value }) => new TextDecoder().decode(value))
  expect(await next()).toBe(ROLE)
  send(1)
  expect(await next()).toBe(WORD)
  send(2)
})

test('forwarded stream: reports later failures inside the stream', async () => {
  const { app, call, send } = forwarding([ROLE, ''])
  send(0, 1)
  const response = await call()
  const events = eventsOf(await response.text())
  expect(events).toHaveLength(2)
  expect(errorOf(JSON.stringify(events[1]), 502).code).toBe('provider_disconnected')
  const [trace] = app.understudy.sessions.get('default').traces.list({ limit: 1 }).data
  expect(trace).toMatchObject({ outcome: 'disconnected', attempts: [{ outcome: 'disconnected' }] })
})

test.each([
  ['another target', { fallbacks: [{ model: 'sound/m' }] }, 'sound/m'],
  ['a timeout', { timeout: { call_timeout: 60_000 }, fallbacks: [{ model: 'sound/m' }] }, 'sound/m'],
])('forwarded stream with %s: falls back when an attempt ends before its content', async (_, more, model) => {
  const { call, send } = forwarding([ROLE, ''])
  send(0, 1)
  const response = await call(more)
  expect(response.headers.get('x-understudy-model')).toBe(model)
  expect(await response.text()).toContain('word')
})

const REFUSAL = `data: ${JSON.stringify({ error: { message: 'no', code: 'server_error' } })}\n\n`
test.each([
  ['a timeout and no other target', { timeout: { call_timeout: 60_000 } }, ROLE],
  ['a refusal as its first event', {}, REFUSAL],
])('forwarded stream with %s: is an error when an attempt fails before its content', async (_, more: object, first) => {
  const { call, send } = forwarding([first, ''])
  send(0, 1)
  const response = await call(more)
  expect(response.status).toBe(502)
})
