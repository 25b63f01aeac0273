// The events of a provider's stream as its bytes come, up to its end mark. No generator: the events of one piece that came
// need no promise each.
import type { StreamRules } from '../contract/operation.ts'
import { type BytesBody, ConnectionFailure, Unreadable } from '../contract/reply.ts'
import { piecesIn } from '../lib/byte-stream.ts'
import { networkReason } from '../lib/network-error.ts'
import { type Reproach, within } from '../lib/patience.ts'
import {
  DONE_EVENT,
  EventTooLong,
  type PromptIterable,
  type PromptIterator,
  type SseBlock,
  type StreamEvent,
  sseReader,
} from '../lib/sse.ts'
import { TimedOut } from './outcome.ts'

type Step = IteratorResult<StreamEvent>
const OVER: Step = { done: true, value: undefined }

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

/** Events of bytes, gone through once. An end without a finish reason is a failure, a missing end mark is none. */
export class ProviderEvents implements PromptIterable<StreamEvent>, PromptIterator<StreamEvent> {
  readonly #reading: EventReading
  readonly #source: AsyncIterator<Uint8Array> | undefined
  readonly #parser = sseReader()
  readonly #seen: StreamEvent[] = []
  /** The blocks that have come, and how many of them are done with. */
  #blocks: readonly SseBlock[] = []
  #done = 0
  #whole: Uint8Array | undefined
  readonly #hides: BytesBody['hides']
  #over = false
  /** What was wrong with an event that was looked at before its turn. */
  #problem: { error: unknown } | undefined

  constructor({ bytes, hides }: BytesBody, reading: EventReading) {
    this.#reading = reading
    this.#hides = hides
    if (bytes instanceof Uint8Array) this.#whole = bytes
    else this.#source = piecesIn(bytes)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Step | Promise<Step> {
    if (this.#problem) return this.#giveProblem(this.#problem)
    return this.#over ? OVER : (this.#nextThere() ?? this.#nextToCome())
  }

  nextOfEnd(): Step | undefined {
    if (this.#problem || this.#blocks[this.#blocks.length - 1]?.event?.data !== DONE_EVENT.text) return undefined
    try {
      return this.#nextThere()
    } catch (error) {
      this.#problem = { error }
      return undefined
    }
  }

  async return(): Promise<Step> {
    await this.#stop()
    return OVER
  }

  #giveProblem({ error }: { error: unknown }): never {
    this.#problem = undefined
    throw error
  }

  /** What is there already. */
  #nextThere(): Step | undefined {
    for (let block = this.#blocks[this.#done]; block; block = this.#blocks[this.#done]) {
      this.#done++
      if (!hasEvent(block) || this.#hides?.(block.event.data)) continue
      if (block.event.data === DONE_EVENT.text) return this.#end()
      let value: StreamEvent
      try {
        value = this.#reading.readEvent(block)
      } catch (error) {
        return this.#fail(error)
      }
      this.#seen.push(value)
      return { done: false, value }
    }
    return undefined
  }

  async #nextToCome(): Promise<Step> {
    for (;;) {
      let bytes: Uint8Array | undefined
      try {
        bytes = this.#source ? (await this.#source.next()).value : this.#whole
        this.#whole = undefined
        if (bytes) this.#blocks = this.#parser.read(bytes)
      } catch (error) {
        return this.#fail(broken(error, this.#reading.signal))
      }
      if (!bytes) return this.#end()
      this.#done = 0
      const step = this.#nextThere()
      if (step) return step
    }
  }

  #end(): Step {
    void this.#finish()
    if (this.#seen.length === 0) throw new Unreadable('the provider sent an empty stream')
    if (!this.#reading.rules.complete(this.#seen))
      throw new ConnectionFailure('the stream ended before the answer was complete')
    return OVER
  }

  /** What breaks or falls silent after the last finish reason takes nothing from the answer. */
  #fail(error: unknown): Step {
    this.#stop()
    const isTheirs = error instanceof ConnectionFailure || error instanceof Unreadable || error instanceof TimedOut
    if (isTheirs && this.#reading.rules.complete(this.#seen)) return OVER
    throw error
  }

  /** Nothing is wanted any more. */
  async #stop(): Promise<void> {
    if (this.#over) return
    this.#over = true
    // One that has broken has nothing to say about its end.
    await this.#source?.return?.().catch(() => {})
  }

  /** Reads to the end, which mostly comes right behind the end mark: who leaves before it has to connect anew for the next call. */
  async #finish(): Promise<void> {
    const source = this.#source
    if (this.#over || !source) return
    this.#over = true
    try {
      await within(readToEnd(source), LONGEST_END_MS, NO_END)
    } catch {
      await source.return?.().catch(() => {})
    }
  }
}

/** How long the end of a body may take behind the end mark of its events. */
const LONGEST_END_MS = 250
const NO_END: Reproach = { late: () => new Error('the provider did not end its stream') }

async function readToEnd(source: AsyncIterator<Uint8Array>): Promise<void> {
  while (!(await source.next()).done);
}

/** Whether an error is one of the program rather than one of the network, whose errors have a code. */
const isBug = (error: unknown): boolean =>
  (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError) && !('code' in error)

/** What it means that a body cannot be read: the signal's reason once it is aborted, else mostly a `ConnectionFailure`. */
export function broken(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof EventTooLong) return new Unreadable(error.message)
  if (error instanceof ConnectionFailure || error instanceof Unreadable || isBug(error)) return error
  return new ConnectionFailure(`the connection to the provider broke: ${networkReason(error)}`)
}
