// The scenario of a case: the shortest file that injects a failure at a point, as exec runs it.
import {
  caseName,
  type FailureModeName,
  type InjectionPoint,
  type WrittenScenario,
} from '../contract/core/exploration.ts'
import { lazy } from '../lib/lazy.ts'
import type { ScenarioFile } from '../scenarios/schema.ts'
import { failureMode } from './failure-modes.ts'
import { kindMatch } from './injection-points.ts'
import type { ExploreCase } from './types.ts'

const format = lazy<typeof import('../scenarios/schema.ts')>(() => require('../scenarios/schema.ts'))

/** The ids of a case; those of a pair joined. */
export const caseId = ({ point, class: name, after }: ExploreCase): { point: string; class: string } =>
  after ? { point: `${after.point.id}+${point.id}`, class: `${after.class}+${name}` } : { point: point.id, class: name }

/** The name of a case to run. */
export const caseLabel = (exploreCase: ExploreCase): string => caseName(caseId(exploreCase))

/**
 * The rule that injects a failure mode at a point.
 * @param times for a failure mode that affects all calls: how many from the point on; default: all
 */
function ruleOf(point: InjectionPoint, name: FailureModeName, times?: number): WrittenScenario['rules'][number] {
  const { meets, at, fault } = failureMode(name)
  const rule = { name: `${name} at ${point.id}`, at, fault }
  if (meets === 'one' || times === 1) return { ...rule, match: { call_site: point.id } }
  const last = times === undefined ? '+' : `-${point.nth + times - 1}`
  const from = point.nth === 1 && times === undefined ? {} : { when: { calls: `${point.nth}${last}` } }
  return { ...rule, match: { call_site: kindMatch(point) }, ...from }
}

/** The scenario of a case; `times` as for one rule. */
export function scenarioOf(cell: ExploreCase, times?: number): WrittenScenario {
  const { point, class: name, after } = cell
  const id = caseId(cell)
  return {
    name: `${id.point}-${id.class}`.replace(/[^\w.-]+/g, '-'),
    description: `${after ? `${after.class} at ${after.point.id}, then ` : ''}${name} at ${point.id}`,
    clock: 'real',
    rules: [...(after ? [ruleOf(after.point, after.class)] : []), ruleOf(point, name, times)],
  }
}

/** The scenario in the format of files. */
export const toScenarioFile = (written: WrittenScenario): ScenarioFile => format().ScenarioFile.parse(written)
