// Passes a response through the faults between gateway and client, on its bytes and on the client's connection.
import type { Connection } from '../contract/core/connection.ts'
import { ApiError, envelope } from '../contract/core/error.ts'
import type { MatchedFaults } from '../contract/core/fault.ts'
import { ConnectionFailure, type Reply } from '../contract/core/reply.ts'
import { isStream, streamBytes } from '../faults/wire.ts'
import { type EventBatch, encodeEvent, eventOfType } from '../lib/sse.ts'
import { errorOf, type Failure, failureOf, NOT_RECEIVED } from './outcome.ts'
import { headersOf, type TraceRecorder } from './record/recorder.ts'
import { putNothing, toResponse } from './stream/respond.ts'
import { SentBody, sentWhole } from './stream/sent-body.ts'
import { bodyEnd, breakOf, breaksLater, endOfAborted, sentAs } from './stream/sent-end.ts'
import type { CallContext, CallEnd } from './types.ts'

/** The response to the client; `answer` produces the reply unless a fault prevents it. */
export async function respondThroughFaults(
  faults: MatchedFaults,
  { recording, call }: CallContext,
  { answer, end, connection }: { answer(): Promise<Reply>; end: CallEnd; connection: Connection | undefined },
): Promise<Response> {
  const { signal, wire } = call
  const form = wire && { ...wire, put: (reply: Reply) => wire.put(reply, call) }
  const onTriggered = (rule: string) => void recording.steps.faults.push(rule)
  try {
    const reply = await faults.through({ signal, onTriggered, form }, answer)
    const headed = { ...reply, headers: { ...headersOf(recording), ...reply.headers } }
    const errorItem = (error: ApiError) => [eventOfType(wire ? wire.error(error, recording.id) : envelope(error))]
    return await toResponse(await withEnd(headed, { end, recording, errorItem }), { connection, hold: call.hold })
  } catch (error) {
    if (!(error instanceof ConnectionFailure || signal.aborted)) throw error
    const failure = failureOf(error, signal)
    // The client is told why the session ended the call.
    if (signal.reason instanceof ApiError) throw errorOf(failure)
    recording.sent = { ended: signal.aborted ? endOfAborted(signal) : breakOf(error), nothing: true }
    await end.end({ status: failure.kind === 'canceled' ? failure.status : 0, headers: {}, failure })
    const broken = error instanceof ConnectionFailure ? error : new ConnectionFailure(failure.message)
    return putNothing(broken, { connection })
  }
}

/** The reply, which ends its call when all of it has been sent. */
async function withEnd(
  reply: Reply,
  { end, recording, errorItem }: { end: CallEnd; recording: TraceRecorder; errorItem(error: ApiError): EventBatch },
): Promise<Reply> {
  const { status, headers, body } = reply
  const { signal } = recording.call
  const sent = new SentBody()
  const onEnd = (failure: Failure | undefined, broken: unknown) => {
    const ended = bodyEnd(reply, { broken, signal })
    recording.sent = { ...sentAs(reply), body: sent, ended, pauses: breaksLater(broken, sent) }
    return end.end({ status, headers, failure })
  }
  if (body.kind === 'events') {
    const note = (batch: EventBatch) => sent.addEvents(batch, recording.elapsed())
    return { ...reply, body: { ...body, events: toEnd(body.events, { onEnd, signal, errorItem, note }) } }
  }
  if (body.kind === 'bytes' && !(body.bytes instanceof Uint8Array)) {
    const encoded = (error: ApiError) => new TextEncoder().encode(errorItem(error).map(encodeEvent).join(''))
    const note = sent.noting<Uint8Array>(() => recording.elapsed())
    const ending = { onEnd, signal, note, ...(isStream(reply) && { errorItem: encoded }) }
    return { ...reply, body: { ...body, bytes: toEnd(body.bytes, ending) } }
  }
  const whole = streamBytes(reply).bytes
  recording.sent = { ...sentAs(reply), body: sentWhole(whole as Uint8Array), ended: bodyEnd(reply, { signal }) }
  const problem = await end.end({ status, headers, failure: undefined })
  if (problem) throw problem
  return reply
}

interface StreamEnd<Item> {
  /**
   * Ends the call; resolves with an error when it could not be stored. `broken` is what ended the stream early:
   * `NOT_RECEIVED` when the client stopped reading, undefined for a complete stream.
   */
  onEnd(failure: Failure | undefined, broken: unknown): Promise<ApiError | undefined>
  signal: AbortSignal
  /** The item that reports an internal error inside a stream. */
  errorItem?(error: ApiError): Item
  /** Called with each item that arrives. */
  onItem?(item: Item): void
  /** Records an item as it is sent, and returns it. */
  note(item: Item): Item
}

/** The items of a stream; the call ends after the last one. */
export async function* toEnd<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  { onEnd, signal, errorItem, onItem, note }: StreamEnd<Item>,
): AsyncGenerator<Item> {
  let failure: Failure | undefined
  let broken: unknown = NOT_RECEIVED
  let problem: ApiError | undefined
  try {
    for await (const item of items) {
      onItem?.(item)
      yield note(item)
    }
    broken = undefined
  } catch (error) {
    broken = error
    failure = failureOf(error, signal)
    // A bug, a session that ended the call, or a replay that cannot go on. Any other error is the effect of a fault.
    const isOurs = failure.kind === 'internal_error' || signal.reason instanceof ApiError || error instanceof ApiError
    if (!isOurs || !errorItem) throw error
    broken = NOT_RECEIVED
    yield note(errorItem(errorOf(failure)))
    broken = undefined
  } finally {
    problem = await onEnd(failure, broken)
  }
  if (problem && !failure && errorItem) yield errorItem(problem)
}
