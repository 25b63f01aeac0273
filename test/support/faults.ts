// Calls with one fault of a scenario, and all that can be known of them afterwards: the bytes, the trace and the report.
import { expect } from 'bun:test'
import { forwardBackend } from '../../src/backends/forward/backend.ts'
import { network } from '../../src/backends/forward/transport.ts'
import { readForwarding } from '../../src/config/providers.ts'
import type { Exchange } from '../../src/contract/core/exchange.ts'
import type { StoredTrace } from '../../src/contract/core/trace.ts'
import { bytesIn } from '../../src/views/wire-text.ts'
import { createTestApp } from './app.ts'
import { at, startProvider } from './forward.ts'
import { ruleOf, startScenario } from './scenario.ts'

/** The three operations that stream, with a call of each whose answer has characters of several bytes. */
export const STREAMING: Readonly<Record<string, { path: string; body: object; streamed: object }>> = {
  'chat.completions': {
    path: '/v2/router/chat/completions',
    body: { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Grüße 👋' }] },
    streamed: { stream: true, stream_options: { include_usage: true } },
  },
  completions: {
    path: '/v2/router/completions',
    body: { model: 'openai/gpt-4o', prompt: 'Grüße 👋', max_tokens: 40 },
    streamed: { stream: true, stream_options: { include_usage: true } },
  },
  responses: {
    path: '/v2/router/responses',
    body: { model: 'openai/gpt-4o', input: 'Grüße 👋' },
    streamed: { stream: true },
  },
}

/** What a client heard, up to where the connection broke if it did. */
export interface Heard {
  status: number
  headers: Headers
  text: string
  /** As they came. */
  pieces: Uint8Array[]
  broken: Error | undefined
  /** Absent for a call without a scenario. */
  rule?: { applied: number; skipped: Record<string, number> }
  trace: StoredTrace
}

/** A fault as a scenario file has it. */
export type Fault = { type: string } & Record<string, unknown>

/** What is asked for. */
export interface Asking {
  operation?: string
  stream?: boolean
  point?: 'provider' | 'gateway'
  /** The call itself, when it is none of `STREAMING`. */
  call?: { path: string; body: object; streamed: object }
  /** What goes wrong; of several, the first acts on what the others left. */
  fault?: Fault | Fault[]
  /** More fields of the request. */
  more?: object
}

// Ids of a call are made from its ULID, and both it and the time of the answer go on with the clock; a fault may cut them short.
const PASSING = /01JG[0-9A-Z]{0,22}|17356\d{0,5}/g
const NAME = 'rehearsal'
const SESSION = `/s/${NAME}`

/** Where faults are rehearsed: on fixtures, or on a provider on loopback that answers each operation with the given bytes. */
export function rehearsal(answers?: (operation: string, stream: boolean) => string) {
  const upstream = answers && providerOf(answers)
  const section = { value: upstream ? { openai: at(upstream.url) } : {}, locationOf: () => '' }
  const { upstreams } = readForwarding({ section, backend: 'fixture', environment: {} })
  // The answers of the provider on loopback come at once, so that faults alone take time: the clock may be virtual.
  const app = createTestApp({}, undefined, { backend: upstream && forwardBackend(upstreams, network) })
  /** Whatever happens to it, the trace has the bytes of both sides as they were on the connection. */
  const expectKept = async (
    { pieces, broken, status, request }: Pick<Heard, 'pieces' | 'broken' | 'status'> & { request: object },
    id: string | undefined,
  ) => {
    const exchange = (await app.fetch(`${SESSION}/_understudy/traces/${id}/exchange`)).json() as unknown as Exchange
    const { request: asked, response, ended } = exchange
    expect(asked?.body).toEqual({ text: JSON.stringify(request) })
    const sent = Buffer.concat((response?.body ?? []).map(bytesIn))
    expect(sent.toString('base64')).toBe(Buffer.concat(pieces).toString('base64'))
    expect(ended === 'complete').toBe(broken === undefined)
    if (sent.length > 0) expect([response?.status, response?.bytes]).toEqual([status, sent.length])
  }
  return {
    app,
    /** Makes one call; every one begins the scenario anew, or ends it. */
    async hear({ operation = 'chat.completions', stream = true, point = 'provider', fault, more, call }: Asking = {}) {
      const rules = [fault ?? []].flat().map((one, index) => ({ name: `rule ${index + 1}`, at: point, fault: one }))
      if (fault) startScenario(app, NAME, { name: 'faults', rules })
      else app.understudy.runs.stop(app.understudy.sessions.get(NAME))
      const { path, body, streamed } = call ?? STREAMING[operation] ?? {}
      const request = { ...body, ...(stream && streamed), ...more }
      const response = await app.understudy.app.fetch(
        new Request(`http://localhost${SESSION}${path}`, {
          method: 'POST',
          headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
          body: JSON.stringify(request),
        }),
      )
      const { pieces, broken } = await piecesOf(response)
      const text = Buffer.concat(pieces)
        .toString()
        .replace(PASSING, (found) => found.replace(/./g, found.startsWith('0') ? 'X' : '1'))
      const told = response.headers.get('x-understudy-trace')
      const id = told ?? ((await app.fetch(`${SESSION}/_understudy/traces`)).json() as unknown as Traces).data[0]?.id
      const trace = (await app.fetch(`${SESSION}/_understudy/traces/${id}`)).json() as unknown as StoredTrace
      await expectKept({ pieces, broken, status: response.status, request }, id)
      const rule = fault && ruleOf(app, NAME, 'rule 1')
      return { status: response.status, headers: response.headers, text, pieces, broken, trace, ...(rule && { rule }) }
    },
    close() {
      app.close()
      upstream?.stop()
    },
  }
}
export type Rehearsal = ReturnType<typeof rehearsal>

type Traces = { data: { id: string }[] }

function providerOf(answers: (operation: string, stream: boolean) => string) {
  return startProvider(async (request) => {
    const { stream } = (await request.json()) as { stream?: boolean }
    const operation = new URL(request.url).pathname.slice(1).replace('/', '.')
    const headers = { 'content-type': stream ? 'text/event-stream' : 'application/json' }
    return new Response(answers(operation, stream === true), { headers })
  })
}

async function piecesOf({ body }: Response): Promise<Pick<Heard, 'pieces' | 'broken'>> {
  const pieces: Uint8Array[] = []
  try {
    for await (const piece of body ?? []) pieces.push(piece)
  } catch (error) {
    return { pieces, broken: error as Error }
  }
  return { pieces, broken: undefined }
}

/** The events of a stream as they are on the wire, the end mark included. */
export const blocksOf = (text: string): string[] => text.split(/(?<=\n\n)/)

/** Whether an event has a part of the text in it. */
export const hasContent = (block: string): boolean =>
  /"(?:content|text|delta)":"[^"]/.test(block) && !/\.done"|\.added"|response\.c/.test(block)
