// The events of a reply on their way to a client, noted as they go, and the end of the call behind the last of them.
import { type ApiError, envelope } from '../contract/error.ts'
import type { Operation } from '../contract/operation.ts'
import {
  DONE_EVENT,
  encodeEvent,
  type PromptIterable,
  type PromptIterator,
  type StreamEvent,
  type StreamEvents,
} from '../lib/sse.ts'
import { areReady, dataCharacters, eventList, type ReadyEvents, WrittenEvents } from '../lib/written-events.ts'
import { errorOf, type Failure, failureOf, UNHEARD } from './outcome.ts'
import type { AnswerRecord, SentStream } from './recording.ts'
import { EVENTS_OF_A_TURN, noteTime } from './sent-body.ts'
import type { ReplyContext } from './types.ts'

type Step = IteratorResult<StreamEvent>

/** A stream of which all is there: its events, and what comes behind them. */
export interface ReadyStream {
  blocks: readonly string[] | WrittenEvents
  last: readonly string[]
}

/** A stream that may be there already. */
export interface ReadyEventStream extends PromptIterable<StreamEvent> {
  /** Whether all of it is there, and little. */
  readonly isReady: boolean
  /**
   * All events as they are put on the wire, where they are there already and few: the call has ended before the first is sent.
   * Undefined where they have to go one by one.
   * @throws ApiError when the call cannot be stored: nothing has been sent, and so it can be refused.
   */
  atOnce(): Promise<ReadyStream> | undefined
}

/** Whether a stream is one of those. */
export const mayBeReady = (events: StreamEvents): events is ReadyEventStream => 'atOnce' in events

/** Characters of a stream that is sent in one piece: a connection takes them, whether or not its client reads. */
const MOST_AT_ONCE = 64 * 1024

/**
 * The events that a client gets, the end mark included; a failure becomes an event and leaves out the mark. Gone through
 * once. No generator: what is there already comes without a promise.
 */
export class ReplyEvents implements ReadyEventStream, PromptIterator<StreamEvent> {
  readonly #events: StreamEvents
  /** Those that went out one by one. */
  readonly #given: StreamEvent[] = []
  #iterator: Iterator<StreamEvent> | PromptIterator<StreamEvent> | undefined
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
    this.#events = events
    this.#record = record
    this.#reply = reply
    reply.sent.events = this.#given
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  get isReady(): boolean {
    const events = this.#events
    return areReady(events) && dataCharacters(events) <= MOST_AT_ONCE && !this.#reply.callContext.call.aborted
  }

  /** What is done with one event after the other is done once with all. */
  atOnce(): Promise<ReadyStream> | undefined {
    const events = this.#events
    const { callContext, sent } = this.#reply
    if (!areReady(events) || callContext.call.aborted) return undefined
    const blocks = blocksOf(events)
    if (!blocks) return undefined
    sent.events = events
    const now = callContext.recording.elapsed()
    if (events instanceof WrittenEvents ? events.hasContent : events.some(hasContent))
      this.#record.answer.attempt?.contentBegan()
    if (blocks.length > 0) sent.times.push(0, now)
    return this.#ended(blocks)
  }

  async #ended(blocks: ReadyStream['blocks']): Promise<ReadyStream> {
    const last = this.#complete()
    const problem = await this.#ending()
    if (problem) throw problem
    return { blocks, last: last.map(encodeEvent) }
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
    if (callContext.call.aborted) return this.#failed(callContext.call.signal.reason)
    if (step.done) return this.#end(this.#complete())
    if (hasContent(step.value)) this.#record.answer.attempt?.contentBegan()
    if (waited || sent.events.length % EVENTS_OF_A_TURN === 0)
      noteTime(sent.times, sent.events.length, callContext.recording.elapsed())
    this.#given.push(step.value)
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

  get #source(): Iterator<StreamEvent> | PromptIterator<StreamEvent> {
    const events = this.#events
    this.#iterator ??= Symbol.asyncIterator in events ? events[Symbol.asyncIterator]() : events[Symbol.iterator]()
    return this.#iterator
  }

  async #stop(): Promise<void> {
    await this.#source.return?.(undefined)
  }

  /** Nothing is missing; what comes last is given. */
  #complete(): readonly StreamEvent[] {
    this.#record.complete = true
    this.#record.answer.attempt?.end()
    return END_MARK
  }

  async #end(last: readonly StreamEvent[]): Promise<Step> {
    this.#last = (await this.#over(last))[Symbol.iterator]()
    return this.#last.next()
  }

  /** Ends the call, and only then gives what comes last. */
  async #over(last: readonly StreamEvent[]): Promise<readonly StreamEvent[]> {
    const problem = await this.#ending()
    return problem ? this.#failureEvents(problem) : last
  }

  /** Ends the call; gives why it could not be stored. */
  #ending(): Promise<ApiError | undefined> | undefined {
    this.#last = NO_EVENTS[Symbol.iterator]()
    return this.#reply.end?.end({ status: 200, headers: this.#reply.headers })
  }

  #failureEvents(error: ApiError): readonly StreamEvent[] {
    const { sent, callContext } = this.#reply
    noteTime(sent.times, sent.events.length, callContext.recording.elapsed())
    const body = envelope(error)
    const own = ownFailureEvents(body, sent, callContext.operation)
    // Those of the operation belong to the answer that the client has.
    if (own) sent.events = [...sent.events, ...own]
    else sent.closing = [{ data: body }]
    return own ?? [{ data: body }]
  }
}

const NO_EVENTS: readonly StreamEvent[] = []
const END_MARK: readonly StreamEvent[] = [DONE_EVENT]
const hasContent = ({ tokens }: StreamEvent) => Boolean(tokens)

/** The events by which an operation tells of a failure in a stream that has begun. */
function ownFailureEvents(
  body: ReturnType<typeof envelope>,
  { events }: SentStream,
  { events: rules }: Operation,
): readonly StreamEvent[] | undefined {
  try {
    return rules?.failed?.(body, eventList(events))
  } catch {
    // What makes them may be what has failed, and is reported as such.
    return undefined
  }
}

/** Some events as they are on the wire; undefined when they are too many, or one of them cannot be written. */
function blocksOf(events: ReadyEvents): ReadyStream['blocks'] | undefined {
  if (events instanceof WrittenEvents) return events.characters > MOST_AT_ONCE ? undefined : events
  let left = MOST_AT_ONCE
  const blocks: string[] = []
  try {
    for (const event of events) {
      const block = encodeEvent(event)
      left -= block.length
      if (left < 0) return undefined
      blocks.push(block)
    }
    return blocks
  } catch {
    // Its maker is told of it when its turn comes.
    return undefined
  }
}
