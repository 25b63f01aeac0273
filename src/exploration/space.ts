// The cases of an exploration: which ones to run, in which order, and which results follow from others.
import {
  type CaseResult,
  type CaseVerdict,
  caseName,
  type FailureModeName,
  type InjectionPoint,
  type SkippedCase,
  type WrittenScenario,
} from '../contract/core/exploration.ts'
import { caseId, caseLabel, failureMode, failureModes, scenarioOf } from './failure-modes.ts'
import { endsFirst, failingPoints } from './injection-points.ts'
import type { Trial, TriedCase } from './trial.ts'
import type { ExploreCase } from './types.ts'

/** The options that select cases. */
export interface SpaceOptions {
  /** The failure modes to test; all if empty. */
  classes: readonly FailureModeName[]
  /** 1 injects one failure per run, 2 pairs too. */
  depth: 1 | 2
  /** The name of the only case to run; for a pair, its first case runs as well. */
  only?: string | undefined
  /** Whether cases are skipped whose result another one proves, and most of very many calls of a kind. */
  prune: boolean
  /** Cases that an earlier exploration has run, by name. */
  before: ReadonlyMap<string, TriedCase>
  /** Called for each completed case, with the number of cases to run, and again (not new) for a shortened scenario. */
  notify(progress: { tried: TriedCase; done: number; total: number; isNew: boolean }): void
}

/**
 * The remaining cases of the baseline's injection points, and the results.
 * @param options `steady`: whether the baseline runs made the same calls in the same order
 */
export function createSpace(quiet: readonly InjectionPoint[], options: SpaceOptions & { steady: boolean }) {
  const { depth, classes, before, notify, only } = options
  const isAsked = (one: ExploreCase) => only === undefined || caseLabel(one) === only || beginsPair(one, only)
  // If a program behaves differently in every run, no run proves the result of another.
  let proves = options.prune && options.steady && only === undefined
  const known = new Map(quiet.map((point) => [point.id, point]))
  const points = new Map(known)
  const broken = new Set(options.prune && only === undefined ? failingPoints(quiet) : quiet)
  const unbroken = quiet.filter((point) => !broken.has(point))
  const allPlanned = allCases([...broken], classes).filter(isAsked)
  const planned = allCases(endsFirst([...broken]), classes).filter(isAsked)
  const waiting = new Map(planned.map((exploreCase) => [caseLabel(exploreCase), exploreCase]))
  const underWay = new Set<string>()
  const results = new Map<string, { exploreCase: ExploreCase; tried: TriedCase }>()
  let saved = 0
  const add = (exploreCase: ExploreCase, tried: TriedCase) => {
    const name = caseName(tried.result)
    if (results.has(name)) return
    waiting.delete(name)
    underWay.delete(name)
    results.set(name, { exploreCase, tried })
    const found = new Map(tried.discovered.map((point) => [point.id, point]))
    for (const point of found.values()) if (!points.has(point.id)) points.set(point.id, point)
    if (depth === 2 || only !== undefined)
      for (const pair of pairsAfter(exploreCase, tried, (id) => known.get(id) ?? found.get(id))) queue(pair)
    notify({ tried, done: results.size, total: results.size + waiting.size + underWay.size, isNew: true })
  }
  const queue = (exploreCase: ExploreCase) => {
    const name = caseLabel(exploreCase)
    if (results.has(name) || underWay.has(name)) return
    waiting.set(name, exploreCase)
    takeTried(name, exploreCase)
  }
  const takeTried = (name: string, exploreCase: ExploreCase) => {
    const tried = before.get(name)
    if (tried && (proves || !tried.result.derived)) add(exploreCase, tried)
  }
  const pairsAfter = (
    exploreCase: ExploreCase,
    { result, following }: TriedCase,
    pointOf: (id: string) => InjectionPoint | undefined,
  ) => {
    if (exploreCase.after || !COPED.includes(result.verdict)) return []
    const after = { point: exploreCase.point, class: exploreCase.class }
    const next = following.flatMap((id) => pointOf(id) ?? [])
    return allCases(next, classes)
      .map((second) => ({ ...second, after }))
      .filter((pair) => only === undefined || caseLabel(pair) === only)
  }
  for (const [name, exploreCase] of [...waiting]) takeTried(name, exploreCase)
  return {
    /** The next case to run; undefined if there is none now. */
    next(): ExploreCase | undefined {
      for (const [name, exploreCase] of waiting) {
        // A case that a running one may prove waits for it, so that explorations do not differ by timing.
        if (proves && proversOf(exploreCase).some((one) => underWay.has(one))) continue
        waiting.delete(name)
        underWay.add(name)
        return exploreCase
      }
      return undefined
    },
    giveBack(exploreCase: ExploreCase) {
      underWay.delete(caseLabel(exploreCase))
      waiting.set(caseLabel(exploreCase), exploreCase)
    },
    done(trial: Trial) {
      add(trial.cell, trial)
      for (const other of proves ? provenBy(trial) : []) {
        const exploreCase = waiting.get(caseLabel(other))
        if (!exploreCase) continue
        saved++
        add(exploreCase, provenCase(trial, exploreCase))
      }
    },
    /** Replaces the scenario of a case that was run. */
    shorten(exploreCase: ExploreCase, scenario: WrittenScenario) {
      const name = caseLabel(exploreCase)
      const found = results.get(name)
      if (!found) return
      const tried = { ...found.tried, result: { ...found.tried.result, scenario } }
      results.set(name, { exploreCase, tried })
      notify({ tried, done: results.size, total: results.size, isNew: false })
    },
    /** Runs cases again, and those that other runs proved: results vary between runs. */
    distrust(unconfirmed: readonly CaseResult[]) {
      proves = false
      const names = new Set(unconfirmed.map(caseName))
      for (const [name, { exploreCase, tried }] of [...results]) {
        if (tried.result.derived) saved = Math.max(0, saved - 1)
        else if (!names.has(name)) continue
        results.delete(name)
        waiting.set(name, exploreCase)
      }
    },
    state: () => ({
      points: [...quiet, ...discoveredOf(points)],
      cases: inOrder(
        [...results].filter(([name]) => only === undefined || name === only).map(([, { tried }]) => tried.result),
        allPlanned,
      ),
      skipped: [
        // Cases that were given back are in any order.
        ...inOrder([...waiting.values()].map(caseId), planned).map((id): SkippedCase => ({ ...id, why: 'time' })),
        ...allCases(unbroken, classes).map((exploreCase): SkippedCase => ({ ...caseId(exploreCase), why: 'similar' })),
      ],
      saved,
    }),
  }
}

