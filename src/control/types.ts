// What the routes of the control API share.
import { z } from 'zod'
import type { FixtureFiles } from '../backends/fixture/files.ts'
import type { Fixture } from '../backends/fixture/fixture.ts'
import type { Spending } from '../backends/forward/spending.ts'
import type { Instance } from '../contract/core/instance.ts'
import type { Observers } from '../contract/core/observation.ts'
import type { Operation } from '../contract/core/operation.ts'
import type { UnknownPath } from '../contract/core/verification.ts'
import type { TaskReaders } from '../observers/task-readers.ts'
import type { WorkspaceCalls } from '../observers/workspace-calls.ts'
import type { ScenarioRuns } from '../scenarios/runs.ts'
import type { Session, Sessions } from '../sessions/sessions.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { EarlierVerdicts } from './earlier.ts'
import type { HealthWatch } from './health-watch.ts'

/** Of which process a list or a count is. */
export const InstanceName = z
  .string()
  .describe('The instance that this response describes. It does not cover other instances.')

/** The same where all but the name is a function of the seed: a port that was free is none. */
export const TracedInstance = InstanceName.nullable().describe(
  'The instance. Null if it has no name and an automatically assigned port.',
)

/** What the program says of itself. */
export interface ServerInfo {
  version: string
  instance: Instance
  mode: string
  db: string
  /** When it began, in ms since the epoch. */
  started: number
  /** How many there are, less those of sessions. */
  fixtures(): number
  /** What calls to real providers have used; absent when nothing is forwarded. */
  spending: Spending | undefined
  /** The export of traces; absent when there is none. */
  telemetry: Pick<Telemetry, 'counts'> | undefined
  /** Told of each question for health or readiness. */
  watch: Pick<HealthWatch, 'asked'>
}

/** What the control API works on. */
export interface ControlDeps {
  sessions: Sessions
  /** Active scenarios. */
  runs: ScenarioRuns
  /** The session that a request means; one that only `looks`, as a GET does, makes none. */
  sessionOf(request: Request, looks?: boolean): Session
  /** Refuses a session that a request names where no balancer sees it, if there must be none (`--instance-strict`). */
  mustBeSeen(name: string, request: Request): void
  /** Its name; no session is made by asking for it. */
  sessionNameOf(request: Request): string
  /** Calls and sessions as they change. */
  observers: Observers
  fixtures: SessionFixtures
  /** Names of the router's operations. */
  operations(): readonly string[]
  /** The operation of a name, loaded. */
  operation(name: string): Operation | undefined
  about: ServerInfo
  /** Whether warnings count as errors. */
  strict: boolean
  /** Calls of paths that there are not. */
  strays: UnknownPaths
  /** What clients have seen of the tasks of agents that they have begun. */
  readers: TaskReaders
  /** Calls of the workspace. */
  workspaceCalls: WorkspaceCalls
  /** Verdicts on what sessions held before. */
  earlier: EarlierVerdicts
  /** Traces that were removed to make room since the start. */
  droppedTraces(): number
  /** Responses since the start. */
  responses: ResponseCounts
  /** Whether a request has a token that may call. */
  hasToken(request: Request): boolean
  /** How many events are waiting, and how many have failed since the start. */
  events(): { waiting: number; failed: number }
}

/** Responses by their HTTP status. */
export interface ResponseCounts {
  add(status: number | null): void
  /** Each status with how many there were; null is a connection that ended without one. */
  all(): readonly (readonly [status: number | null, count: number])[]
}

/** Calls of paths that there are not, kept for a while. */
export interface UnknownPaths {
  /** Those of a session, in the order in which they were first called. */
  of(session: string): UnknownPath[]
  /** How many there were since the start. */
  count(): number
}

/** The fixtures that sessions are given. */
interface SessionFixtures {
  /** Fixtures of a request, in the format of files; throws `ApiError`. */
  parse(values: readonly unknown[]): readonly Fixture[]
  /** Gives a session fixtures that are tried before all others. */
  give(session: string, fixtures: readonly Fixture[]): void
  given(session: string): readonly Fixture[]
  /** Those that answer the calls of a session, in the order in which they are tried. */
  inForce(session: string): readonly Fixture[]
  /** Those that the program was started with, which every session shares. */
  readonly files: FixtureFiles
}
