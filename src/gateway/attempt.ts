// One attempt at one target: the backend's reply, within its deadline, as an outcome. An upstream failure is returned,
// not thrown.
import type { BackendCall } from '../contract/core/backend.ts'
import type { ActiveScenario } from '../contract/core/fault.ts'
import type { AnswerContext, Operation, Prompt } from '../contract/core/operation.ts'
import { type Reply, TimedOut } from '../contract/core/reply.ts'
import type { CallSequences } from '../contract/core/sequence.ts'
import { type Clock, withoutLatency } from '../lib/clock.ts'
import { type Deadline, startDeadline, unlessAborted } from '../lib/deadline.ts'
import { fingerprint } from '../lib/ids.ts'
import { type EventBatch, type EventStream, isComplete, type StreamEvent } from '../lib/sse.ts'
import { asObject, asText } from '../lib/values.ts'
import { answerAttempt } from './history.ts'
import { failureOf } from './outcome.ts'
import type { Target } from './plan.ts'
import type { AttemptInfo, AttemptRecorder, Outcome } from './record/recording.ts'
import { read, readyContent } from './stream/read.ts'
import type { CallContext } from './types.ts'

/** Tries a target once. A stream succeeds when its first content arrives. */
export async function attempt(callContext: CallContext, tried: AttemptInfo): Promise<Outcome> {
  const { scenario } = callContext
  const { model } = tried.target
  const record = callContext.recording.attempt(tried)
  const backendCall = new AttemptCall(callContext, tried.target)
  if (scenario) backendCall.isFaulty = isFaulty(callContext, record)
  const { deadline } = backendCall
  try {
    const replying = scenario
      ? attemptThroughFaults(scenario, callContext, { tried, backendCall, record })
      : answerAttempt(callContext, backendCall, record)
    const reply = await inTime(replying, deadline)
    record.replied(reply)
    const { body } = reply
    const content = body.kind === 'bytes' ? await inTime(read(reply, backendCall), deadline) : readyContent(body)
    if (content.kind === 'whole') {
      deadline?.signal.throwIfAborted()
      record.contentBegan()
      record.end()
      deadline?.stop()
      return { kind: 'succeeded', model, content, from: reply, attempt: record }
    }
    let { events } = content
    if (isComplete(events)) deadline?.stop()
    else events = await prefetch(events, deadline, beginsWith(callContext, tried, reply))
    // Throws here, because nothing else records the end of a call whose client is gone.
    if (callContext.call.aborted) callContext.call.signal.throwIfAborted()
    backendCall.begun = true
    return { kind: 'succeeded', model, content: { ...content, events }, from: reply, attempt: record }
  } catch (error) {
    deadline?.stop()
    const { signal } = backendCall
    const failure = failureOf(signal.aborted ? signal.reason : error, callContext.call.signal)
    record.end(failure)
    return failure
  }
}

/** Tells whether a fault of the scenario was triggered, at the attempt or at the response to the client. */
export const isFaulty =
  ({ recording }: Pick<CallContext, 'recording'>, { faults }: Pick<AttemptRecorder, 'faults'>) =>
  (): boolean =>
    faults.length > 0 || recording.steps.faults.length > 0

/** The request of one attempt to the backend. */
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
  /** The limit on its time, if there is one. */
  readonly deadline: Deadline | undefined
  /** Whether the first content of the stream has arrived. */
  begun = false
  /** Set with a scenario. */
  isFaulty?: () => boolean
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
    // Model calls of an agent's task have no client connection to wait for.
    this.clock = facts.agent ? withoutLatency(session.clock) : session.clock
    this.#context = callContext
    this.deadline = callTimeout === undefined ? undefined : this.#limit(callTimeout)
  }

  get jobLimits() {
    return this.#context.session.jobLimits
  }

  /** Created at first use. */
  get signal(): AbortSignal {
    return this.deadline?.signal ?? this.#context.call.signal
  }

  get expire(): ((limit: number) => void) | undefined {
    const { deadline } = this
    if (!deadline) return undefined
    return (limit) => {
      if (deadline.limit <= limit) deadline.expire()
    }
  }

  /** Created at first use: few calls match a fixture with more than one reply. */
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
    const reason = () => new TimedOut(ms, `${model} ${stream ? silence() : 'did not respond'}`)
    return startDeadline(this.clock, ms, { outer: this.#context.call.signal, reason })
  }
}

