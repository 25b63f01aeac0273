// The events of a reply on their way to a client, noted as they go, and the end of the call behind the last of them.
import { type ApiError, envelope } from '../contract/error.ts'
import type { Operation } from '../contract/operation.ts'
import {
  DONE_EVENT,
  type PromptIterable,
  type PromptIterator,
  type StreamEvent,
  type StreamEvents,
} from '../lib/sse.ts'
import { errorOf, type Failure, failureOf, UNHEARD } from './outcome.ts'
import type { AnswerRecord, SentStream } from './recording.ts'
import { EVENTS_OF_A_TURN, noteTime } from './stream-record.ts'
import type { ReplyContext } from './types.ts'

type Step = IteratorResult<StreamEvent>

/**
 * The events that a client gets, the end mark included; a failure becomes an event and leaves out the mark. Gone through
 * once. No generator: what is there already comes without a promise.
 */
export class ReplyEvents implements PromptIterable<StreamEvent>, PromptIterator<StreamEvent> {
  readonly #source: Iterator<StreamEvent> | PromptIterator<StreamEvent>
  readonly #record: AnswerRecord
  readonly #reply: ReplyContext & { sent: SentStream; headers: Record<string, string> }
  /** What is left when the answer is over; undefined until then. */
  #last: Iterator<StreamEvent> | undefined

  /** `sent` gets the events that are part of the answer, `headers` are those that it began with. */
  constructor(
    events: StreamEvents,
    record: AnswerRecord,
    reply: ReplyContext & { sent: SentStream; headers: Record<string, string> },
  ) {
    this.#source = Symbol.asyncIterator in events ? events[Symbol.asyncIterator]() : events[Symbol.iterator]()
    this.#record = record
    this.#reply = reply
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Step | Promise<Step> {
    if (this.#last) return this.#last.next()
    try {
      const step = this.#source.next()
      if (!(step instanceof Promise)) return this.#noted(step, false)
      return step.then(
        (come) => this.#noted(come, true),
        (error) => this.#failed(error),
      )
    } catch (error) {
      return this.#failed(error)
    }
  }

  async throw(error: unknown): Promise<Step> {
    if (this.#last) throw error
    return this.#failed(error)
  }

  /** Somebody stopped listening: the client, or a fault that it hears the answer through. */
  async return(): Promise<Step> {
    if (!this.#last) {
      await this.#stop().catch((error) => this.#fail(error))
      this.#record.answer.attempt?.end(UNHEARD)
      await this.#end([])
    }
    return { done: true, value: undefined }
  }

  /** `waited` says that it was not there at once: what was, goes out at the time of the one before. */
  #noted(step: Step, waited: boolean): Step | Promise<Step> {
    const { callContext, sent } = this.#reply
    const { attempt } = this.#record.answer
    if (callContext.call.aborted) return this.#failed(callContext.call.signal.reason)
    if (step.done) {
      this.#record.complete = true
      attempt?.end()
      return this.#end([DONE_EVENT])
    }
    if (step.value.tokens) attempt?.contentBegan()
    if (waited || sent.events.length % EVENTS_OF_A_TURN === 0) noteTime(sent, callContext.recording.elapsed())
    sent.events.push(step.value)
    return step
  }

  async #failed(error: unknown): Promise<Step> {
    await this.#stop().catch(() => {})
    const failure = this.#fail(error)
    return this.#end(failure.kind === 'cancelled' ? [] : this.#failureEvents(errorOf(failure)))
  }

  #fail(error: unknown): Failure {
    const failure = failureOf(error, this.#reply.callContext.call.signal)
    this.#record.failure = failure
    this.#record.answer.attempt?.end(failure)
    return failure
  }

  async #stop(): Promise<void> {
    await this.#source.return?.(undefined)
  }

  /** Ends the call, and only then gives what comes last. */
  async #end(last: readonly StreamEvent[]): Promise<Step> {
    this.#last = last[Symbol.iterator]()
    const problem = await this.#reply.end?.end({ status: 200, headers: this.#reply.headers })
    if (problem) this.#last = this.#failureEvents(problem)[Symbol.iterator]()
    return this.#last.next()
  }

  #failureEvents(error: ApiError): StreamEvent[] {
    const { sent, callContext } = this.#reply
    const { events } = sent
    const before = events.length
    noteTime(sent, callContext.recording.elapsed())
    const last = failureEvents(error, events, callContext.operation)
    // Those of the operation are among the events now.
    if (events.length === before) sent.closing = last
    return last
  }
}

/** The events that tell of a failure in a stream that has begun. Those of the operation belong to the answer that the client has. */
function failureEvents(error: ApiError, sent: StreamEvent[], { events: rules }: Operation): StreamEvent[] {
  const body = envelope(error)
  try {
    const own = rules?.failed?.(body, sent)
    sent.push(...(own ?? []))
    if (own) return own
  } catch {
    // What makes them may be what has failed, and is reported as such.
  }
  return [{ data: body }]
}