/** Whether a case is the first of the pair with this name. */
const beginsPair = ({ point, class: name }: ExploreCase, pair: string): boolean =>
  pair.startsWith(`${point.id}+`) && pair.includes(`-${name}+`)

/** Results of a program that continues after a fault, so that another one may follow. */
const COPED: readonly CaseVerdict[] = ['tolerated', 'swallowed', 'misbehaved']

/**
 * Injection points that were discovered under faults, in an order that does not depend on which fault was tested first.
 */
const discoveredOf = (points: ReadonlyMap<string, InjectionPoint>): InjectionPoint[] =>
  [...points.values()]
    .filter(({ discovered }) => discovered)
    .sort((one, other) => (one.kind === other.kind ? one.nth - other.nth : one.kind < other.kind ? -1 : 1))

/** Results in the order of their cases, with pairs after them by name. */
function inOrder<Named extends Pick<CaseResult, 'point' | 'class'>>(
  results: readonly Named[],
  planned: readonly ExploreCase[],
): Named[] {
  const places = new Map(planned.map((exploreCase, index) => [caseLabel(exploreCase), index]))
  const placeOf = (result: Named) => places.get(caseName(result)) ?? planned.length
  return results.toSorted((one, other) => placeOf(one) - placeOf(other) || (caseName(one) < caseName(other) ? -1 : 1))
}

/** All cases of some points, the most informative first. */
const allCases = (points: readonly InjectionPoint[], classes: readonly FailureModeName[]): ExploreCase[] =>
  failureModes
    .filter(({ name }) => classes.length === 0 || classes.includes(name))
    .flatMap(({ name, excludes }) =>
      points.flatMap((point) => (excludes(point) === undefined ? [{ point, class: name }] : [])),
    )

// What the run of one case proves about another: a permanent fault equals a single one if no later call could have met it.

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
const proversOf = (exploreCase: ExploreCase): string[] =>
  variants(exploreCase, (name) => failureMode(name).once).map(caseLabel)

/** The cases whose results a trial proves. */
function provenBy({ cell, last, steady, result }: Trial): ExploreCase[] {
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
function provenCase({ cell, result, judgedAs, following, discovered }: Trial, other: ExploreCase): TriedCase {
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
