// Tells the client: an answer as a reply that records its own end, and a reply put on the wire.
import { STATUS_CODES } from 'node:http'
import type { Connection } from '../contract/connection.ts'
import { envelope } from '../contract/error.ts'
import { type BytesBody, ConnectionFailure, type Reply } from '../contract/reply.ts'
import { nextTurn } from '../lib/bare-socket.ts'
import { soundHeaders } from '../lib/header-text.ts'
import { DONE_EVENT, encodeEvent, type StreamEvent } from '../lib/sse.ts'
import { asObject } from '../lib/values.ts'
import { storing } from './cache.ts'
import { CLIENT_GONE, errorOf, type Failure, failureOf } from './outcome.ts'
import type { AttemptAnswer, ReplyContext } from './types.ts'

/** The reply that a client gets; its trace is committed before the answer's last byte is given out. */
export async function toReply(answer: AttemptAnswer, replyContext: ReplyContext): Promise<Reply> {
  const { recording } = replyContext.callContext
  const { content, from } = answer
  recording.answered(answer)
  const headers = { ...recording.headers(), ...from.headers }
  const reply = { ...from, headers, status: 200 }
  if (content.kind === 'stream') {
    return { ...reply, body: { kind: 'events', events: told(content.events, answer, replyContext), marked: true } }
  }
  const { value, text = JSON.stringify(value) } = content
  await recording.end({ answer, text, ...leftBy(answer, value, replyContext) })
  return { ...reply, body: { kind: 'value', value, text } }
}

/** What a complete answer leaves for later calls, and the token counts that it says itself. */
function leftBy(answer: AttemptAnswer, value: unknown, { callContext, cacheKey }: ReplyContext) {
  const { operation, request, answerContext } = callContext
  // A text, such as subtitles, leaves nothing.
  if (typeof value !== 'object' || value === null) return { usage: answer.from.usage }
  const usage = asObject(asObject(value)?.usage) ?? answer.from.usage
  const keep = [...(operation.keep?.(request, value, answerContext) ?? [])]
  const fresh = answer.attempt !== undefined
  if (cacheKey !== undefined && fresh) {
    // A streamed answer says its usage only when asked; a whole one says what it has to.
    const stored = usage && callContext.stream && !('usage' in value) ? { ...value, usage } : value
    keep.push(storing(callContext, cacheKey, { answer: stored, model: answer.model, usage }))
  }
  return { usage: answer.from.usage ?? usage, keep }
}

/** The events that a client gets, the end mark included; a failure becomes an event and leaves out the mark. */
async function* told(
  events: Iterable<StreamEvent> | AsyncIterable<StreamEvent>,
  answer: AttemptAnswer,
  replyContext: ReplyContext,
): AsyncGenerator<StreamEvent> {
  const { operation, signal, recording } = replyContext.callContext
  const sent: StreamEvent[] = []
  let over = false
  const save = (failure?: Failure) => {
    over = true
    const value = operation.assemble(sent)
    const text = JSON.stringify(value)
    return recording.end(failure ? { answer, text, failure } : { answer, text, ...leftBy(answer, value, replyContext) })
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

/**
 * A reply as a response; what breaks in it breaks the client's connection.
 * @throws ConnectionFailure when a body breaks before its first byte.
 */
export function toResponse(reply: Reply, connection?: Connection): Response | Promise<Response> {
  const { status, body } = reply
  const headers = soundHeaders(reply.headers)
  switch (body.kind) {
    case 'value': {
      const { value, text = JSON.stringify(value) } = body
      return new Response(text, { status, headers: { ...headers, 'content-type': 'application/json' } })
    }
    case 'events': {
      const texts = encoded(body.events)
      return new Response(directStream(texts, connection), { status, headers: { ...headers, ...EVENT_STREAM } })
    }
    case 'bytes':
      return putBytes(reply, body, connection)
    default:
      return body satisfies never
  }
}

async function* encoded(events: Iterable<StreamEvent> | AsyncIterable<StreamEvent>): AsyncGenerator<string> {
  for await (const event of events) yield encodeEvent(event)
}

async function putBytes(
  { status, headers: given }: Reply,
  { bytes, contentType, announced }: BytesBody,
  connection: Connection | undefined,
): Promise<Response> {
  const headers = soundHeaders({ ...given, 'content-type': contentType })
  const whole = bytes instanceof Uint8Array
  if (whole && announced === undefined) return new Response(bytes as Uint8Array<ArrayBuffer>, { status, headers })
  const pieces = await begun(whole ? [bytes] : bytes)
  if (announced === undefined) return new Response(directStream(pieces, connection), { status, headers })
  if (!connection) return new Response(directStream(broken(pieces), connection), { status, headers })
  // The server would correct a length that is not kept, so this answer is written by hand.
  const fields = Object.entries({ ...headers, 'content-length': announced, connection: 'close' })
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    ...fields.map(([name, value]) => `${name}: ${value}`),
  ]
  await connection.write(encoder.encode(`${head.join('\r\n')}\r\n\r\n`))
  for await (const piece of pieces) await connection.write(piece)
  connection.close()
  return NEVER_SENT()
}

/** The same pieces once the first has come: the server cannot take back a head that it has begun. */
async function begun(pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<AsyncGenerator<Uint8Array>> {
  const rest = (async function* () {
    yield* pieces
  })()
  const first = await rest.next()
  return (async function* () {
    try {
      if (!first.done) yield first.value
      yield* rest
    } finally {
      await rest.return()
    }
  })()
}

async function* broken(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* pieces
  throw new ConnectionFailure('the connection was reset before the promised end of the answer')
}

/** Bun's direct stream writes text without copies and puts every flush on the wire as a chunk of its own. */
function directStream(pieces: AsyncIterable<string | Uint8Array>, connection: Connection | undefined): ReadableStream {
  return new ReadableStream({
    type: 'direct',
    async pull(controller: ReadableStreamDirectController) {
      let sent = false
      try {
        for await (const piece of pieces) {
          sent = true
          controller.write(piece)
          await controller.flush()
        }
      } catch (error) {
        // What was flushed leaves in the next turn, and must not be lost with the connection.
        if (sent) await nextTurn()
        await breakOff(error, connection)
      }
      controller.close()
    },
  } as unknown as UnderlyingDefaultSource)
}

/** Ends the client's connection as the failure says; without a hold on it, an error of the stream resets it. */
async function breakOff(error: unknown, connection: Connection | undefined): Promise<void> {
  if (!(error instanceof ConnectionFailure) || !connection) throw error
  if (error.how === 'reset') return connection.reset()
  if (error.how === 'garbled') await connection.write(NO_CHUNK_SIZE)
  connection.close()
}

/** A failure in place of an answer: not one byte of HTTP is sent. */
export async function putNothing(failure: ConnectionFailure, connection: Connection | undefined): Promise<Response> {
  try {
    await breakOff(failure, connection)
    return NEVER_SENT()
  } catch (error) {
    return new Response(directStream(failing(error), connection))
  }
}

// biome-ignore lint/correctness/useYield: it fails before it has anything
async function* failing(error: unknown): AsyncGenerator<never> {
  throw error
}

const encoder = new TextEncoder()
const NO_CHUNK_SIZE = encoder.encode('no chunk size\r\n')
/** What the server is given for a connection that is closed already. */
const NEVER_SENT = () => new Response(null)
