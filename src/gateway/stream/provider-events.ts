// Reads the events of a provider's stream from its bytes, up to the end mark: one batch for each piece with events.
import { ApiError } from '../../contract/core/error.ts'
import type { StreamRules } from '../../contract/core/operation.ts'
import { type BytesBody, ConnectionFailure, TimedOut, Unreadable } from '../../contract/core/reply.ts'
import { byteChunks } from '../../lib/byte-stream.ts'
import { networkReason } from '../../lib/network-error.ts'
import {
  DONE_EVENT,
  type EventBatch,
  type EventStream,
  EventTooLong,
  type SseBlock,
  type StreamEvent,
  sseReader,
} from '../../lib/sse.ts'
import { type TimeoutErrors, within } from '../../lib/timeout.ts'

/** An SSE block that contains an event. */
export type DataBlock = SseBlock & { event: NonNullable<SseBlock['event']> }
const hasEvent = (block: SseBlock): block is DataBlock => block.event !== undefined

/** How the events of a stream are read. */
interface EventReading {
  rules: StreamRules
  /** Aborted when the response is no longer needed. */
  signal: AbortSignal
  /** Reads the event of a block; throws when it is invalid. */
  readEvent(block: DataBlock): StreamEvent
}

/**
 * The events of a body, once its first piece has arrived. A stream that is complete by then is returned as a list. A
 * missing finish reason is a failure, a missing end mark is not. Errors after the last finish reason are ignored.
 * @throws Unreadable, ConnectionFailure, or what `readEvent` throws, after the events before it.
 */
export async function providerEvents(body: BytesBody, reading: EventReading): Promise<EventStream> {
  const pieces = new EventPieces(body, reading)
  const first = await pieces.next()
  if (!first.ended || !reading.rules.complete(first.batch)) return following(first, pieces, reading)
  void pieces.end()
  return [first.batch]
}

/** The events of one piece of a body. */
interface EventPiece {
  batch: StreamEvent[]
  /** Whether no more events follow. */
  ended?: boolean
  /** An error after these events. */
  problem?: { error: unknown }
}

async function* following(first: EventPiece, pieces: EventPieces, { rules }: EventReading): AsyncGenerator<EventBatch> {
  const seen: StreamEvent[] = []
  let ended = false
  try {
    for (let piece = first; ; piece = await pieces.next()) {
      seen.push(...piece.batch)
      if (piece.batch.length > 0) yield piece.batch
      if (piece.problem) throw piece.problem.error
      ended = piece.ended === true
      if (ended) break
    }
  } catch (error) {
    const isProviderError =
      error instanceof ConnectionFailure || error instanceof Unreadable || error instanceof TimedOut
    if (isProviderError && rules.complete(seen)) return
    throw error
  } finally {
    if (ended) void pieces.end()
    else await pieces.stop()
  }
  if (seen.length === 0) throw new Unreadable('the provider sent an empty stream')
  if (!rules.complete(seen)) throw new ConnectionFailure('the stream ended before the response was complete')
}

/** A body that is read piece by piece. */
class EventPieces {
  readonly #source: AsyncIterator<Uint8Array, undefined>
  readonly #parser = sseReader()
  readonly #hides: BytesBody['hides']
  readonly #reading: EventReading

  constructor({ bytes, hides }: BytesBody, reading: EventReading) {
    this.#source = byteChunks(bytes)
    this.#hides = hides
    this.#reading = reading
  }

  async next(): Promise<EventPiece> {
    try {
      const { done, value } = await this.#source.next()
      return done ? { batch: [], ended: true } : this.#read(value)
    } catch (error) {
      return { batch: [], problem: { error: broken(error, this.#reading.signal) } }
    }
  }

  #read(bytes: Uint8Array): EventPiece {
    const batch: StreamEvent[] = []
    try {
      for (const block of this.#parser.read(bytes)) {
        if (!hasEvent(block) || this.#hides?.(block.event.data)) continue
        if (block.event.data === DONE_EVENT.text) return { batch, ended: true }
        batch.push(this.#reading.readEvent(block))
      }
      return { batch }
    } catch (error) {
      return { batch, problem: { error: error instanceof EventTooLong ? new Unreadable(error.message) : error } }
    }
  }

  /** Cancels the body. An error while canceling does not matter. */
  async stop(): Promise<void> {
    await this.#source.return?.().catch(() => {})
  }

  /**
   * Reads past the end mark to the end of the body: canceling earlier would close the connection, and the next call
   * would need a new one.
   */
  async end(): Promise<void> {
    const reading = async () => {
      while (!(await this.#source.next()).done);
    }
    try {
      await within(reading(), MAX_END_MS, NO_END)
    } catch {
      await this.stop()
    }
  }
}

/** How long the end of a body may take after its end mark. */
const MAX_END_MS = 250
const NO_END: TimeoutErrors = { late: () => new Error('the provider did not end its stream') }

/** Whether an error is a bug of the program. Network errors have a code. */
const isBug = (error: unknown): boolean =>
  (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError) && !('code' in error)

/**
 * The error for a body that cannot be read: the signal's reason once it is aborted, otherwise usually a
 * `ConnectionFailure`.
 */
export function broken(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof ConnectionFailure || error instanceof Unreadable || error instanceof ApiError) return error
  if (isBug(error)) return error
  return new ConnectionFailure(`the connection to the provider failed: ${networkReason(error)}`)
}
