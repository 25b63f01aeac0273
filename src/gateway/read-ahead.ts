// The beginning of a stream, held back until it is known that the attempt has an answer.
import { type Deadline, unlessAborted } from '../lib/deadline.ts'
import type { PromptIterable, PromptIterator, StreamEvent, StreamEvents } from '../lib/sse.ts'
import { areReady } from '../lib/written-events.ts'

type Step = IteratorResult<StreamEvent>
type Source = Iterator<StreamEvent> | PromptIterator<StreamEvent>

/** What a step of an attempt gives, unless the time is up first: not everything listens to the signal. */
export const inTime = <T>(step: T | Promise<T>, deadline: Deadline | undefined): T | Promise<T> =>
  deadline && step instanceof Promise ? unlessAborted(deadline.signal, step) : step

/** Whether a stream may begin with an event. */
type Begins = (event: StreamEvent) => boolean

/** The same events, read ahead up to the first that it may begin with; whatever fails before it is thrown. */
export function readAhead(
  events: StreamEvents,
  deadline: Deadline | undefined,
  begins: Begins,
): StreamEvents | Promise<StreamEvents> {
  if (!areReady(events)) return begun(events, deadline, begins)
  deadline?.stop()
  return events
}

async function begun(events: StreamEvents, deadline: Deadline | undefined, begins: Begins): Promise<StreamEvents> {
  const source = Symbol.asyncIterator in events ? events[Symbol.asyncIterator]() : events[Symbol.iterator]()
  const ahead: StreamEvent[] = []
  for (;;) {
    const step = source.next()
    const next = step instanceof Promise ? await inTime(step, deadline) : step
    if (next.done) break
    ahead.push(next.value)
    if (!begins(next.value)) continue
    if (addEnd(ahead, source)) break
    deadline?.hold()
    return new FollowedEvents(ahead, source, deadline)
  }
  deadline?.stop()
  return ahead
}

/** Adds what is left, where it is there already: a short answer may come in one piece. Whether that was all. */
function addEnd(ahead: StreamEvent[], source: Source): boolean {
  if (!('nextOfEnd' in source)) return false
  for (let step = source.nextOfEnd?.(); step; step = source.nextOfEnd?.()) {
    if (step.done) return true
    ahead.push(step.value)
  }
  return false
}

/** What was read ahead, then what follows. A client that reads slowly is no silence of the provider. */
class FollowedEvents implements PromptIterable<StreamEvent>, PromptIterator<StreamEvent> {
  readonly #ahead: readonly StreamEvent[]
  readonly #source: Source
  readonly #deadline: Deadline | undefined
  #given = 0

  constructor(ahead: readonly StreamEvent[], source: Source, deadline: Deadline | undefined) {
    this.#ahead = ahead
    this.#source = source
    this.#deadline = deadline
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Step | Promise<Step> {
    const value = this.#ahead[this.#given++]
    if (value) return { done: false, value }
    const deadline = this.#deadline
    return deadline ? this.#nextInTime(deadline) : this.#source.next()
  }

  async return(): Promise<Step> {
    this.#deadline?.stop()
    const left = this.#source.return?.(undefined)
    // A source that did not listen to the signal does not listen to this either.
    if (!this.#deadline?.signal.aborted) await left
    return { done: true, value: undefined }
  }

  async #nextInTime(deadline: Deadline): Promise<Step> {
    try {
      deadline.restart()
      const next = await inTime(this.#source.next(), deadline)
      if (next.done) deadline.stop()
      else deadline.hold()
      return next
    } catch (error) {
      await this.return()
      throw error
    }
  }
}
