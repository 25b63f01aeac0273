// Answers a call through the faults that its client hears: on the real bytes, and on the real connection.
import type { Connection } from '../contract/connection.ts'
import { ApiError, envelope } from '../contract/error.ts'
import type { ActiveFault, NextReply } from '../contract/fault.ts'
import { ConnectionFailure, type Reply } from '../contract/reply.ts'
import type { Wire } from '../contract/wire.ts'
import { isStream, unpacked } from '../faults/wire.ts'
import { streamOf } from '../lib/byte-stream.ts'
import { encodeEvent, eventOfType, type PromptIterable, type StreamEvent } from '../lib/sse.ts'
import { withFaults } from './attempt.ts'
import { errorOf, type Failure, failureOf } from './outcome.ts'
import { headersOf } from './recorder.ts'
import { putNothing, toResponse } from './respond.ts'
import type { CallContext, CallEnd } from './types.ts'

interface FaultyCall {
  answer(): Promise<Reply>
  end: CallEnd
  connection: Connection | undefined
  /** The door that the client came by. */
  door: CallDoor | undefined
}

/** How answers are put at a door. */
export interface CallDoor {
  wire: Wire
  /** The reply in the form of the door. */
  put(reply: Reply): Reply
}

/** What the client hears; `answer` makes the reply behind the faults, if they let it. */
export async function respondThroughFaults(
  faults: readonly ActiveFault[],
  callContext: CallContext,
  { answer, end, connection, door }: FaultyCall,
): Promise<Response> {
  const { operation, request, session, stream, recording, call } = callContext
  const { signal } = call
  const about = { operation, request, model: operation.model(request), stream, clock: session.clock, signal }
  const hearing = { about, onActed: (rule: string) => void recording.steps.faults.push(rule) }
  try {
    const reply = await (door ? throughDoor(faults, answer, { ...hearing, door }) : withFaults(faults, answer, hearing))
    const headed = { ...reply, headers: { ...headersOf(recording), ...reply.headers } }
    const errorItem = (error: ApiError) => eventOfType(door ? door.wire.error(error, recording.id) : envelope(error))
    return await toResponse(await withEnd(headed, { end, signal, errorItem }), { connection, hold: call.hold })
  } catch (error) {
    if (!(error instanceof ConnectionFailure || signal.aborted)) throw error
    const failure = failureOf(error, signal)
    // Who called is told why the session ended the call.
    if (signal.reason instanceof ApiError) throw errorOf(failure)
    await end.end({ status: failure.kind === 'cancelled' ? failure.status : 0, headers: {}, failure })
    return putNothing(error instanceof ConnectionFailure ? error : new ConnectionFailure(failure.message), connection)
  }
}

/** The reply at a door: what changes what is said acts before it is put in the words of the door, everything else after it. */
export function throughDoor(
  faults: readonly ActiveFault[],
  answer: NextReply,
  { about, onActed, door: { wire, put } }: Parameters<typeof withFaults>[2] & { door: CallDoor },
): Promise<Reply> {
  const { words, events } = wire
  const said = faults.filter(({ inAnswer }) => inAnswer)
  const sent = faults.filter(({ inAnswer }) => !inAnswer)
  const changed = () => withFaults(said, answer, { about: { ...about, words }, onActed })
  const atDoor = async () => put(said.length > 0 ? await unpacked(await changed()) : await answer())
  const operation = events ? { ...about.operation, events } : about.operation
  return withFaults(sent, atDoor, { about: { ...about, operation, words }, onActed })
}

/** The reply, whose call ends with the last of it. */
async function withEnd(
  reply: Reply,
  { end, signal, errorItem }: { end: CallEnd; signal: AbortSignal; errorItem(error: ApiError): StreamEvent },
): Promise<Reply> {
  const { status, headers, body } = reply
  const over = (failure?: Failure) => end.end({ status, headers, failure })
  if (body.kind === 'events') {
    return { ...reply, body: { ...body, events: toEnd(body.events, { over, signal, errorItem }) } }
  }
  if (body.kind === 'bytes' && !(body.bytes instanceof Uint8Array)) {
    const encoded = (error: ApiError) => new TextEncoder().encode(encodeEvent(errorItem(error)))
    const bytes = streamOf(toEnd(body.bytes, { over, signal, ...(isStream(reply) && { errorItem: encoded }) }))
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

export async function* toEnd<Item>(
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
