// Answers a call through the faults that its client hears: on the real bytes, and on the real connection.
import type { Connection } from '../contract/connection.ts'
import { ApiError, envelope } from '../contract/error.ts'
import type { ActiveFault } from '../contract/fault.ts'
import { ConnectionFailure, type Reply } from '../contract/reply.ts'
import type { Wire } from '../contract/wire.ts'
import { isStream, streamOf } from '../faults/wire.ts'
import { encodeEvent, type PromptIterable } from '../lib/sse.ts'
import { parsedJson } from '../lib/values.ts'
import { errorIn } from '../providers/error-body.ts'
import { withFaults } from './attempt.ts'
import { errorOf, type Failure, failureOf } from './outcome.ts'
import { headersOf } from './recorder.ts'
import { putNothing, toResponse } from './respond.ts'
import type { CallContext, CallEnd } from './types.ts'

interface FaultyCall {
  answer(): Promise<Reply>
  end: CallEnd
  connection: Connection | undefined
  /** How answers are put at the door that the client came by. */
  wire: Wire | undefined
}

/** A refusal of a fault in the words of a door; anything else as it is. */
function refusalFor(reply: Reply, wire: Wire): Reply {
  const { status, body } = reply
  if (status < 400 || body.kind !== 'bytes' || !(body.bytes instanceof Uint8Array)) return reply
  const error = errorIn(parsedJson(new TextDecoder().decode(body.bytes)))
  if (!error) return reply
  const { message, code = 'error', param = null, type } = error
  return { ...reply, body: { kind: 'value', value: wire.error(new ApiError(status, code, message, { param, type })) } }
}

/** What the client hears; `answer` makes the reply behind the faults, if they let it. */
export async function respondThroughFaults(
  faults: readonly ActiveFault[],
  callContext: CallContext,
  { answer, end, connection, wire }: FaultyCall,
): Promise<Response> {
  const { operation, request, session, stream, signal, recording } = callContext
  const about = { operation, request, model: operation.model(request), stream, clock: session.clock, signal }
  try {
    const reply = await withFaults(faults, answer, { about, onActed: (rule) => recording.steps.faults.push(rule) })
    const headed = {
      ...(wire ? refusalFor(reply, wire) : reply),
      headers: { ...headersOf(recording), ...reply.headers },
    }
    return await toResponse(await withEnd(headed, { end, signal }), { connection })
  } catch (error) {
    if (!(error instanceof ConnectionFailure || signal.aborted)) throw error
    const failure = failureOf(error, signal)
    // Who called is told why the session ended the call.
    if (signal.reason instanceof ApiError) throw errorOf(failure)
    await end.end({ status: failure.kind === 'cancelled' ? failure.status : 0, headers: {}, failure })
    return putNothing(error instanceof ConnectionFailure ? error : new ConnectionFailure(failure.message), connection)
  }
}

/** The reply, whose call ends with the last of it. */
async function withEnd(reply: Reply, { end, signal }: { end: CallEnd; signal: AbortSignal }): Promise<Reply> {
  const { status, headers, body } = reply
  const over = (failure?: Failure) => end.end({ status, headers, failure })
  if (body.kind === 'events') {
    const errorItem = (error: ApiError) => ({ data: envelope(error) })
    return { ...reply, body: { ...body, events: toEnd(body.events, { over, signal, errorItem }) } }
  }
  if (body.kind === 'bytes' && !(body.bytes instanceof Uint8Array)) {
    const errorItem = (error: ApiError) => new TextEncoder().encode(encodeEvent({ data: envelope(error) }))
    const bytes = streamOf(toEnd(body.bytes, { over, signal, ...(isStream(reply) && { errorItem }) }))
    return { ...reply, body: { ...body, bytes } }
  }
  const problem = await over()
  if (problem) throw problem
  return reply
}

interface StreamEnd<Item> {
  over(failure?: Failure): Promise<unknown>
  signal: AbortSignal
  /** What tells, in a stream that has begun, of an error that is ours. */
  errorItem?(error: ApiError): Item
}

async function* toEnd<Item>(
  items: Iterable<Item> | PromptIterable<Item>,
  { over, signal, errorItem }: StreamEnd<Item>,
): AsyncGenerator<Item> {
  let failure: Failure | undefined
  try {
    yield* items
  } catch (error) {
    failure = failureOf(error, signal)
    // A bug, or a session that ended the call; anything else is what the faults are for.
    const isOurs = failure.kind === 'bug' || signal.reason instanceof ApiError
    if (!isOurs || !errorItem) throw error
    yield errorItem(errorOf(failure))
  } finally {
    await over(failure)
  }
}
