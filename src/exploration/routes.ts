// Routing configurations: which faults of providers the gateway hides from its client, and which of them reach it.
import {
  ROUTE_TARGETS,
  type RouteOutcome,
  type RouteTable,
  type RouteTarget,
  type WrittenScenario,
} from '../contract/core/exploration.ts'
import type { FaultKind } from '../contract/core/fault.ts'
import { faultKinds } from '../faults/index.ts'
import { mergeRecoveryPaths, type RecoveryPathCounts } from './recovery-paths.ts'
import type { ObservedRun, RouteSample } from './types.ts'

/** Plays the call of a configuration with a scenario, at no cost of time. */
export type RunRoute = (
  route: RouteSample,
  scenario: WrittenScenario,
) => Promise<Pick<ObservedRun, 'calls' | 'recoveryPaths'>>

/** Options without which a kind does not show what it does to every call. */
const OPTIONS: Readonly<Record<string, object>> = { 'rate-limit': { requests: 0 }, hang: { for: '10m' } }
const FAULT = 'fault'

/** Plays every kind of fault that providers have on a configuration: on its first target, and on all of them when there are more. */
export async function routeTable(
  route: RouteSample,
  play: RunRoute,
): Promise<{ table: RouteTable; recoveryPaths: RecoveryPathCounts }> {
  const outcomes: RouteOutcome[] = []
  const recoveryPaths: RecoveryPathCounts[] = []
  const targets = ROUTE_TARGETS.filter((target) => target !== 'primary' || route.plan.length > 1)
  for (const kind of faultKinds.filter(({ points }) => points.includes('provider')))
    for (const target of targets) {
      const played = await play(route, scenarioOfFault(kind, target))
      const trace = played.calls[0]?.trace
      if (!trace?.attempts.some(({ faults }) => faults.includes(FAULT))) continue
      recoveryPaths.push(played.recoveryPaths)
      const { outcome, status, attempts } = trace
      outcomes.push({ fault: kind.type, target, outcome, status, attempts: attempts.length })
    }
  return { table: { route: route.name, outcomes }, recoveryPaths: mergeRecoveryPaths(recoveryPaths) }
}

/** How far a fault goes, in words. */
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
  rules: [
    {
      name: FAULT,
      at: 'provider',
      match: MATCHES[target],
      fault: { type, ...example, ...OPTIONS[type] },
    },
  ],
})
