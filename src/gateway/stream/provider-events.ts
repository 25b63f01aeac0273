// The events of a provider's stream as its bytes come, up to its end mark: a batch for each piece that brings some.
import type { StreamRules } from '../../contract/core/operation.ts'
import { type BytesBody, ConnectionFailure, Unreadable } from '../../contract/core/reply.ts'
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
import { TimedOut } from '../outcome.ts'

/** A block with an event in it. */
export type DataBlock = SseBlock & { event: NonNullable<SseBlock['event']> }
const hasEvent = (block: SseBlock): block is DataBlock => block.event !== undefined

/** How the events of a stream are read. */
interface EventReading {
  rules: StreamRules
  /** Aborted when nobody waits any more. */
  signal: AbortSignal
  /** An event of its block; throws for what is none. */
  readEvent(block: DataBlock): StreamEvent
}

/**
 * The events of a body, gone through once, when its first piece has come; an answer that is all in that is complete. An end without a
 * finish reason is a failure, a missing end mark is not; what breaks or falls silent after the last finish reason takes nothing from
 * the answer.
 * @throws Unreadable, ConnectionFailure, or what `readEvent` throws, behind the events that came before.
 */
export async function providerEvents(body: BytesBody, reading: EventReading): Promise<EventStream> {
  const pieces = new EventPieces(body, reading)
  const first = await pieces.next()
  if (!first.ended || !reading.rules.complete(first.batch)) return following(first, pieces, reading)
  void pieces.end()
  return [first.batch]
}

/** What a piece of a body brings. */
interface EventPiece {
  batch: StreamEvent[]
  /** Whether there are no more events. */
  ended?: boolean
  /** What is wrong behind them. */
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
    const isTheirs = error instanceof ConnectionFailure || error instanceof Unreadable || error instanceof TimedOut
    if (isTheirs && rules.complete(seen)) return
    throw error
  } finally {
    if (ended) void pieces.end()
    else await pieces.stop()
  }
  if (seen.length === 0) throw new Unreadable('the provider sent an empty stream')
  if (!rules.complete(seen)) throw new ConnectionFailure('the stream ended before the answer was complete')
}

/** A body, read piece by piece. */
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

  /** Nothing is wanted any more. One that has broken has nothing to say about its end. */
  async stop(): Promise<void> {
    await this.#source.return?.().catch(() => {})
  }

  /** Reads what comes behind the end mark, which mostly is the end: who leaves before it has to connect anew for the next call. */
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

/** How long the end of a body may take behind the end mark of its events. */
const MAX_END_MS = 250
const NO_END: TimeoutErrors = { late: () => new Error('the provider did not end its stream') }

/** Whether an error is one of the program rather than one of the network, whose errors have a code. */
const isBug = (error: unknown): boolean =>
  (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError) && !('code' in error)

/** What it means that a body cannot be read: the signal's reason once it is aborted, else mostly a `ConnectionFailure`. */
export function broken(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof ConnectionFailure || error instanceof Unreadable || isBug(error)) return error
  return new ConnectionFailure(`the connection to the provider failed: ${networkReason(error)}`)
}
