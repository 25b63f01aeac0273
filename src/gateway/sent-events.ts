// The events of a compatible API on their way to a client, noted as they are on the wire; the call ends before the last of them.
import type { ApiError } from '../contract/error.ts'
import type { EventsBody, Reply } from '../contract/reply.ts'
import type { Wire } from '../contract/wire.ts'
import { DONE_EVENT, encodeEvent, eventOfType, type PromptIterator, type StreamEvent } from '../lib/sse.ts'
import { asObject } from '../lib/values.ts'
import type { TraceRecorder } from './recording.ts'
import type { ReadyEventStream, ReadyStream } from './reply-events.ts'
import { EVENTS_OF_A_TURN, SentBody } from './sent-body.ts'
import type { CallEnd } from './types.ts'

type Step = IteratorResult<StreamEvent>
const OVER: Step = { done: true, value: undefined }

/** What the events are sent for. */
export interface SentStreamCall {
  wire: Wire
  recording: TraceRecorder
  end: CallEnd
  /** Whether all events are there, and few. */
  isReady: boolean
}

/** The reply whose events are noted as they are sent, and end the call. */
export const noted = (reply: Reply & { body: EventsBody }, call: SentStreamCall): Reply => ({
  ...reply,
  body: { ...reply.body, events: new SentEvents(reply, call), marked: true },
})

/** Gone through once. No generator: what is there already comes without a promise. */
class SentEvents implements ReadyEventStream, PromptIterator<StreamEvent> {
  readonly #source: PromptIterator<StreamEvent> | Iterator<StreamEvent>
  readonly #headers: Record<string, string>
  readonly #call: SentStreamCall
  readonly #body = new SentBody()
  /** Whether the call has ended. */
  #ended = false
  #over = false
  /** A step that was looked at before its turn. */
  #ahead: Step | undefined
  /** Whether nothing has been sent when the call ends, which can be refused then. */
  #isKeptBack = false

  constructor({ body: { events }, headers }: Reply & { body: EventsBody }, call: SentStreamCall) {
    this.#source = Symbol.asyncIterator in events ? events[Symbol.asyncIterator]() : events[Symbol.iterator]()
    this.#headers = headers
    this.#call = call
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  get isReady(): boolean {
    return this.#call.isReady
  }

  atOnce(): Promise<ReadyStream> | undefined {
    return this.isReady ? this.#all() : undefined
  }

  async #all(): Promise<ReadyStream> {
    this.#isKeptBack = true
    const blocks: string[] = []
    for (;;) {
      // What is there needs no promise: it would cost more than the event.
      const next = this.next()
      const step = next instanceof Promise ? await next : next
      if (step.done) return { blocks, last: [] }
      blocks.push(encodeEvent(step.value))
    }
  }

  next(): Step | Promise<Step> {
    if (this.#over) return OVER
    const step = this.#ahead ?? this.#source.next()
    this.#ahead = undefined
    return step instanceof Promise ? step.then((come) => this.#noted(come, true)) : this.#noted(step, false)
  }

  /** Somebody stopped listening. */
  async return(): Promise<Step> {
    await this.#source.return?.(undefined)
    if (!this.#ended) await this.#end()
    return OVER
  }

  /** `waited` says that it was not there at once: what was, goes out at the time of the one before. */
  #noted(step: Step, waited: boolean): Step | Promise<Step> {
    if (step.done) return this.#ended ? OVER : this.#end().then((problem) => (problem ? this.#problem(problem) : OVER))
    let block: string
    try {
      block = encodeEvent(step.value)
    } catch (error) {
      return this.#thrownBack(error)
    }
    const body = this.#body
    const isTimed = waited || body.pieces.length % EVENTS_OF_A_TURN === 0
    body.add(block, isTimed ? this.#call.recording.elapsed() : undefined)
    const event = { data: undefined, block }
    const given = { done: false as const, value: event }
    const end = () => this.#end().then((problem) => (problem ? this.#problem(problem) : given))
    if (this.#isLast(step.value)) return end()
    if (!this.#mayBeLast(step.value)) return given
    return Promise.resolve(this.#source.next()).then((next) => {
      this.#ahead = next
      return next.done ? end() : given
    })
  }

  /** Whether no mark comes behind it in most streams: the next step then says whether it was the last. */
  #mayBeLast({ data }: StreamEvent): boolean {
    const { wire, recording } = this.#call
    return wire.events === undefined && (recording.call.operation.events?.last?.(asObject(data) ?? {}) ?? false)
  }

  /** The maker of an event that cannot be encoded tells the client and the trace. */
  async #thrownBack(error: unknown): Promise<Step> {
    if (!this.#source.throw) throw error
    return this.#noted(await this.#source.throw(error), true)
  }

  #isLast({ data, text }: StreamEvent): boolean {
    const { events } = this.#call.wire
    return text === DONE_EVENT.text || (events?.ends?.(asObject(data) ?? {}) ?? false)
  }

  /** Why the call could not be stored, in place of what comes last. */
  #problem(problem: ApiError): Step {
    if (this.#isKeptBack) throw problem
    this.#over = true
    const { wire, recording } = this.#call
    return { done: false, value: eventOfType(wire.error(problem, recording.id)) }
  }

  #end(): Promise<ApiError | undefined> {
    const { recording, end } = this.#call
    this.#ended = true
    recording.sent = { body: this.#body }
    return end.end({ status: 200, headers: this.#headers })
  }
}
