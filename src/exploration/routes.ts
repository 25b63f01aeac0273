// Routing configurations: which provider faults the gateway hides from its client, and which ones reach it.

import {
  ROUTE_TARGETS,
  type RouteOutcome,
  type RouteTable,
  type RouteTarget,
  type WrittenScenario,
} from '../contract/core/exploration.ts'
import type { FaultKind } from '../contract/core/fault.ts'
import { lazy } from '../lib/lazy.ts'
import { mergeRecoveryPaths, type RecoveryPathCounts } from './recovery-paths.ts'
import type { ObservedRun, RouteSample } from './types.ts'

const faults = lazy<typeof import('../faults/index.ts')>(() => require('../faults/index.ts'))

/** Runs the call of a configuration with a scenario, without real waits. */
export type RunRoute = (
  route: RouteSample,
  scenario: WrittenScenario,
) => Promise<Pick<ObservedRun, 'calls' | 'recoveryPaths'>>

/** Options that a fault type needs to affect every call. */
const OPTIONS: Readonly<Record<string, object>> = { 'rate-limit': { requests: 0 }, hang: { for: '10m' } }
const FAULT = 'fault'

/**
 * Runs every type of provider fault on a configuration: on its first target, and on all targets if there are several.
 */
export async function routeTable(
  route: RouteSample,
  play: RunRoute,
): Promise<{ table: RouteTable; recoveryPaths: RecoveryPathCounts }> {
  const outcomes: RouteOutcome[] = []
  const recoveryPaths: RecoveryPathCounts[] = []
  const targets = ROUTE_TARGETS.filter((target) => target !== 'primary' || route.plan.length > 1)
  for (const kind of faults().faultKinds.filter(({ points }) => points.includes('provider')))
    for (const target of targets) {
      const observed = await play(route, scenarioOfFault(kind, target))
      const trace = observed.calls[0]?.trace
      if (!trace?.attempts.some(({ faults }) => faults.includes(FAULT))) continue
      recoveryPaths.push(observed.recoveryPaths)
      const { outcome, status, attempts } = trace
      outcomes.push({ fault: kind.type, target, outcome, status, attempts: attempts.length })
    }
  return { table: { route: route.name, outcomes }, recoveryPaths: mergeRecoveryPaths(recoveryPaths) }
}

/** Which attempts fail, as text. */
export const TARGET_LABELS: Readonly<Record<RouteTarget, string>> = {
  once: 'first attempt',
  primary: 'primary target',
  every: 'every target',
}
const MATCHES: Readonly<Record<RouteTarget, object>> = {
  once: { target: 'primary', attempt: 1 },
  primary: { target: 'primary' },
  every: {},
}

const scenarioOfFault = (
  { type, example }: Pick<FaultKind, 'type' | 'example'>,
  target: RouteTarget,
): WrittenScenario => ({
  name: `route-${type}-${target}`,
  description: `${type} on the ${TARGET_LABELS[target]}`,
  clock: 'virtual',
  latency: 'skip',
  rules: [{ name: FAULT, at: 'provider', match: MATCHES[target], fault: { type, ...example, ...OPTIONS[type] } }],
})
