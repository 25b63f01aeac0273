// What the tests of model responses share: an application with their fixtures, and readers that hold answers to the strict shapes.
import { expect } from 'bun:test'
import { join } from 'node:path'
import { callerOf } from '../../src/access.ts'
import { fixtureBackend } from '../../src/backends/fixture/backend.ts'
import { fixedFixtures, fixturesInForce } from '../../src/backends/fixture/in-force.ts'
import type { Backend } from '../../src/contract/core/backend.ts'
import { ApiError } from '../../src/contract/core/error.ts'
import type { Operation } from '../../src/contract/core/operation.ts'
import { ModelResponse } from '../../src/contract/router/responses-answer.ts'
import { responses } from '../../src/endpoints/responses.ts'
import { createGateway } from '../../src/gateway/handle.ts'
import type { EventBatch, EventStream } from '../../src/lib/sse.ts'
import { createObservers } from '../../src/observers/list.ts'
import { providerNames } from '../../src/providers/names.ts'
import { createRuns } from '../../src/scenarios/runs.ts'
import { type Answer, createTestApp, eventsOf, type TestApp } from './app.ts'
import { StrictResponse } from './strict/responses.ts'

export const PATH = '/v2/router/responses'
export const model = 'openai/gpt-4o'
export const fixtures = [join(import.meta.dir, 'fixtures/responses.yaml')]
export const weather = {
  type: 'function',
  name: 'get_weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

export type Body = Record<string, unknown>
export const user = (content: unknown) => ({ role: 'user', content })
export const call = { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"city":"Utrecht"}' }
export const result = { type: 'function_call_output', call_id: 'call_1', output: '17 degrees' }

/** A whole answer, as both the strict client and our own schema read it. */
export function whole(answer: Answer): ModelResponse {
  expect(answer.text).toStartWith('{"id":"resp_')
  expect(answer.status).toBe(200)
  StrictResponse.parse(answer.json())
  return ModelResponse.parse(answer.json())
}

export type Event = { type: string; sequence_number: number }
/** The events of a stream that ended well. */
export function readEvents(answer: Answer): Event[] {
  const events = eventsOf(answer.text)
  expect(events.pop()).toBe('[DONE]')
  return events as Event[]
}
/** The response in the last event of a stream. */
export const lastResponse = (answer: Answer) =>
  (readEvents(answer).at(-1) as unknown as { response: ModelResponse }).response

/** An application with the fixtures of model responses. */
export function responsesApp(settings: Parameters<typeof createTestApp>[0] = {}) {
  const app = createTestApp({ fixtures, ...settings })
  const ask = (body: Body, headers?: Record<string, string>) => app.post(PATH, { model, ...body }, headers)
  const answerTo = async (body: Body, headers?: Record<string, string>) => whole(await ask(body, headers))
  /** The application as the `fetch` of a client library. */
  const fetch = (url: string | URL | Request, init?: RequestInit) => app.understudy.app.fetch(new Request(url, init))
  return { ...app, ask, answerTo, clientFetch: fetch as typeof globalThis.fetch }
}

/** A `fetch` that this backend answers, through the gateway. */
export function fetchFrom(backend: Backend, { understudy }: TestApp): typeof globalThis.fetch {
  const raise = (error: unknown) => {
    throw error
  }
  const gateway = createGateway({
    backend,
    guardrails: { ids: () => [], find: async () => undefined },
    knowledge: {
      search: async () => ({ search_type: 'hybrid_search', chunks: [{ id: '1', score: 1, text: 'Be brief.' }] }),
    },
    runs: createRuns([], { overrides: {}, notice: () => {} }),
    people: { meet: async () => {} },
    clientTimeout: 60_000,
    report: raise,
    observers: createObservers(raise),
    providers: providerNames([]),
    history: { mode: 'strict', overrides: false },
  })
  const fetch = async (url: string | URL | Request, init?: RequestInit) => {
    const request = new Request(url, init)
    const text = await request.text()
    const session = understudy.sessions.get('default')
    const parse = () => responses.request.parse(JSON.parse(text))
    const operation = responses as Operation
    const { url: address, headers, signal } = request
    const caller = () => callerOf(undefined, { tokens: {} })
    return gateway.handle({
      operation,
      session,
      caller,
      text,
      retained: true,
      url: address,
      headers,
      signal,
      get aborted() {
        return signal.aborted
      },
      parse,
      parseInSlices: async () => parse(),
    })
  }
  return fetch as typeof globalThis.fetch
}

/** A `fetch` whose streams break off after some events, with an error that the provider is overloaded. */
export function breakingFetch(app: TestApp, after: number): typeof globalThis.fetch {
  const whole = fixtureBackend(fixturesInForce({ files: fixedFixtures([]), shipped: [] }), 'generate')
  async function* broken(events: EventStream): AsyncGenerator<EventBatch> {
    let left = after
    for await (const batch of events)
      for (const event of batch) {
        if (left-- === 0) throw new ApiError(503, 'overloaded', 'the provider is overloaded')
        yield [event]
      }
  }
  const answer: Backend['answer'] = async (call) => {
    const reply = await whole.answer(call)
    if (reply.body.kind !== 'events') return reply
    return { ...reply, body: { kind: 'events', events: broken(reply.body.events) } }
  }
  return fetchFrom({ answer }, app)
}
