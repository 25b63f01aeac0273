// Tells the client: an answer as a reply that records its own end, and a reply put on the wire.
import { STATUS_CODES } from 'node:http'
import type { Connection } from '../contract/connection.ts'
import { envelope } from '../contract/error.ts'
import { type BytesBody, ConnectionFailure, type Reply } from '../contract/reply.ts'
import { nextTurn } from '../lib/bare-socket.ts'
import { DONE_EVENT, encodeEvent, type StreamEvent } from '../lib/sse.ts'
import type { Answer, Running } from './attempt.ts'
import { storing } from './cache.ts'
import { CLIENT_GONE, errorOf, type Failure, failureOf } from './outcome.ts'

/** What goes with an answer: where it is stored when it is to be. */
export interface Telling {
  running: Running
  cacheKey: string | undefined
}

/** The reply that a client gets; its trace is committed before the answer's last byte is given out. */
export async function tell(answer: Answer, telling: Telling): Promise<Reply> {
  const { recording } = telling.running
  const { content, from } = answer
  recording.answered(answer)
  const headers = { ...recording.headers(), ...from.headers }
  const reply = { ...from, headers, status: 200 }
  if (content.kind === 'stream') {
    return { ...reply, body: { kind: 'events', events: told(content.events, answer, telling), marked: true } }
  }
  const { value, text = JSON.stringify(value) } = content
  await recording.end({ answer, text, ...leftBy(answer, value, telling) })
  return { ...reply, body: { kind: 'value', value, text } }
}

type Usage = Record<string, unknown> | null

/** What a complete answer leaves for later calls, and the token counts that it says itself. */
function leftBy(answer: Answer, value: unknown, { running, cacheKey }: Telling) {
  const { operation, request, making } = running
  // A text, such as subtitles, leaves nothing.
  if (typeof value !== 'object' || value === null) return { usage: answer.from.usage }
  const usage = ('usage' in value ? (value.usage as Usage) : null) ?? answer.from.usage
  const keep = [...(operation.keep?.(request, value, making) ?? [])]
  const fresh = answer.attempt !== undefined
  if (cacheKey !== undefined && fresh) {
    // A streamed answer says its usage only when asked; a whole one says what it has to.
    const stored = usage && running.stream && !('usage' in value) ? { ...value, usage } : value
    keep.push(storing(running, cacheKey, { answer: stored, model: answer.model, usage }))
  }
  return { usage: answer.from.usage ?? usage, keep }
}

/** The events that a client gets, the end mark included; a failure becomes an event and leaves out the mark. */
async function* told(
  events: Iterable<StreamEvent> | AsyncIterable<StreamEvent>,
  answer: Answer,
  telling: Telling,
): AsyncGenerator<StreamEvent> {
  const { operation, signal, recording } = telling.running
  const sent: StreamEvent[] = []
  let over = false
  const save = (failure?: Failure) => {
    over = true
    const value = operation.assemble(sent)
    const text = JSON.stringify(value)
    return recording.end(failure ? { answer, text, failure } : { answer, text, ...leftBy(answer, value, telling) })
  }
  // The operation's own events of a failure belong to the answer that the client has.
  const failed = (failure: Failure): StreamEvent[] => {
    if (failure.kind === 'cancelled') return []
    const error = envelope(errorOf(failure))
    const own = operation.events?.failed?.(error, sent)
    sent.push(...(own ?? []))
    return own ?? [{ data: error }]
  }
  let last = [DONE_EVENT]
  try {
    for await (const event of events) {
      signal.throwIfAborted()
      if (event.tokens) answer.attempt?.contentBegan()
      sent.push(event)
      yield event
    }
    signal.throwIfAborted()
    await save()
  } catch (error) {
    const failure = failureOf(error, signal)
    last = failed(failure)
    await save(failure)
  } finally {
    // Somebody stopped listening: the client, or a fault that it hears the answer through.
    if (!over) {
      answer.attempt?.end(UNHEARD)
      await save(failureOf(new ConnectionFailure(UNHEARD.message), signal))
    }
  }
  yield* last
}

