// The registry of the routes beside the router operations, most of them under /_understudy: one line a route.
import type { Fixture } from '../backends/fixture/fixture.ts'
import type { Spending } from '../backends/forward/spending.ts'
import type { Route } from '../contract/route.ts'
import type { Runs } from '../scenarios/runs.ts'
import type { Session, Sessions } from '../sessions/sessions.ts'
import { fileRoute } from './files.ts'
import { healthRoute } from './health.ts'
import { scenarioRoutes } from './scenario.ts'
import { sessionRoutes } from './sessions.ts'
import { traceRoutes } from './traces.ts'
import { verifyRoutes } from './verify.ts'

/** What the program says of itself. */
export interface About {
  version: string
  mode: string
  db: string
  fixtures: number
  /** What calls to real providers have used; absent when nothing is forwarded. */
  spending: Spending | undefined
}

/** What the control API works on. */
export interface ControlDeps {
  sessions: Sessions
  /** Scenarios in play. */
  runs: Runs
  /** The session that a request means. */
  sessionOf(request: Request): Session
  fixtures: SessionFixtures
  about: About
}

/** The fixtures that sessions are given. */
export interface SessionFixtures {
  /** Fixtures of a request, in the format of files; throws `ApiError`. */
  parse(values: readonly unknown[]): readonly Fixture[]
  /** Gives a session fixtures that are tried before all others. */
  give(session: string, fixtures: readonly Fixture[]): void
  given(session: string): readonly Fixture[]
  /** Names of those that the program was started with, which every session shares. */
  readonly shared: readonly string[]
}

/** All control routes. */
export const controlRoutes = (deps: ControlDeps): readonly Route[] => [
  healthRoute(deps),
  ...traceRoutes(deps),
  ...scenarioRoutes(deps),
  ...sessionRoutes(deps),
  ...verifyRoutes(deps),
  fileRoute(deps),
]
