// One try of one target: a backend's reply, under the deadline, as an outcome. An upstream failure is a value here.
import type { BackendCall } from '../contract/core/backend.ts'
import type { ActiveScenario } from '../contract/core/fault.ts'
import type { AnswerContext, Operation, Prompt } from '../contract/core/operation.ts'
import type { Reply } from '../contract/core/reply.ts'
import type { CallSequences } from '../contract/core/sequence.ts'
import { type Clock, withoutLatency } from '../lib/clock.ts'
import { type Deadline, startDeadline } from '../lib/deadline.ts'
import type { StreamEvent } from '../lib/sse.ts'
import { conversationOf } from './conversation.ts'
import { answerAttempt } from './history.ts'
import { failureOf, TimedOut } from './outcome.ts'
import type { Target } from './plan.ts'
import type { AttemptInfo, AttemptRecorder, Outcome } from './record/recording.ts'
import { inTime, prefetch } from './stream/prefetch.ts'
import { read } from './stream/read.ts'
import type { CallContext } from './types.ts'

/** Tries a target once; a stream counts as answered when its first content has come. */
export async function attempt(callContext: CallContext, tried: AttemptInfo): Promise<Outcome> {
  const { playing } = callContext
  const { model } = tried.target
  const record = callContext.recording.attempt(tried)
  const asked = new AttemptCall(callContext, tried.target)
  const { deadline } = asked
  try {
    const replying = playing
      ? askThroughFaults(callContext, { playing, tried, asked, record })
      : answerAttempt(callContext, asked, record)
    const reply = await inTime(replying, deadline)
    record.replied(reply)
    const content = await inTime(read(reply, asked), deadline)
    if (content.kind === 'whole') {
      deadline?.signal.throwIfAborted()
      record.contentBegan()
      record.end()
      deadline?.stop()
      return { kind: 'succeeded', model, content, from: reply, attempt: record }
    }
    const events = await prefetch(content.events, deadline, beginsWith(callContext, tried, reply))
    // A client that has gone is told nothing, so nothing would record the end.
    if (callContext.call.aborted) callContext.call.signal.throwIfAborted()
    asked.begun = true
    return { kind: 'succeeded', model, content: { ...content, events }, from: reply, attempt: record }
  } catch (error) {
    deadline?.stop()
    const { signal } = asked
    const failure = failureOf(signal.aborted ? signal.reason : error, callContext.call.signal)
    record.end(failure)
    return failure
  }
}

/** What the backend is asked in an attempt. */
export class AttemptCall implements BackendCall {
  readonly operation: Operation
  readonly request: object
  readonly model: string
  readonly stream: boolean
  readonly session: string
  readonly prompt: Prompt
  readonly headers: Headers
  readonly answerContext: AnswerContext
  readonly clock: Clock
  /** The limit on its time, when there is one. */
  readonly deadline: Deadline | undefined
  /** Whether the stream has its first content. */
  begun = false
  readonly #context: CallContext

  constructor(callContext: CallContext, target: Target) {
    const { model, parameters, callTimeout = callContext.settings.callTimeout } = target
    const { operation, session, stream, prompt, answerContext, facts } = callContext
    this.operation = operation
    this.request = requestTo(callContext.request, model, parameters)
    this.model = model
    this.stream = stream
    this.session = session.name
    this.prompt = prompt
    this.headers = facts.headers
    this.answerContext = answerContext
    // The client of an agent's task waits on no connection for its model calls.
    this.clock = facts.agent ? withoutLatency(session.clock) : session.clock
    this.#context = callContext
    this.deadline = callTimeout === undefined ? undefined : this.#limit(callTimeout)
  }

  get jobLimits() {
    return this.#context.session.jobLimits
  }

  /** Made when it is asked for. */
  get signal(): AbortSignal {
    return this.deadline?.signal ?? this.#context.call.signal
  }

  /** Few calls have a fixture with more than one reply. */
  get sequences(): CallSequences {
    const { session, call, recording } = this.#context
    recording.sequences ??= session.sequences.begin(call.inner?.key)
    return recording.sequences
  }

  conversation(): string {
    return conversationOf(this.#context)
  }

  #limit(ms: number): Deadline {
    const { model, stream } = this
    const silence = () => (this.begun ? 'was silent: nothing came' : 'sent no content')
    const reason = () => new TimedOut(ms, `${model} ${stream ? silence() : 'did not answer'}`)
    return startDeadline(this.clock, ms, { outer: this.#context.call.signal, reason })
  }
}

/** The backend's answer through the faults of a scenario, if it has any for this attempt. */
function askThroughFaults(
  callContext: CallContext,
  {
    playing,
    tried,
    asked,
    record,
  }: { playing: ActiveScenario; tried: AttemptInfo; asked: AttemptCall; record: AttemptRecorder },
): Promise<Reply> {
  const { facts } = callContext
  const { operation, request, model, stream, clock } = asked
  const { target, number } = tried
  const place = { at: 'provider', position: target.position, attempt: number } as const
  return playing.through(
    { ...facts, ...place, operation, request, model, stream },
    { clock, signal: asked.signal, onTriggered: (rule) => record.faults.push(rule) },
    () => answerAttempt(callContext, asked, record),
  )
}

/** The request to a model, with the parameters that are its own; most go to the one that they name. */
const requestTo = (request: object, model: string, parameters: object | undefined): object =>
  (request as { model?: unknown }).model === model && !parameters ? request : { ...request, ...parameters, model }

/**
 * Which event a stream begins with: the first that carries content, since until then another attempt can take the place of
 * this one. Where none can, and nobody asked how long to wait, a real provider's beginning is passed on as it comes.
 */
function beginsWith(
  { operation: { events: rules }, settings: { retry, fallbacks, callTimeout }, playing }: CallContext,
  { target, number }: AttemptInfo,
  { provider }: Reply,
): (event: StreamEvent) => boolean {
  const isLast = number > ((target.retry ?? retry)?.count ?? 0) && target.position === fallbacks.length
  const early = isLast && provider !== undefined && callTimeout === undefined && !playing ? rules?.begins : undefined
  return (event) => Boolean(event.tokens) || (early?.(event.data as Record<string, unknown>) ?? false)
}
