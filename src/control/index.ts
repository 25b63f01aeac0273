// The registry of the routes beside the router operations, most of them under /_understudy: one line per route.
import type { Route } from '../contract/core/route.ts'
import { callsRoute } from './calls.ts'
import { cassettesRoute } from './cassettes.ts'
import { fileRoute } from './files.ts'
import { fixtureRoutes } from './fixtures.ts'
import { healthRoute, metricsRoute } from './health.ts'
import { liveRoute } from './live.ts'
import { probeRoutes } from './probes.ts'
import { reproduceRoute } from './reproduce.ts'
import { scenarioRoutes } from './scenario.ts'
import { sessionRoutes } from './sessions.ts'
import { traceRoutes } from './traces.ts'
import type { ControlDeps } from './types.ts'
import { verifyRoutes } from './verify.ts'
/** All control routes. */
export const controlRoutes = (deps: ControlDeps): readonly Route[] => [
  healthRoute(deps),
  metricsRoute(deps),
  ...probeRoutes(deps),
  callsRoute(deps),
  cassettesRoute(deps),
  ...traceRoutes(deps),
  reproduceRoute(deps),
  ...scenarioRoutes(deps),
  ...fixtureRoutes(deps),
  ...sessionRoutes(deps),
  ...verifyRoutes(deps),
  liveRoute(deps),
  fileRoute(deps),
]