/** The backend's reply, passed through the faults of the active scenario. */
function attemptThroughFaults(
  scenario: ActiveScenario,
  callContext: CallContext,
  { tried, backendCall, record }: { tried: AttemptInfo; backendCall: AttemptCall; record: AttemptRecorder },
): Promise<Reply> {
  const { facts } = callContext
  const { operation, request, model, stream, clock } = backendCall
  const { target, number } = tried
  const place = { at: 'provider', position: target.position, attempt: number } as const
  return scenario.through(
    { ...facts, ...place, operation, request, model, stream },
    { clock, signal: backendCall.signal, onTriggered: (rule) => record.faults.push(rule) },
    () => answerAttempt(callContext, backendCall, record),
  )
}

/** The request for one target: its model and its own parameters. Unchanged when it already names that model. */
const requestTo = (request: object, model: string, parameters: object | undefined): object =>
  (request as { model?: unknown }).model === model && !parameters ? request : { ...request, ...parameters, model }

/**
 * Tells which event a stream may begin with. Usually that is the first event with content: before it, another attempt
 * can still take over. When no attempt can follow and no timeout is set, the events of a real provider are passed on at
 * once.
 */
function beginsWith(
  { operation: { events: rules }, settings: { retry, fallbacks, callTimeout }, scenario }: CallContext,
  { target, number }: AttemptInfo,
  { provider }: Reply,
): (event: StreamEvent) => boolean {
  const isLast = number > ((target.retry ?? retry)?.count ?? 0) && target.position === fallbacks.length
  const early = isLast && provider !== undefined && callTimeout === undefined && !scenario ? rules?.begins : undefined
  return (event) => Boolean(event.tokens) || (early?.(event.data as Record<string, unknown>) ?? false)
}

/**
 * The key of a call's conversation in its session: the agent's task, the thread, the conversation that the request
 * names, or else the identity and the opening messages.
 */
function conversationOf({ facts, operation, request, prompt }: CallContext): string {
  const { agent, thread, identity = '' } = facts
  if (agent?.task !== undefined) return `task ${agent.task}`
  if (thread !== undefined) return `thread ${thread}`
  const named = namedIn(request)
  if (named) return `conversation ${named}`
  const { system, user } = operation.opening?.(request) ?? prompt
  return fingerprint(JSON.stringify([identity, withoutTimes(system), user]))
}

function namedIn(request: object): string {
  const { conversation } = request as { conversation?: unknown }
  return asText(conversation) || asText(asObject(conversation)?.id) || ''
}

const TIMES = /\d+|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|mon|tue|wed|thu|fri|sat|sun|am|pm)\b/gi
const MONTHS =
  /\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b/gi
/** Instructions often contain the time of day, which differs between calls of one conversation. */
const withoutTimes = (text: string): string => text.replace(TIMES, '#').replace(MONTHS, '#')

/** The result of a step, unless the deadline passes first. Needed because not every step observes the signal. */
const inTime = <T>(step: T | Promise<T>, deadline: Deadline | undefined): T | Promise<T> =>
  deadline ? unlessAborted(deadline.signal, Promise.resolve(step)) : step

/** The same stream, read up to the first event that it may begin with; throws any failure before that event. */
async function prefetch(
  stream: Exclude<EventStream, readonly EventBatch[]>,
  deadline: Deadline | undefined,
  begins: (event: StreamEvent) => boolean,
): Promise<EventStream> {
  const source = stream[Symbol.asyncIterator]()
  const buffered: StreamEvent[] = []
  for (;;) {
    const next = await inTime(source.next(), deadline)
    if (next.done) break
    buffered.push(...next.value)
    if (!next.value.some(begins)) continue
    deadline?.hold()
    return withBuffered(buffered, source, deadline)
  }
  deadline?.stop()
  return [buffered]
}

/** The buffered events, then the rest. A slow client does not count as a silent provider. */
async function* withBuffered(
  buffered: EventBatch,
  source: AsyncIterator<EventBatch>,
  deadline: Deadline | undefined,
): AsyncGenerator<EventBatch> {
  try {
    yield buffered
    for (;;) {
      deadline?.restart()
      const next = await inTime(source.next(), deadline)
      if (next.done) return
      deadline?.hold()
      yield next.value
    }
  } finally {
    deadline?.stop()
    const returned = source.return?.()
    // A source that ignored the signal ignores this too.
    if (!deadline?.signal.aborted) await returned
  }
}
