// The registry of the control API: one line per group of routes, most of them under /_understudy.
import type { RouteGroup } from '../contract/core/route.ts'
import { lazy } from '../lib/lazy.ts'
import type { ControlDeps } from './types.ts'

const health = lazy<typeof import('./health.ts')>(() => require('./health.ts'))
const probes = lazy<typeof import('./probes.ts')>(() => require('./probes.ts'))
const calls = lazy<typeof import('./calls.ts')>(() => require('./calls.ts'))
const cassettes = lazy<typeof import('./cassettes.ts')>(() => require('./cassettes.ts'))
const traces = lazy<typeof import('./traces.ts')>(() => require('./traces.ts'))
const reproduce = lazy<typeof import('./reproduce.ts')>(() => require('./reproduce.ts'))
const scenario = lazy<typeof import('./scenario.ts')>(() => require('./scenario.ts'))
const fixtures = lazy<typeof import('./fixtures.ts')>(() => require('./fixtures.ts'))
const sessions = lazy<typeof import('./sessions.ts')>(() => require('./sessions.ts'))
const verify = lazy<typeof import('./verify.ts')>(() => require('./verify.ts'))
const live = lazy<typeof import('./live.ts')>(() => require('./live.ts'))
const files = lazy<typeof import('./files.ts')>(() => require('./files.ts'))

/** All control routes. */
export const controlGroups = (deps: ControlDeps): readonly RouteGroup[] => [
  { under: ['/_understudy/health'], routes: () => [health().healthRoute(deps)] },
  { under: ['/_understudy/metrics'], routes: () => [health().metricsRoute(deps)] },
  { under: ['/_understudy/livez', '/_understudy/readyz'], routes: () => probes().probeRoutes(deps) },
  { under: ['/_understudy/calls'], routes: () => [calls().callsRoute(deps)] },
  { under: ['/_understudy/cassettes'], routes: () => [cassettes().cassettesRoute(deps)] },
  {
    under: ['/_understudy/traces'],
    routes: () => [...traces().traceRoutes(deps), reproduce().reproduceRoute(deps)],
  },
  { under: ['/_understudy/scenario', '/_understudy/scenarios'], routes: () => scenario().scenarioRoutes(deps) },
  { under: ['/_understudy/fixtures'], routes: () => fixtures().fixtureRoutes(deps) },
  { under: ['/_understudy/sessions', '/_understudy/reset'], routes: () => sessions().sessionRoutes(deps) },
  { under: ['/_understudy/verify'], routes: () => verify().verifyRoutes(deps) },
  { under: ['/_understudy/live'], routes: () => [live().liveRoute(deps)] },
  { under: ['/files'], routes: () => [files().fileRoute(deps)] },
]
