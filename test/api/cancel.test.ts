// A client that disconnects cancels everything: the attempt is aborted down to the provider, no other is made, and the trace says so.
import { afterAll, describe, expect, test } from 'bun:test'
import { readForwarding } from '../../src/config/providers.ts'
import type { StoredTrace } from '../../src/contract/core/trace.ts'
import { createTestApp } from '../support/app.ts'
import { at, startProvider } from '../support/forward.ts'
import {
  A,
  after,
  attemptsOf,
  B,
  chunk,
  closeScripted,
  createScripted,
  FORMS,
  hangs,
  ROLE,
  refuses,
  type ScriptedApp,
  type Step,
  said,
  says,
  streams,
} from '../support/scripted.ts'

const stops: (() => unknown)[] = []
afterAll(async () => {
  closeScripted()
  for (const stop of stops) await stop()
})
const CHAT = '/v2/router/chat/completions'
const request = (body: object) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', authorization: 'Bearer any' },
  body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello!' }], ...body }),
})

describe.each(FORMS)('in-process cancellation, %s', (_, stream) => {
  const everything = { stream, retry: { count: 5, on_codes: [503] }, fallbacks: [{ model: B }] }
  /** Makes a call whose client goes when so much of the session's time has passed. */
  const leave = (app: ScriptedApp, ms: number) => {
    const client = new AbortController()
    const clock = app.understudy.sessions.get('default').clock
    const leaving = clock.sleep(ms).then(() => client.abort())
    const answer = app.fetch(CHAT, { ...request({ model: A, ...everything }), signal: client.signal })
    return Promise.all([answer, leaving]).then(([answer]) => answer)
  }

  test.each<[when: string, script: Record<string, Step[]>, ms: number, attempts: string[]]>([
    ['while waiting for the response', { [A]: [hangs] }, 100, [`${A} 1 first canceled 499`]],
    [
      'while a retry is pending',
      { [A]: [refuses(503, { 'retry-after': '50' })] },
      100,
      [`${A} 1 first http_error 503`],
    ],
    [
      'during a retry',
      { [A]: [refuses(503, { 'retry-after': '1' }), hangs] },
      1500,
      [`${A} 1 first http_error 503`, `${A} 2 retry canceled 499`],
    ],
    [
      'during a fallback',
      { [A]: [after(10, refuses(500))], [B]: [hangs] },
      100,
      [`${A} 1 first http_error 500`, `${B} 1 fallback canceled 499`],
    ],
  ])('%s: makes no further attempt', async (_, script, ms, attempts) => {
    const app = createScripted(script)
    const answer = await leave(app, ms)
    expect(await attemptsOf(app, answer)).toEqual(attempts)
    const trace = await app.traceOf(answer)
    expect(trace).toMatchObject({
      outcome: 'canceled',
      status: 499,
      duration_ms: ms,
      response: null,
      error: { code: 'client_gone' },
    })
    expect(app.reached).toHaveLength(attempts.length)
    expect(app.reached.at(-1)?.signal.aborted).toBe(true)
  })

  test('records the call as canceled when the client left before it began', async () => {
    const app = createScripted({ [A]: [says('To nobody.')] })
    const answer = await app.fetch(CHAT, { ...request({ model: A, stream: true }), signal: AbortSignal.abort() })
    expect((await app.traceOf(answer)).outcome).toBe('canceled')
  })
})

test('abandoned stream: is aborted, and the trace contains what was received', async () => {
  const endless = streams(ROLE, said('One '), 100, said('two '), Number.POSITIVE_INFINITY)
  const app = createScripted({ [A]: [endless, says('Not stored.')] })
  const client = new AbortController()
  const clock = app.understudy.sessions.get('default').clock
  const leaving = clock.sleep(500).then(() => client.abort())
  const cache = { type: 'exact_match' }
  const answer = await app.fetch(CHAT, { ...request({ model: A, stream: true, cache }), signal: client.signal })
  await leaving
  expect(answer.text).not.toContain('[DONE]')
  expect(app.reached[0]?.signal.aborted).toBe(true)
  const trace = await app.traceOf(answer)
  expect(trace).toMatchObject({ outcome: 'canceled', status: 200, duration_ms: 500, error: { code: 'client_gone' } })
  expect(trace.attempts).toMatchObject([{ outcome: 'canceled', duration_ms: 500, first_content_ms: 0 }])
  expect(trace.response).toMatchObject({ choices: [{ message: { content: 'One two ' } }] })
  expect((await app.ask({ cache, model: A })).headers.get('x-understudy-cache')).toBe('miss')
})

describe('cancellation over real connections while forwarding', () => {
  /** A provider that answers as it is told, and says when a call came and when it was dropped. */
  const provider = (answer: (request: Request) => Response | Promise<Response>) => {
    const arrived = Promise.withResolvers<void>()
    const dropped = Promise.withResolvers<void>()
    const started = startProvider((request) => {
      request.signal.addEventListener('abort', () => dropped.resolve())
      arrived.resolve()
      return answer(request)
    })
    stops.push(started.stop)
    return { ...started, arrived: arrived.promise, dropped: dropped.promise }
  }
  /** Understudy on a port of its own, in front of a provider. */
  const serve = (url: string) => {
    const section = { value: { mine: at(url) }, locationOf: () => '' }
    const forwarding = readForwarding({ section, backend: 'fixture', environment: {} })
    const app = createTestApp({ clock: 'real', forwarding })
    const server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      idleTimeout: 0,
      fetch: (request) => app.understudy.app.fetch(request),
    })
    stops.push(() => server.stop(true), app.close)
    return `http://127.0.0.1:${server.port}`
  }
  /** The trace of the only call, once there is one. */
  const onlyTrace = async (url: string): Promise<StoredTrace> => {
    for (;;) {
      const { data } = (await (await fetch(`${url}/_understudy/traces`)).json()) as { data: StoredTrace[] }
      if (data[0]) return data[0]
    }
  }
  const never = () => new Promise<Response>(() => {})
  /** A stream that says one thing and then nothing more. */
  const begun = () => {
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(`${ROLE}${chunk({ content: 'One' })}`),
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }

  test.each(FORMS)('%s: reaches the provider', async (_, stream) => {
    const { url, arrived, dropped, seen } = provider(never)
    const server = serve(url)
    const client = new AbortController()
    const body = { model: 'mine/m', stream, retry: { count: 5 }, fallbacks: [{ model: 'mine/n' }] }
    const answer = fetch(server + CHAT, { ...request(body), signal: client.signal })
    await arrived
    client.abort()
    await expect(answer).rejects.toThrow()
    await dropped
    expect(await onlyTrace(server)).toMatchObject({ outcome: 'canceled', attempts: [{ outcome: 'canceled' }] })
    expect(seen).toHaveLength(1)
  })

  test.each([
    ['', ''],
    [' in a session of its own', '/s/own'],
  ])('reaches the provider in the middle of a stream%s', async (_, prefix) => {
    const { url, dropped, seen } = provider(begun)
    const server = serve(url)
    const client = new AbortController()
    const body = { model: 'mine/m', stream: true, retry: { count: 5 } }
    const answer = await fetch(server + prefix + CHAT, { ...request(body), signal: client.signal })
    const { value } = (await answer.body?.getReader().read()) ?? {}
    expect(new TextDecoder().decode(value)).toContain('One')
    client.abort()
    await dropped
    const trace = await onlyTrace(server + prefix)
    expect(trace).toMatchObject({ outcome: 'canceled', status: 200, attempts: [{ outcome: 'canceled' }] })
    expect(seen).toHaveLength(1)
  })
})
