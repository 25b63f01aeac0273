// Answers a call through the faults that its client hears: on the real bytes, and on the real connection.
import type { Connection } from '../contract/connection.ts'
import type { ActiveFault } from '../contract/fault.ts'
import { ConnectionFailure, type Reply } from '../contract/reply.ts'
import { streamOf } from '../faults/wire.ts'
import { withFaults } from './attempt.ts'
import { failureOf } from './outcome.ts'
import { putNothing, toResponse } from './respond.ts'
import type { CallContext } from './types.ts'

/** What the client hears; `answer` makes the reply behind the faults, if they let it. */
export async function respondThroughFaults(
  faults: readonly ActiveFault[],
  callContext: CallContext,
  { answer, connection }: { answer(): Promise<Reply>; connection: Connection | undefined },
): Promise<Response> {
  const { operation, request, session, stream, signal, recording } = callContext
  const about = { operation, request, model: operation.model(request), stream, clock: session.clock, signal }
  try {
    const reply = await withFaults(faults, answer, { about, applied: recording.faults })
    const save = () => recording.heard(reply)
    return await toResponse(
      await lastly(save, { ...reply, headers: { ...recording.headers(), ...reply.headers } }),
      connection,
    )
  } catch (error) {
    if (!(error instanceof ConnectionFailure || signal.aborted)) throw error
    const failure = failureOf(error, signal)
    recording.failed(failure)
    await recording.heard({ status: failure.kind === 'cancelled' ? failure.status : 0, headers: {} })
    return putNothing(error instanceof ConnectionFailure ? error : new ConnectionFailure(failure.message), connection)
  }
}

/** The reply, with something to do when its last byte is told. */
async function lastly(act: () => Promise<void>, reply: Reply): Promise<Reply> {
  const { body } = reply
  if (body.kind === 'events') return { ...reply, body: { ...body, events: closing(body.events, act) } }
  if (body.kind === 'bytes' && !(body.bytes instanceof Uint8Array)) {
    return { ...reply, body: { ...body, bytes: streamOf(closing(body.bytes, act)) } }
  }
  await act()
  return reply
}

async function* closing<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  act: () => Promise<void>,
): AsyncGenerator<Item> {
  try {
    yield* items
  } finally {
    await act()
  }
}
