// What is observed of calls and sessions while they go on, for lists that live, for waits and for exports.
import type { Finding } from './finding.ts'
import type { AttemptRecord, TaskTrace, TraceRecord } from './trace.ts'

/** What every observation says. */
interface ObservationBase {
  /** Name of the session. */
  session: string
  /** Milliseconds of a clock of the machine that never jumps; only differences mean anything. */
  at: number
}
/** A call has come, or was made from inside. */
export interface CallBegun extends ObservationBase {
  type: 'call-begun'
  /** Id of its trace. */
  trace: string
  operation: string
  /** The trace of the call from inside which it was made; null for one of a client. */
  parent: string | null
}
/** An attempt has its outcome. */
export interface AttemptEnded extends ObservationBase {
  type: 'attempt-ended'
  trace: string
  attempt: AttemptRecord
}
/** A step of an agent's task is committed. */
export interface TaskChanged extends ObservationBase {
  type: 'task-changed'
  /** The trace of its turn, and the number of that. */
  trace: string
  seq: number
  /** As it is now, with the steps that are new. */
  task: TaskTrace
}
/** The trace of a call is committed; that of a turn of an agent in its last form. */
export interface TraceSaved extends ObservationBase {
  type: 'trace-saved'
  /** The number of the call in its session. */
  seq: number
  trace: TraceRecord
}
/** A call has ended whose trace could not be stored. */
interface CallLost extends ObservationBase {
  type: 'call-lost'
  /** What would have been the id of its trace. */
  trace: string
}
/** Something about a session is no longer as it was. */
export interface SessionChanged extends ObservationBase {
  type: 'session-changed'
  change: 'created' | 'deleted' | 'reset' | 'replaced' | 'clock' | 'scenario' | 'fixtures'
}
/** A verdict on a session has been asked for. */
export interface SessionVerified extends ObservationBase {
  type: 'session-verified'
  ok: boolean
  findings: readonly Finding[]
}
/** One thing that has happened. */
export type Observation =
  | CallBegun
  | AttemptEnded
  | TaskChanged
  | TraceSaved
  | CallLost
  | SessionChanged
  | SessionVerified

/** A step of the gateway beside the attempts that has ended. */
export interface EndedStep {
  kind: 'retrieval' | 'guardrail' | 'cache'
  at: number
}

/** What a call is made of, for those who export it: it is shown nowhere, and not to be held on to for longer than some milliseconds. */
export interface CallMaterial {
  /** The address as the program takes it and as it came, and the headers, when it begins. */
  url?: string
  received?: { readonly url: string } | undefined
  /** The path with the names of its parameters, such as `/v2/agents/{key}/task`; that of `url` when left out. */
  route?: string | undefined
  headers?: Pick<Headers, 'get'>
  inner?: { agent?: { iteration: number } | undefined } | undefined
  /** The request as it was parsed and the answer that was given, when its trace is saved. */
  request?: object | undefined
  answer?: unknown
  /** When the searches, the guardrails and the look into the cache ended, in their order; times are those of observations. */
  steps?: readonly EndedStep[] | undefined
  /** Whether its trace may keep them. */
  retained?: boolean
  /** The HTTP status that was sent, when it or an attempt has ended; null when none was, whatever the trace says in the place of one. */
  httpStatus?: number | null
}

/** Is told of what happens, at once and in order; it must not wait. */
export type Observer = (observation: Observation, call?: CallMaterial) => void

/** An observation before it has its time. */
type NewObservation = Observation extends infer One ? (One extends Observation ? Omit<One, 'at'> : never) : never

/** An observation that is counted, whenever it was. */
export type CountedObservation = Omit<TraceSaved, 'at'> | Omit<SessionVerified, 'at'>

/** What is counted, of a kind. */
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

/** Hands on what happens to whoever observes. */
export interface Observers {
  /** Whether anybody observes; when nobody does, an observation need not even be made. */
  readonly active: boolean
  /** Begins to observe; the function that comes back ends it. */
  add(observer: Observer): () => void
  /** What is counted of all calls, whoever observes. */
  counts(): CallCounts
  notify(observation: NewObservation, call?: CallMaterial): void
  /** Aborted when the program is about to end: whoever waits for something to happen waits no longer. */
  readonly ended: AbortSignal
  end(): void
}
