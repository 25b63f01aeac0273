// Observations of calls and sessions as they happen, for live lists, waits and exports.
import type { Finding } from './finding.ts'
import type { AttemptRecord, TaskTrace, TraceRecord } from './trace.ts'

/** Common fields of all observations. */
interface ObservationBase {
  /** Name of the session. */
  session: string
  /** Milliseconds of a monotonic clock; only differences are meaningful. */
  at: number
}
/** A call has started. */
export interface CallBegun extends ObservationBase {
  type: 'call-begun'
  /** Id of its trace. */
  trace: string
  operation: string
  /** The trace of the call that made this one internally; null for a call of a client. */
  parent: string | null
}
/** An attempt has ended. */
export interface AttemptEnded extends ObservationBase {
  type: 'attempt-ended'
  trace: string
  attempt: AttemptRecord
}
/** A step of an agent's task is committed. */
export interface TaskChanged extends ObservationBase {
  type: 'task-changed'
  /** The trace of its turn, and its number. */
  trace: string
  seq: number
  /** Its current state, with the new steps. */
  task: TaskTrace
}
/** The trace of a call is committed; for an agent's turn, its final form. */
export interface TraceSaved extends ObservationBase {
  type: 'trace-saved'
  /** The number of the call in its session. */
  seq: number
  trace: TraceRecord
}
/** A call has ended whose trace could not be stored. */
interface CallLost extends ObservationBase {
  type: 'call-lost'
  /** The id that its trace would have had. */
  trace: string
}
/** Something about a session has changed. */
interface SessionChanged extends ObservationBase {
  type: 'session-changed'
  change: 'created' | 'deleted' | 'reset' | 'replaced' | 'clock' | 'scenario' | 'fixtures'
}
/** A verdict on a session was requested. */
export interface SessionVerified extends ObservationBase {
  type: 'session-verified'
  ok: boolean
  findings: readonly Finding[]
}
/** Something that happened. */
export type Observation =
  | CallBegun
  | AttemptEnded
  | TaskChanged
  | TraceSaved
  | CallLost
  | SessionChanged
  | SessionVerified

/** A step of the gateway, other than an attempt, that has ended. */
export interface EndedStep {
  kind: 'retrieval' | 'guardrail' | 'cache'
  at: number
}

/** The content of a call, for exporters. It is not shown, and must not be retained for more than some milliseconds. */
export interface CallMaterial {
  /** The URL as parsed and as received, and the headers, when the call starts. */
  url?: string
  received?: { readonly url: string } | undefined
  /** The path with the names of its parameters, such as `/v2/agents/{key}/task`; default: that of `url`. */
  route?: string | undefined
  headers?: Pick<Headers, 'get'>
  inner?: { agent?: { iteration: number } | undefined } | undefined
  /** The parsed request and the response, when its trace is saved. */
  request?: object | undefined
  answer?: unknown
  /** When the searches, the guardrails and the cache lookup ended, in order; times are those of observations. */
  steps?: readonly EndedStep[] | undefined
  /** Whether its trace may store them. */
  retained?: boolean
  /**
   * The HTTP status that was sent, when it or an attempt has ended; null if none was sent, whatever the trace shows.
   */
  httpStatus?: number | null
}

/** Called for each observation, synchronously and in order. It must not block. */
export type Observer = (observation: Observation, call?: CallMaterial) => void

/** An observation before it has its time. */
type NewObservation = Observation extends infer One ? (One extends Observation ? Omit<One, 'at'> : never) : never

/** An observation that is counted, whatever its time. */
export type CountedObservation = Omit<TraceSaved, 'at'> | Omit<SessionVerified, 'at'>

/** One family of counters. */
export interface CountFamily {
  name: string
  help: string
  type: 'counter' | 'gauge' | 'histogram'
  samples: readonly { suffix?: string; labels: Readonly<Record<string, string>>; value: number }[]
}
/** Counts since the start. */
export interface CallCounts {
  add(observation: CountedObservation): void
  families(): CountFamily[]
}

/** Distributes observations to observers. */
export interface Observers {
  /** Whether there are observers. If not, an observation need not be created. */
  readonly active: boolean
  /** Adds an observer. The returned function removes it. */
  add(observer: Observer): () => void
  /** The counts of all calls. */
  counts(): CallCounts
  notify(observation: NewObservation, call?: CallMaterial): void
  /** Aborts when the program is about to end, so that no one waits for observations any longer. */
  readonly ended: AbortSignal
  end(): void
}
