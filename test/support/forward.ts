// A real HTTP server in the place of a provider, and attempts made against it.

import { forwardBackend } from '../../src/backends/forward/backend.ts'
import { network } from '../../src/backends/forward/transport.ts'
import { readForwarding } from '../../src/config/providers.ts'
import type { BackendCall } from '../../src/contract/core/backend.ts'
import type { Operation } from '../../src/contract/core/operation.ts'
import type { Reply } from '../../src/contract/core/reply.ts'
import { allOperations } from '../../src/endpoints/index.ts'
import { streamBytes } from '../../src/faults/wire.ts'
import { byteChunks } from '../../src/lib/byte-stream.ts'
import type { StreamEvent } from '../../src/lib/sse.ts'
import { VIRTUAL_START, virtualClock } from '../../src/lib/virtual-clock.ts'

const operations = allOperations()

/** The key that every provider of these tests has; it must never come out again. */
export const KEY = 'sk-a-secret-of-the-tests'

/** A provider as the settings file has it. */
export interface ProviderEntry {
  kind?: string
  base_url?: string
  api_key?: string
  backend?: string
}

/** A backend over providers as the settings file has them; each has the key unless told otherwise. */
export function backendOf(providers: Record<string, ProviderEntry>, environment: Record<string, string> = {}) {
  const section = { value: providers, locationOf: () => 'understudy.yaml:1' }
  const { upstreams } = readForwarding({ section, backend: 'fixture', environment })
  return forwardBackend(upstreams, network)
}
/** A provider that is forwarded to at an address. */
export const at = (base_url: string, more: ProviderEntry = {}): ProviderEntry => ({
  base_url,
  api_key: KEY,
  backend: 'forward',
  ...more,
})

/** An operation by name; what is not built has its path and form alone, which is all that forwarding asks of it. */
export function operationOf(name: string): Operation {
  const found = operations.find((operation) => operation.name === name)
  const path = `/v2/router/${name.replace('.', '/')}`
  const body = name === 'audio.translations' ? 'multipart' : 'json'
  return found ?? ({ name, path, body, promptTokens: () => 7 } as unknown as Operation)
}

export const HELLO = { messages: [{ role: 'user', content: 'Hello!' }] }

/** An attempt; a chat completion unless told otherwise. The body is parsed where the operation is built. */
export function attempt(
  model: string,
  body: object = HELLO,
  { operation = operationOf('chat.completions'), signal = new AbortController().signal } = {},
): BackendCall {
  const given = { ...body, model }
  const request = 'request' in operation ? operation.request.parse(given) : given
  const kept = { get: () => undefined, put: async () => {} }
  return {
    session: 'default',
    operation,
    request,
    model,
    stream: (body as { stream?: boolean }).stream === true,
    prompt: { system: '', user: '', turn: 1, tools: [], toolResult: false },
    answerContext: {
      id: '01JGFJJZ00TESTTESTTESTTEST',
      now: VIRTUAL_START,
      secret: '',
      keyValues: kept,
      workspace: () => '',
      signal: new AbortController().signal,
      publicUrl: (path) => path,
    },
    clock: virtualClock(),
    signal,
    sequences: { next: () => 0 },
    conversation: () => '',
  }
}

/** The bytes of a reply as text, as who reads them has them. */
export function textIn(reply: Reply): Promise<string> {
  const { body } = reply
  if (body.kind !== 'bytes') throw new Error(`the body is ${body.kind}, not bytes: ${JSON.stringify(body)}`)
  return new Response(streamBytes(reply).bytes as BodyInit).text()
}

/** Reads a streamed reply piece by piece. */
export function readerOf({ body }: Reply) {
  if (body.kind !== 'bytes' || body.bytes instanceof Uint8Array) throw new Error('the body is no stream')
  const pieces = byteChunks(body.bytes)
  return {
    /** The next piece as text; undefined at the end. */
    next: () => pieces.next().then(({ value }) => value && new TextDecoder().decode(value)),
    cancel: () => pieces.return?.(),
  }
}

/** The value of a reply. */
export function valueIn<T>({ body }: Reply): T {
  if (body.kind !== 'value') throw new Error(`the body is ${body.kind}, not a value`)
  return body.value as T
}

/** All events of a reply. */
export async function eventsIn({ body }: Reply): Promise<StreamEvent[]> {
  if (body.kind !== 'events') throw new Error(`the body is ${body.kind}, not events: ${JSON.stringify(body)}`)
  const events: StreamEvent[] = []
  for await (const batch of body.events) events.push(...batch)
  return events
}

/** A request that reached the provider. */
export interface Seen {
  method: string
  path: string
  headers: Record<string, string>
  bytes: Uint8Array<ArrayBuffer>
  text: string
}

/** A provider on loopback that answers as it is told and remembers what came. */
export function startProvider(answer: (request: Request) => Response | Promise<Response>) {
  const seen: Seen[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      const bytes = await request.clone().bytes()
      seen.push({
        method: request.method,
        path: pathname + search,
        headers: Object.fromEntries(request.headers),
        bytes,
        text: new TextDecoder().decode(bytes),
      })
      return answer(request)
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    seen,
    last() {
      const last = seen.at(-1)
      if (!last) throw new Error('no request came')
      return last
    },
    /** The JSON of the last request. */
    lastJson: () => JSON.parse(seen.at(-1)?.text ?? 'null') as Record<string, unknown>,
    stop: () => server.stop(true),
  }
}

/** A TCP server that writes these bytes for a request and then resets the connection. */
export function startBreaking(bytes: string) {
  const data = (socket: Bun.Socket) => {
    socket.write(bytes)
    socket.flush()
    // Half closed first, so that what was written is sent before the connection goes.
    socket.end()
  }
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data } })
  return { url: `http://127.0.0.1:${listener.port}`, stop: () => listener.stop(true) }
}
