// A session as whoever works in it has it: one generation, whose clock, stores and signal stay what they are. A reset, a snapshot
// and another scenario begin the next one and end this by its signal, so that nothing under a running call is ever replaced.

import type { HistoryMode } from '../contract/core/history-mode.ts'
import type { Instance } from '../contract/core/instance.ts'
import type { JobLimits } from '../contract/core/job-limits.ts'
import type { KeyValueStore } from '../contract/core/key-value.ts'
import type { Sequences } from '../contract/core/sequence.ts'
import type { Contents, Records } from '../contract/workspace/record.ts'
import type { Snapshot } from '../db/snapshot.ts'
import type { TraceStore } from '../db/trace-store.ts'
import type { RealClock, TimeSettings, VirtualClock } from '../lib/clock.ts'
import type { DataCounts } from './stores.ts'

/** The session of whoever names none. */
export const DEFAULT_SESSION = 'default'

/** What becomes of a call of a tool that needs approval: it waits, or has it at once. */
export type Approvals = 'ask' | 'auto'

/** What a call takes when it begins and keeps to its end. */
export interface Session {
  readonly name: string
  readonly seed: number
  /** Whether it is the one that programs work in which name none. */
  readonly isHome: boolean
  /** Whether calls of tools that need somebody's approval have it at once. */
  readonly approvals: Approvals
  /** How strictly its conversations are judged; undefined where the scenario or the server decides. */
  readonly history: HistoryMode | undefined
  readonly clock: RealClock | VirtualClock
  readonly traces: TraceStore
  readonly keyValues: KeyValueStore
  /** The workspace. */
  readonly records: Records
  /** Files, and the chunks of knowledge bases. */
  readonly contents: Contents
  /** How far the sequences of fixtures were used. */
  readonly sequences: Sequences
  /** Makes changes to the records that stand or fall together; resolves when they are committed, rejects with what `run` throws. */
  transact<T>(run: () => T): Promise<T>
  /** Kinds of records of which any has a key, as what waits for its turn has; wakes nothing. */
  keyedKinds(): readonly string[]
  /** Everything that is stored. */
  snapshot(): Promise<Snapshot>
  /** How much is stored, without waking anything. */
  counts(): DataCounts
  /** Aborted when this generation is over, with the `ApiError` that its calls end with. */
  readonly ended: AbortSignal
  /** The bounds of the work that is done for it in workers; the usual ones when undefined. */
  readonly jobLimits: JobLimits | undefined
  /** Makes names that nobody can guess; a function of the seed on a virtual clock. */
  readonly secret: string
  /** How many calls have begun; goes on after a restart. */
  readonly calls: number
  /** The numbers of the calls that are under way. */
  readonly underWay: Set<number>
  /** The number of the next call: 1, 2, ... */
  nextCall(): number
  /** Begins a call or other work, which ends with this generation or when its client goes. */
  begin(client: Requester): Activity
  /** The same for every generation. */
  readonly slot: SessionHandle
}

/** On whose behalf work is done; a request, say. */
export interface Requester {
  /** Aborted when it has gone. */
  readonly signal: AbortSignal
}

/** Work that is done in a session. */
export interface Activity {
  /** Aborted when the client has gone, or with the session's reason. Made when it is asked for: most calls are over before anybody must listen. */
  readonly signal: AbortSignal
  /** Whether the signal is aborted, or would be if it were made. */
  readonly aborted: boolean
  /** It is over. */
  end(): void
}

/** How a session came to be: by its first call, on purpose, or out of a file that an earlier process has left. */
export type SessionOrigin = 'called' | 'made' | 'restored'

/**
 * Why another of several instances may have answered calls of a session: it began by being called, an earlier process has left it, or
 * the balancer says so.
 */
export type SessionGap = 'called' | 'restored' | 'moved'

/** A session through all its generations. */
export interface SessionHandle {
  readonly origin: SessionOrigin
  /** The process that it lives in. */
  readonly instance: Instance
  /** Why it may lack calls that another instance has answered; undefined when it has them all, or there is no other instance. */
  readonly gap: SessionGap | undefined
  /** Another instance has answered a call of it since its last one here. */
  moved(): void
  /** What the first request must be told of a session: that it begins with it, or why it may lack calls. */
  announce(): SessionGap | undefined
  /** The generation in force. */
  readonly current: Session
  /** Why its file could not be used the last time; undefined when it could. */
  readonly problem: string | undefined
  /** Throws the 507 of its file where that cannot be used as it is now. */
  check(): void
  /** How time passes in it when no scenario says otherwise. */
  readonly ownTime: TimeSettings
  /**
   * Begins a generation in which time passes as it says, else as the session itself has it; a clock of that kind already goes on.
   * 400 for a virtual one while calls are forwarded.
   */
  renew(time?: Partial<TimeSettings>): Session
  /** Forgets everything that is stored, counts from nothing again, and starts a virtual clock anew. */
  reset(): Promise<Session>
  /** Puts a snapshot in the place of everything that is stored, or nothing at all; counts go on from there. */
  replace(snapshot: Snapshot): Promise<Session>
}
