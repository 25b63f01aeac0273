// A session as its users see it: one generation, whose clock, stores and signal never change. A reset, a snapshot and
// another scenario start the next one and end this one by its signal, so that nothing changes under a running call.
import type { HistoryMode } from '../contract/core/history-mode.ts'
import type { Instance } from '../contract/core/instance.ts'
import type { JobLimits } from '../contract/core/job-limits.ts'
import type { Snapshot } from '../db/snapshot.ts'
import type { RealClock, TimeSettings } from '../lib/clock.ts'
import type { VirtualClock } from '../lib/virtual-clock.ts'
import type { SessionData, Stores } from './data.ts'

/** The session of clients that name none. */
export const DEFAULT_SESSION = 'default'

/** Whether a tool call that needs approval waits for it, or is approved at once. */
export type Approvals = 'ask' | 'auto'

/** What a call uses from start to end. */
export interface Session
  extends Readonly<
    Pick<SessionData, keyof Stores | 'transact' | 'keyedKinds' | 'snapshot' | 'counts' | 'calls' | 'underWay'>
  > {
  readonly name: string
  readonly seed: number
  /** Whether it is the session of programs that name none. */
  readonly isHome: boolean
  /** Whether tool calls that need approval are approved at once. */
  readonly approvals: Approvals
  /** How strictly its conversations are judged; undefined where the scenario or the server decides. */
  readonly history: HistoryMode | undefined
  readonly clock: RealClock | VirtualClock
  /** Aborts when this generation ends, with the `ApiError` of its calls. */
  readonly ended: AbortSignal
  /** The limits of its jobs in workers; the usual ones if undefined. */
  readonly jobLimits: JobLimits | undefined
  /** A secret for names that cannot be guessed; a function of the seed on a virtual clock. */
  readonly secret: string
  /** The number of the next call: 1, 2, ... */
  nextCall(): number
  /** Starts a call or another activity, which ends with this generation or when its client disconnects. */
  begin(client: Requester): Activity
  /** The same for every generation. */
  readonly slot: SessionHandle
}

/** The requester of work, such as a request. */
export interface Requester {
  /** Aborts when it disconnects. */
  readonly signal: AbortSignal
}

/** An activity in a session. */
export interface Activity {
  /**
   * Aborts when the client disconnects, or with the session's reason. Created on demand: most calls end before anyone
   * needs it.
   */
  readonly signal: AbortSignal
  /** Whether the signal is aborted, or would be if it were created. */
  readonly aborted: boolean
  /** Ends it. */
  end(): void
}

/** How a session was created: by its first call, explicitly, or from the file of an earlier process. */
export type SessionOrigin = 'called' | 'made' | 'restored'

/**
 * Why another one of several instances may have handled calls of a session: its first call created it, an earlier
 * process has left it, or the balancer reports it.
 */
export type SessionGap = 'called' | 'restored' | 'moved'

/** A session through all its generations. */
export interface SessionHandle {
  readonly origin: SessionOrigin
  /** The process that it belongs to. */
  readonly instance: Instance
  /**
   * Why it may lack calls that another instance handled; undefined if it has them all, or there is no other instance.
   */
  readonly gap: SessionGap | undefined
  /** Another instance has handled a call of it since the last one here. */
  moved(): void
  /** What to tell the first request about a session: that it is new, or why it may lack calls. */
  announce(): SessionGap | undefined
  /** The current generation. */
  readonly current: Session
  /** Why its file could not be used the last time; undefined if it could. */
  readonly problem: string | undefined
  /** Throws the 507 of its file if it cannot be used now. */
  check(): void
  /** Its time settings without a scenario. */
  readonly ownTime: TimeSettings
  /**
   * Starts a generation with these time settings, or else the session's own. A clock of that kind continues.
   * @throws ApiError 400 for a virtual clock while calls are forwarded
   */
  renew(time?: Partial<TimeSettings>): Session
  /** Deletes all data, resets the counts, and restarts a virtual clock. */
  reset(): Promise<Session>
  /** Replaces all data by a snapshot. Counts continue from there. */
  replace(snapshot: Snapshot): Promise<Session>
}
