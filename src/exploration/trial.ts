// One trial: runs a case, judges it, confirms the result if its cause is new, and finds its shortest scenario.
import type { CaseResult, CaseVerdict, InjectionPoint, WrittenScenario } from '../contract/core/exploration.ts'
import { withoutSecrets } from '../lib/secrets.ts'
import type { Baseline, RunLimits } from './baseline.ts'
import { caseId, failureMode, scenarioOf } from './failure-modes.ts'
import { failingPoints, newInjectionPoints } from './injection-points.ts'
import { judgeCase } from './judge.ts'
import { problemKindOf } from './problems.ts'
import type { ReportsWait } from './run-slots.ts'
import type { ExploreCase, ObservedRun } from './types.ts'

/** What is run, and when it is ended. */
export interface RunOrder {
  scenario: WrittenScenario | null
  /** Null for a baseline run, which is never ended. */
  limits: RunLimits | null
  /** Reports whether it only waits. */
  wait: ReportsWait
  /** Ends it because its result is not needed any more. */
  cancels?: AbortSignal | undefined
}

/** Runs the command, with or without a scenario. */
export type RunCommand = (run: RunOrder) => Promise<ObservedRun>

/** The context of trials. */
export interface TrialContext {
  /** Runs the command with a scenario; undefined if that was ended before there was a result. */
  run(scenario: WrittenScenario): Promise<ObservedRun | undefined>
  baseline: Baseline
  /** The injection points of the baseline. */
  baselinePoints: readonly InjectionPoint[]
  /** Whether a result is to be confirmed: its cause is new, or the command may be flaky. */
  isNew(result: CaseResult, mayBeFlaky: boolean): boolean
}

/** The stored result of a case, from which an exploration can be resumed. */
export interface TriedCase {
  result: CaseResult
  /** Ids of the points after the affected one in its session, which a second fault may affect. */
  following: string[]
  /** Points that are not in the baseline. */
  discovered: InjectionPoint[]
}

/** The result of a trial. */
export interface Trial extends TriedCase {
  cell: ExploreCase
  /** The highest number of a call of each kind. */
  last: ReadonlyMap<string, number>
  /** Number of calls from the affected one on, of its kind. */
  hits: number
  /** Whether all its runs had the same result. */
  steady: boolean
  /** Whether it is a problem that a flaky command has as well: the command recovered from the fault, and failed. */
  mayBeFlaky: boolean
  /** Whether the verdict depends on counts of calls that cannot be distinguished. */
  counted: boolean
  /** Judges its run as that of another case, whose fault would have had the same effect. */
  judgedAs(other: ExploreCase): Pick<CaseResult, 'verdict' | 'why' | 'mistake'>
}

/** Results whose scenario is made as short as possible. */
const SHORTENED: readonly CaseVerdict[] = ['failed', 'crashed', 'hung', 'misbehaved']
/** Results that a second run must confirm. */
const CONFIRMED: readonly CaseVerdict[] = [...SHORTENED, 'swallowed']
/** Whether the scenario of a result is made as short as possible. */
export const mayBeShortened = ({ verdict }: Pick<CaseResult, 'verdict'>): boolean => SHORTENED.includes(verdict)

/** Runs a case; undefined if it was ended before there was a result. */
export async function runCase(cell: ExploreCase, context: TrialContext): Promise<Trial | undefined> {
  const first = await tryOnce(cell, context)
  if (!first || !(CONFIRMED.includes(first.result.verdict) || first.counted || first.mayBeFlaky)) return first
  if (!context.isNew(first.result, first.mayBeFlaky)) return first
  return confirmed(first, context)
}

async function tryOnce(
  exploreCase: ExploreCase,
  { run: start, baseline, baselinePoints }: TrialContext,
  times?: number,
): Promise<Trial | undefined> {
  const written = scenarioOf(exploreCase, times)
  const run = await start(written)
  if (!run) return undefined
  const rule = String(written.rules.at(-1)?.name)
  const judgedAs = (one: ExploreCase) => {
    const judgement = judgeCase(run, { cell: one, rule, baseline })
    // It may quote the arguments of a tool, and the state and all reports contain it.
    return { ...judgement, why: withoutSecrets(judgement.why) }
  }
  const { verdict, why, mistake, traces, counted, recovered } = judgedAs(exploreCase)
  const { output, code, tookMs, kept } = run
  const own = run.calls.filter(({ point }) => point.session === exploreCase.point.session)
  const broken = own.findIndex(({ point }) => point.id === exploreCase.point.id)
  const last = lastOf(run)
  const after = broken < 0 ? [] : own.slice(broken + 1)
  return {
    cell: exploreCase,
    counted,
    judgedAs,
    steady: true,
    mayBeFlaky: recovered && problemKindOf({ verdict, mistake, class: caseId(exploreCase).class }) !== undefined,
    following: failingPoints(after.map(({ point }) => point)).map(({ id }) => id),
    discovered: failingPoints(newInjectionPoints(run, new Set(baselinePoints.map(({ id }) => id)))),
    last,
    hits: (last.get(exploreCase.point.kind) ?? 0) - exploreCase.point.nth + 1,
    result: {
      ...caseId(exploreCase),
      verdict,
      why,
      mistake,
      traces: traces.filter((id) => kept.has(id)),
      calls: own.flatMap(({ trace: { id } }) => (kept.has(id) ? [id] : [])),
      scenario: verdict === 'not-applied' ? null : written,
      unstored: own.filter(({ trace: { id } }) => !kept.has(id)).length,
      ...{ output, code },
      tookMs,
      derived: false,
    },
  }
}

function lastOf({ calls }: ObservedRun): Map<string, number> {
  const last = new Map<string, number>()
  for (const { point } of calls) last.set(point.kind, Math.max(last.get(point.kind) ?? 0, point.nth))
  return last
}

/** The trial if a second run ends like the first; otherwise that of a third run, which notes it. */
async function confirmed(first: Trial, context: TrialContext): Promise<Trial | undefined> {
  const second = await tryOnce(first.cell, context)
  if (!second || second.result.verdict === first.result.verdict) return second
  const third = await tryOnce(first.cell, context)
  if (!third) return undefined
  const all = [first, second, third]
  const why = `${third.result.why}; results varied between runs: ${all.map(({ result }) => result.verdict).join(', ')}`
  const mayBeFlaky = all.some((trial) => trial.mayBeFlaky)
  return { ...third, steady: false, mayBeFlaky, result: { ...third.result, why } }
}

/** Fewer failures than these are tried if a permanent one is more than necessary. */
const MAX_TIMES = 4

/** The shortest scenario with the same verdict: with the fewest consecutive failures, if the failure mode is permanent. */
export async function shortestScenario(
  exploreCase: ExploreCase,
  { verdict, hits }: { verdict: CaseVerdict; hits: number },
  context: TrialContext,
): Promise<WrittenScenario | undefined> {
  if (failureMode(exploreCase.class).meets === 'one') return undefined
  for (let times = 1; times < Math.min(hits, MAX_TIMES + 1); times++) {
    const shorter = await tryOnce(exploreCase, context, times)
    if (!shorter) return undefined
    if (shorter.result.verdict === verdict) return shorter.result.scenario ?? undefined
  }
  return undefined
}
