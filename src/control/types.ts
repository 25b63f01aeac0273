// Types that the control routes share.

import { z } from 'zod'
import type { Cassettes } from '../backends/cassettes.ts'
import type { Fixture } from '../backends/fixture/fixture.ts'
import type { FixtureFiles, FixturesInForce } from '../backends/fixture/in-force.ts'
import type { Spending } from '../backends/forward/spending.ts'
import type { Instance } from '../contract/core/instance.ts'
import type { Observers } from '../contract/core/observation.ts'
import type { Operation } from '../contract/core/operation.ts'
import { asRoute, type Route } from '../contract/core/route.ts'
import type { UnknownPath, Verification } from '../contract/core/verification.ts'
import type { TaskReaders } from '../observers/task-readers.ts'
import type { WorkspaceCalls } from '../observers/workspace-calls.ts'
import type { ScenarioRuns } from '../scenarios/runs.ts'
import type { Expectation } from '../scenarios/schema.ts'
import type { Session, Sessions } from '../sessions/sessions.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { ClientEnd } from '../verdict/kinds/define.ts'
import type { EarlierVerdicts } from './earlier.ts'
import type { HealthWatch } from './health-watch.ts'

/** The process of a list or a count. */
export const InstanceName = z
  .string()
  .describe('The instance that this response describes. It does not cover other instances.')

/** The same where everything but the name is a function of the seed: a random free port is not. */
export const TracedInstance = InstanceName.nullable().describe(
  'The instance. Null if it has no name and an automatically assigned port.',
)

/** A query parameter for all sessions. */
export const AllSessions = z
  .literal('all', { error: "must be 'all', or left out" })
  .optional()
  .describe("All sessions, or only the caller's.")

/** A whole number in a query. */
export const wholeText = (low: number, high: number) =>
  z.string().regex(/^\d+$/, { error: 'must be a whole number' }).transform(Number).pipe(z.int().min(low).max(high))

/** A route of the control API, a GET by default. Its own schemas validate its input. */
export const controlRoute = <Query, Body>({
  method = 'get',
  ...route
}: Omit<Route<Query, Body>, 'method' | 'tag'> & Partial<Pick<Route, 'method'>>): Route =>
  asRoute({ method, tag: 'Emulator', ...route })

/** Information about the program. */
export interface ServerInfo {
  version: string
  instance: Instance
  mode: string
  db: string
  /** Start time, in ms since the epoch. */
  started: number
  /** Number of fixtures, without those of sessions. */
  fixtures(): number
  /** The use of real providers; absent if nothing is forwarded. */
  spending: Spending | undefined
  /** The export of traces; absent if there is none. */
  telemetry: Pick<Telemetry, 'counts'> | undefined
  /** What is recorded and replayed; absent if nothing is. */
  cassettes: Pick<Cassettes, 'report'> | undefined
  /** Notified of each health and readiness check. */
  watch: Pick<HealthWatch, 'noteCheck'>
}

/** How a session is judged. */
export interface JudgeOptions {
  /** How long to wait for unmet expectations, calls in flight and running tasks, in ms of real time. */
  wait: number
  /** How the client ended, if it has. */
  ended?: ClientEnd | undefined
  /** Expectations beside those of the scenario. */
  expect?: readonly Expectation[]
  /** Aborts when nobody waits for the verdict any more. */
  signal?: AbortSignal
}

/** The dependencies of the control API. */
export interface ControlDeps {
  sessions: Sessions
  /** Active scenarios. */
  runs: ScenarioRuns
  /** The session of a request. With `looks`, as for a GET, none is created. */
  sessionOf(request: Request, looks?: boolean): Session
  /** Rejects a session name in a place where a balancer cannot see it, if required (`--instance-strict`). */
  mustBeSeen(name: string, request: Request): void
  /** The name of the session; none is created. */
  sessionNameOf(request: Request): string
  /** Observers of calls and sessions. */
  observers: Observers
  fixtures: SessionFixtures
  /** Names of the router's operations. */
  operations(): readonly string[]
  /** The operation with a name, loaded. */
  operation(name: string): Operation | undefined
  about: ServerInfo
  /** Whether warnings count as errors. */
  strict: boolean
  /** Calls of unknown paths. */
  unknownPaths: UnknownPaths
  /** Which ends of agent tasks clients have read. */
  readers: TaskReaders
  /** Calls of the workspace. */
  workspaceCalls: WorkspaceCalls
  /** Verdicts on earlier parts of sessions. */
  earlier: EarlierVerdicts
  /** The verdict on a session. */
  judge(session: Session, options: JudgeOptions): Promise<Verification>
  /** Number of traces dropped for lack of room since the start. */
  droppedTraces(): number
  /** Responses since the start. */
  responses: ResponseCounts
  /** Whether a request has a valid token. */
  hasToken(request: Request): boolean
  /** Number of waiting events, and of failed ones since the start. */
  events(): { waiting: number; failed: number }
}

/** Responses by HTTP status. */
export interface ResponseCounts {
  add(status: number | null): void
  /** Each status with its count; null is a connection that ended without a response. */
  all(): readonly (readonly [status: number | null, count: number])[]
}

/** Recent calls of unknown paths. */
export interface UnknownPaths {
  /** Those of a session, in the order of their first call. */
  of(session: string): UnknownPath[]
  /** Their number since the start. */
  count(): number
}

/** The fixtures of sessions. */
interface SessionFixtures extends Pick<FixturesInForce, 'give' | 'given' | 'inForce'> {
  /**
   * Parses fixtures of a request, in the format of files.
   * @throws ApiError
   */
  parse(values: readonly unknown[]): readonly Fixture[]
  /** Those of the program's files, which every session shares. */
  readonly files: FixtureFiles
}