const UNHEARD: Failure = {
  kind: 'cancelled',
  status: CLIENT_GONE,
  code: 'unheard',
  message: 'the answer was not heard to its end',
  param: null,
  headers: {},
}
const EVENT_STREAM = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }

/** A reply as a response; what breaks in it breaks the client's connection. */
export function put(reply: Reply, connection?: Connection): Response | Promise<Response> {
  const { status, headers, body } = reply
  switch (body.kind) {
    case 'value': {
      const { value, text = JSON.stringify(value) } = body
      return new Response(text, { status, headers: { ...headers, 'content-type': 'application/json' } })
    }
    case 'events': {
      const texts = encoded(body.events)
      return new Response(directStream(texts, connection), { status, headers: { ...headers, ...EVENT_STREAM } })
    }
    case 'bytes': {
      const { bytes, contentType, announced } = body
      if (announced !== undefined) return putShort(reply, body, connection)
      const content = bytes instanceof Uint8Array ? (bytes as Uint8Array<ArrayBuffer>) : directStream(bytes, connection)
      return new Response(content, { status, headers: { ...headers, 'content-type': contentType } })
    }
    default:
      return body satisfies never
  }
}

async function* encoded(events: Iterable<StreamEvent> | AsyncIterable<StreamEvent>): AsyncGenerator<string> {
  for await (const event of events) yield encodeEvent(event)
}

/** Bun's direct stream writes text without copies and puts every flush on the wire as a chunk of its own. */
function directStream(pieces: AsyncIterable<string | Uint8Array>, connection: Connection | undefined): ReadableStream {
  return new ReadableStream({
    type: 'direct',
    async pull(controller: ReadableStreamDirectController) {
      let begun = false
      try {
        for await (const piece of pieces) {
          begun = true
          controller.write(piece)
          await controller.flush()
        }
      } catch (error) {
        // What was flushed leaves in the next turn, and must not be lost with the connection.
        if (begun || (connection && howOf(error) !== 'reset')) await nextTurn()
        await breakOff(error, connection)
      }
      controller.close()
    },
  } as unknown as UnderlyingDefaultSource)
}

const howOf = (error: unknown) => (error instanceof ConnectionFailure ? error.how : 'reset')
const encoder = new TextEncoder()
const NO_CHUNK_SIZE = encoder.encode('no chunk size\r\n')

/** Ends the client's connection as the failure says; an error, which the server answers with a reset, when it says that or there is no hold. */
async function breakOff(error: unknown, connection: Connection | undefined): Promise<void> {
  const how = howOf(error)
  if (how === 'reset' || !connection) throw error
  if (how === 'garbled') await connection.write(NO_CHUNK_SIZE)
  connection.close()
}

/** A failure in place of an answer: not one byte of HTTP is sent. */
export async function putNothing(failure: ConnectionFailure, connection: Connection | undefined): Promise<Response> {
  try {
    await breakOff(failure, connection)
    return new Response(null)
  } catch (error) {
    return new Response(directStream(failing(error), undefined))
  }
}

const failing = (error: unknown): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start(controller) {
      controller.error(error)
    },
  })

/** An answer that ends before the length it promises. The server would correct that, so it is written by hand. */
async function putShort(
  { status, headers }: Reply,
  { bytes, contentType, announced }: BytesBody,
  connection: Connection | undefined,
): Promise<Response> {
  const pieces = bytes instanceof Uint8Array ? [bytes] : bytes
  if (!connection) return new Response(directStream(broken(pieces), connection), { status, headers })
  const fields = { ...headers, 'content-type': contentType, 'content-length': announced, connection: 'close' }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  await connection.write(encoder.encode(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n`))
  for await (const piece of pieces) await connection.write(piece)
  connection.close()
  return new Response(null)
}

async function* broken(pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* pieces
  throw new ConnectionFailure('the connection was reset before the promised end of the answer')
}
