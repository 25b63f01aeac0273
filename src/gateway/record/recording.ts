// What is recorded of a call: its attempts, its response and its other steps.
import type { ResponseEnd } from '../../contract/core/exchange.ts'
import type { HistoryRecord } from '../../contract/core/history.ts'
import type { KeyValueEntry } from '../../contract/core/key-value.ts'
import type { EventsBody, Reply } from '../../contract/core/reply.ts'
import type { TraceRecord } from '../../contract/core/trace.ts'
import type { EventBatch } from '../../lib/sse.ts'
import type { Failure } from '../outcome.ts'
import type { Target } from '../plan.ts'
import type { ReplyContent } from '../stream/read.ts'
import type { SentBody } from '../stream/sent-body.ts'

/** Which attempt at which target, and why it is made. */
export interface AttemptInfo {
  target: Target
  /** 1, 2, ... for each target. */
  number: number
  why: 'first' | 'retry' | 'fallback'
  /** Wait before the attempt, in ms. */
  waited: number
}

/** An attempt that is being recorded. */
export interface AttemptRecorder {
  contentBegan(): void
  /** Records the status and the request id of the reply. */
  replied(reply: Pick<Reply, 'status' | 'headers' | 'verbatim' | 'fixture'>): void
  /** Records why the provider rejects the conversation, or would reject it. */
  judged(history: HistoryRecord): void
  /** Names of the rules whose faults were triggered in it. */
  readonly faults: string[]
  /**
   * Records the end: a failure, or success without one. `httpStatus` is the status that was sent, null for none; by
   * default that of the reply.
   */
  end(failure?: Failure, httpStatus?: number | null): void
}

/** A successful attempt, complete or as a stream: no further attempt follows it. */
export interface AttemptAnswer {
  kind: 'succeeded'
  model: string
  content: ReplyContent
  from: Pick<Reply, 'headers' | 'usage' | 'fixture' | 'generated' | 'redact'>
  /** Absent for a response from the cache. */
  attempt?: AttemptRecorder
}

/** What an attempt comes to: a response, or a failure as a value. */
export type Outcome = AttemptAnswer | Failure

/** What a complete response stores for later calls, and its own token counts. */
export interface AnswerEffects {
  usage: Record<string, unknown> | null
  keep: readonly KeyValueEntry[]
}

/** The events of a stream so far. */
export interface SentStream {
  kind: 'events'
  events: EventBatch
  /** When the events were sent, in the format of `ExchangeNote`. */
  times: number[]
  /** Events sent after the response that are not part of it, for a failure. */
  closing?: EventBatch
  whole: EventsBody['whole']
}

/** The response of the gateway, before any fault between it and the client. */
export interface AnswerRecord {
  answer: AttemptAnswer
  /** The events so far, or the whole response with its text. */
  content: SentStream | { kind: 'value'; value: unknown; text: string }
  complete: boolean
  /** What ended it early. */
  failure?: Failure
  /** What it stores once it is complete. */
  effects(value: unknown): AnswerEffects
}

/** The response that was sent, where it differs from the response of the gateway. */
export interface SentResponse {
  /** Absent when the body is the recorded response. */
  body?: SentBody
  /** Its content type; absent for the default one. */
  type?: string
  /** Its cookies, which are not in its other headers. */
  cookies?: readonly string[]
  /** How the connection ended; absent when nothing broke it. */
  ended?: ResponseEnd
  /** Set when nothing was sent. */
  nothing?: true
  /** Whether the connection ends only after a pause. */
  pauses?: boolean
}

/** The steps of a call, as in its trace. */
export type TraceSteps = Pick<
  TraceRecord,
  'plan' | 'scenario' | 'faults' | 'attempts' | 'cache' | 'guardrails' | 'retrievals'
>

/** The steps of a call that has just begun. */
export const emptySteps = (): TraceSteps => ({
  plan: [],
  scenario: null,
  faults: [],
  attempts: [],
  cache: null,
  guardrails: [],
  retrievals: [],
})
