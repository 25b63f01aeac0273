// What the run of one case proves about another: a permanent fault equals a single one if no later call could have met
// it.
import { caseName, type FailureModeName } from '../contract/core/exploration.ts'
import { caseId, caseLabel, scenarioOf } from './case-scenario.ts'
import { failureMode, failureModes } from './failure-modes.ts'
import type { Trial, TriedCase } from './trial.ts'
import type { ExploreCase } from './types.ts'

/** Where a case injects a failure. */
type Place = NonNullable<ExploreCase['after']>

/** The failure mode that affects all calls of which another affects the first. */
const FOR_EVER = new Map(failureModes.flatMap(({ name, once }) => (once ? [[once, name] as const] : [])))

/** Each failure at a position that may have the same result as a given one; the given one is first. */
const waysTo = (place: Place, other: (name: FailureModeName) => FailureModeName | undefined): Place[] => {
  const name = other(place.class)
  return name === undefined ? [place] : [place, { ...place, class: name }]
}

function variants(
  { point, class: name, after }: ExploreCase,
  other: (name: FailureModeName) => FailureModeName | undefined,
): ExploreCase[] {
  const seconds = waysTo({ point, class: name }, other)
  const firsts = after ? waysTo(after, other) : [undefined]
  return firsts.flatMap((first) => seconds.map((second) => ({ ...second, ...(first && { after: first }) }))).slice(1)
}

/** Names of the cases whose runs may prove the result of this one. */
export const proversOf = (exploreCase: ExploreCase): string[] =>
  variants(exploreCase, (name) => failureMode(name).once).map(caseLabel)

/** The cases whose results a trial proves. */
export function provenBy({ cell, last, steady, result }: Trial): ExploreCase[] {
  if (!steady || result.verdict === 'not-applied') return []
  // A later call of the kind would have been affected as well.
  const isLast = ({ point }: Place) => (last.get(point.kind) ?? 0) <= point.nth
  const changes = (one: Place, other: Place | undefined) => other !== undefined && one.class !== other.class
  return variants(cell, (name) => FOR_EVER.get(name)).filter(
    (other) =>
      (!changes(cell, other) || isLast(cell)) &&
      (!cell.after || !changes(cell.after, other.after) || isLast(cell.after)),
  )
}

/** The result of a case that a trial proves: less may be expected of the program there than in the trial's own. */
export function provenCase({ cell, result, judgedAs, following, discovered }: Trial, other: ExploreCase): TriedCase {
  const { verdict, why, mistake } = judgedAs(other)
  return {
    following,
    discovered,
    result: {
      ...result,
      ...caseId(other),
      ...{ verdict, mistake, derived: true },
      why: `same as ${caseName(caseId(cell))}, since no later call would have received this fault: ${why}`,
      scenario: result.scenario && scenarioOf(other),
    },
  }
}
