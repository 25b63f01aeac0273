// What is written down of a call: the way of each attempt, the answer that was given, and the steps of the trace.
import type { ResponseEnd } from '../../contract/core/exchange.ts'
import type { ActiveScenario } from '../../contract/core/fault.ts'
import type { HistoryRecord } from '../../contract/core/history.ts'
import type { KeyValueEntry } from '../../contract/core/key-value.ts'
import type { EndedStep, Observers } from '../../contract/core/observation.ts'
import type { EventsBody, Reply } from '../../contract/core/reply.ts'
import type { CallSequences } from '../../contract/core/sequence.ts'
import type { GuardrailRecord, RetrievalRecord, TraceRecord } from '../../contract/core/trace.ts'
import type { EventBatch } from '../../lib/sse.ts'
import type { Session } from '../../sessions/sessions.ts'
import type { Call } from '../call.ts'
import type { Failure } from '../outcome.ts'
import type { PassedRequest } from '../passing.ts'
import type { Target } from '../plan.ts'
import type { Settings } from '../settings.ts'
import type { ReplyContent } from '../stream/read.ts'
import type { SentBody } from '../stream/sent-body.ts'

/** Which try of which target, and what led to it. */
export interface AttemptInfo {
  target: Target
  /** 1, 2, ... of this target. */
  number: number
  why: 'first' | 'retry' | 'fallback'
  /** Milliseconds waited before it. */
  waited: number
}

/** An attempt being recorded. */
export interface AttemptRecorder {
  contentBegan(): void
  /** Notes the reply's id of the provider. */
  replied(reply: Pick<Reply, 'status' | 'headers' | 'verbatim' | 'fixture'>): void
  /** Notes why the provider rejects the conversation, or would. */
  judged(history: HistoryRecord): void
  /** Rules of the scenario whose faults have acted on it. */
  readonly faults: string[]
  /**
   * Notes how it ended; an answer when there is no failure. `httpStatus` is the one that was sent in the end, null for none: that of the
   * reply when left out.
   */
  end(failure?: Failure, httpStatus?: number | null): void
}

/** An answer, whole or begun: from here on nothing is tried again. */
export interface AttemptAnswer {
  kind: 'succeeded'
  model: string
  content: ReplyContent
  from: Pick<Reply, 'headers' | 'usage' | 'fixture' | 'generated' | 'redact'>
  /** Absent when no attempt was made: the answer comes from the cache. */
  attempt?: AttemptRecorder
}

/** What an attempt comes to: a response, or a failure as a value. */
export type Outcome = AttemptAnswer | Failure

/** What a complete answer leaves for later calls, and the token counts that it says itself. */
export interface AnswerEffects {
  usage: Record<string, unknown> | null
  keep: readonly KeyValueEntry[]
}

/** A stream on its way to a client: its events so far. */
export interface SentStream {
  kind: 'events'
  events: EventBatch
  /** When they went out, as `ExchangeNote` has it. */
  times: number[]
  /** What was sent behind them, and is no part of the answer: the event of a failure. */
  closing?: EventBatch
  whole: EventsBody['whole']
}

/** What the gateway answers, before any fault between it and the client. */
export interface AnswerRecord {
  answer: AttemptAnswer
  /** The events so far, or the whole answer with its text. */
  content: SentStream | { kind: 'value'; value: unknown; text: string }
  complete: boolean
  /** What cut it short. */
  failure?: Failure
  /** What the answer leaves when it is complete. */
  effects(value: unknown): AnswerEffects
}

/** What a client was sent, where that is not simply the answer of the gateway. */
export interface SentResponse {
  /** Absent where the body is the answer. */
  body?: SentBody
  /** Its content type; absent where it is the usual one. */
  type?: string
  /** Its cookies, which are none of its other headers. */
  cookies?: readonly string[]
  /** How the connection ended; absent where nothing broke it. */
  ended?: ResponseEnd
  /** Not one byte was sent. */
  nothing?: true
}

/** What happened in a call, as its trace says it. */
export type TraceSteps = Pick<
  TraceRecord,
  'plan' | 'scenario' | 'faults' | 'attempts' | 'cache' | 'guardrails' | 'retrievals'
>

/** The steps of a call in which nothing has happened. */
export const emptySteps = (): TraceSteps => ({
  plan: [],
  scenario: null,
  faults: [],
  attempts: [],
  cache: null,
  guardrails: [],
  retrievals: [],
})

/** A call being recorded. */
export interface TraceRecorder {
  readonly call: Call
  readonly id: string
  /** The number of the call in its session. */
  readonly seq: number
  /** Milliseconds since the epoch at which the call began, by the clock of its session. */
  readonly started: number
  /** The same by the clock of the machine. */
  readonly arrived: number
  /** Where it is stored: what the call began with, whatever becomes of the session. */
  readonly stores: Pick<Session, 'traces' | 'keyValues' | 'sequences'>
  readonly observers: Observers
  readonly steps: TraceSteps
  /** When those beside the attempts ended, for who observes. */
  readonly endedSteps: readonly EndedStep[]
  /** What the body says, once it is parsed. */
  request?: { metadata?: TraceRecord['metadata'] }
  settings?: Settings
  /** Whether no gateway is between the client and its provider. */
  direct: boolean
  /** The client's own request, where its provider gets that, and the client what that sends. */
  passed?: PassedRequest | undefined
  /** Whether its body fits our schema; one that is passed on need not. */
  isRead: boolean
  /** How far it has used sequences of fixtures; absent when it has used none. */
  sequences?: CallSequences
  /** JSON of the request as it is sent on, `null` unless that is another. */
  rendered: string
  /** Which of the client's calls it is; absent until it is read, and of calls from inside. */
  point?: string | undefined
  /** The failure that the call will be refused with. */
  failure?: Failure
  answer?: AnswerRecord
  /** What its client was sent. */
  sent?: SentResponse
  /** Milliseconds of the session since the call began. */
  elapsed(): number
  plan(targets: readonly Target[]): void
  attempt(tried: AttemptInfo): AttemptRecorder
  /** Notes that the cache was asked, and the age in ms of what it had. */
  cache(key: string, age: number | undefined): void
  guardrail(verdict: GuardrailRecord): void
  retrieval(found: RetrievalRecord): void
  /** Notes the scenario that is played. */
  playing(scenario: ActiveScenario | undefined): void
}
