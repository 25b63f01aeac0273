// Tells the client: an answer as a reply that records its own end, and a reply put on the wire.
import type { Connection } from '../contract/connection.ts'
import { envelope } from '../contract/error.ts'
import { ConnectionFailure, type Reply } from '../contract/reply.ts'
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
export function put({ status, headers, body }: Reply, connection: Connection | undefined): Response {
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
      const { bytes, contentType } = body
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
      try {
        for await (const piece of pieces) {
          controller.write(piece)
          await controller.flush()
        }
      } catch (error) {
        breakOff(error, connection)
      }
      controller.close()
    },
  } as unknown as UnderlyingDefaultSource)
}

/** Ends the client's connection as the failure says; without a hold on it, an error of the stream resets it. */
export function breakOff(error: unknown, connection: Connection | undefined): void {
  if (!(error instanceof ConnectionFailure) || !connection) throw error
  if (error.how === 'closed') connection.close()
  else connection.reset()
}
