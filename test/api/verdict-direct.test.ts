// The verdict on responses that some correct clients read and others reject, and on streams that a client left when it
// had everything.
import { afterAll, describe, expect, spyOn, test } from 'bun:test'
import type { TraceRecord } from '../../src/contract/core/trace.ts'
import { nextTurn } from '../../src/lib/bare-socket.ts'
import { realClock } from '../../src/lib/clock.ts'
import { createTestApp } from '../support/app.ts'

const app = createTestApp({ skip_latency: false })
afterAll(app.close)

const messages = [{ role: 'user', content: 'Tell me a story' }]
const CALLS = {
  chat: ['/v1/chat/completions', { model: 'gpt-4o', messages }],
  completions: ['/v1/completions', { model: 'gpt-3.5-turbo-instruct', prompt: 'Tell me a story' }],
  responses: ['/v1/responses', { model: 'gpt-4o', input: 'Tell me a story' }],
  messages: ['/v1/messages', { model: 'claude-sonnet-4', max_tokens: 60, messages }],
} as const satisfies Record<string, [string, object]>
const apis = Object.keys(CALLS) as (keyof typeof CALLS)[]
const WRONG_TYPE = { type: 'wrong-content-type' }
const CUT_ONCE = { type: 'cut-stream', after_fraction: 0.5, calls: 1 }

let sessions = 0
/** A new session under the given faults, each in all calls or in those of its position. */
async function sessionWith(...faults: { type: string; calls?: number; [option: string]: unknown }[]) {
  const session = `/s/direct-${++sessions}`
  const rules = faults.map(({ calls, ...fault }, index) => ({ name: `rule ${index + 1}`, when: { calls }, fault }))
  const body = JSON.stringify({ name: 'faults', clock: 'virtual', rules })
  expect((await app.fetch(`${session}/_understudy/scenario`, { method: 'PUT', body })).status).toBe(200)
  const send = (api: keyof typeof CALLS, stream: boolean, signal?: AbortSignal, more?: object): Promise<Response> => {
    const [path, request] = CALLS[api]
    const headers = { authorization: 'Bearer any', 'content-type': 'application/json' }
    const init = {
      method: 'POST',
      headers,
      body: JSON.stringify({ ...request, ...more, stream }),
      ...(signal && { signal }),
    }
    return app.understudy.app.fetch(new Request(`http://localhost${session}${path}`, init))
  }
  const verdict = async () => {
    const { findings, verdict } = (await app.fetch(`${session}/_understudy/verify?ended=well&wait=5s`)).json() as {
      findings: { kind: string; severity: string }[]
      verdict: string
    }
    const found = findings.map(({ kind, severity }) => `${kind} ${severity}`)
    return { verdict, findings: found, outcomes: await outcomes() }
  }
  const outcomes = async () => {
    const { data } = (await app.fetch(`${session}/_understudy/traces`)).json() as { data: TraceRecord[] }
    return data.map(({ outcome }) => outcome)
  }
  return { send, verdict, outcomes }
}

const forms = apis.flatMap((api) => ([false, true] as const).map((stream) => [api, stream] as const))
describe('response with another content type', () => {
  test.each(forms)(
    'of %s (stream: %p) is not reported, since clients that parse it have all of it',
    async (api, stream) => {
      const { send, verdict } = await sessionWith(WRONG_TYPE)
      await (await send(api, stream)).text()
      expect(await verdict()).toEqual({ verdict: 'pass', findings: [], outcomes: ['invalid_response'] })
    },
  )

  test.each(forms)('of %s (stream: %p) need not, but may be requested again', async (api, stream) => {
    const { send, verdict } = await sessionWith(WRONG_TYPE)
    for (let count = 0; count < 3; count++) await (await send(api, stream)).text()
    expect((await verdict()).findings).toEqual([])
  })

  test.each(apis)('of %s that no client can read is given up', async (api) => {
    const { send, verdict } = await sessionWith(WRONG_TYPE, { type: 'malformed-json' })
    await (await send(api, false)).text()
    expect(await verdict()).toEqual({ verdict: 'fail', findings: ['gave-up error'], outcomes: ['invalid_response'] })
  })

  test.each(apis)('of %s that is cut in the middle is incomplete', async (api) => {
    const { send, verdict } = await sessionWith(WRONG_TYPE, { type: 'cut-stream', after_chunks: 3, close: 'clean' })
    await (await send(api, true)).text()
    expect((await verdict()).findings).toEqual(['swallowed error'])
  })
})

/** The event with the finish reason, after which a client needs nothing more. */
const FINISH = { chat: /"finish_reason":"\w/, completions: /"finish_reason":"\w/, messages: /"stop_reason":"\w/ }
describe('stream that its client leaves', () => {
  const leave = async (api: keyof typeof FINISH, seen: RegExp, more?: object) => {
    const { send, verdict } = await sessionWith({ type: 'keep-alive-comments', interval: '3ms' })
    const left = new AbortController()
    const { body } = await send(api, true, left.signal, more)
    const reader = (body as ReadableStream<Uint8Array>).getReader()
    let text = ''
    while (!seen.test(text)) {
      const { done, value } = await reader.read()
      expect(done).toBe(false)
      text += new TextDecoder().decode(value)
    }
    left.abort()
    await reader.cancel().catch(() => {})
    return verdict()
  }
  test.each(['chat', 'completions', 'messages'] as const)('of %s after the finish reason is complete', async (api) => {
    expect(await leave(api, FINISH[api])).toEqual({ verdict: 'pass', findings: [], outcomes: ['canceled'] })
  })
  test.each(['chat', 'completions', 'messages'] as const)('of %s before it is not', async (api) => {
    expect(await leave(api, / generated/)).toMatchObject({ findings: ['swallowed warning'], outcomes: ['canceled'] })
  })
  test('through the gateway is judged in the same way', async () => {
    const gateway = { retry: { count: 1 } }
    expect((await leave('chat', FINISH.chat, gateway)).findings).toEqual([])
    expect((await leave('chat', / generated/, gateway)).findings).toEqual(['swallowed warning'])
  })
})

describe('call that arrives before the connection of a broken one has ended', () => {
  test.each(apis)('of %s is no retry', async (api) => {
    const { send, verdict, outcomes } = await sessionWith(CUT_ONCE)
    // A busy machine may take longer than the pause.
    const clock = spyOn(realClock, 'now').mockReturnValue(realClock.now())
    const broken = (await send(api, false)).text().catch(() => 'broken')
    while ((await outcomes()).length === 0) await nextTurn()
    expect((await (await send(api, false)).text()).length).toBeGreaterThan(0)
    expect(await broken).toBe('broken')
    clock.mockRestore()
    expect(await verdict()).toMatchObject({ findings: ['gave-up error'], outcomes: ['succeeded', 'disconnected'] })
  })

  test.each(apis)('of %s is a retry afterwards', async (api) => {
    const { send, verdict } = await sessionWith(CUT_ONCE)
    expect(await (await send(api, false)).text().catch(() => 'broken')).toBe('broken')
    await (await send(api, false)).text()
    expect(await verdict()).toMatchObject({ findings: [], outcomes: ['succeeded', 'disconnected'] })
  })
})
