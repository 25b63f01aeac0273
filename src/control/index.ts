// The registry of the routes beside the router operations, most of them under /_understudy: one line a route.
import type { Route } from '../contract/route.ts'
import type { Runs } from '../scenarios/runs.ts'
import type { Session, Sessions } from '../sessions/sessions.ts'
import { fileRoute } from './files.ts'
import { healthRoute } from './health.ts'
import { scenarioRoutes } from './scenario.ts'
import { traceRoutes } from './traces.ts'

/** What the program says of itself. */
export interface About {
  version: string
  mode: string
  db: string
  fixtures: number
}

/** What the control API works on. */
export interface ControlDeps {
  sessions: Sessions
  /** Scenarios in play. */
  runs: Runs
  /** The session that a request means. */
  sessionOf(request: Request): Session
  about: About
}

/** All control routes. */
export const controlRoutes = (deps: ControlDeps): readonly Route[] => [
  healthRoute(deps),
  ...traceRoutes(deps),
  ...scenarioRoutes(deps),
  fileRoute(deps),
]
