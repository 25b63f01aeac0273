// One trial: runs a case, judges it, confirms the result, and minimizes the scenario.
import type { CaseResult, CaseVerdict, InjectionPoint, WrittenScenario } from '../contract/core/exploration.ts'
import type { Baseline } from './baseline.ts'
import { caseId, scenarioOf } from './case-scenario.ts'
import { failureMode } from './failure-modes.ts'
import { failingPoints, newInjectionPoints } from './injection-points.ts'
import { judgeCase } from './judge.ts'
import type { ExploreCase, ObservedRun } from './types.ts'

/** Runs the command, with or without a scenario. It is ended after `limitMs`, never if that is null. */
export type RunCommand = (run: { scenario: WrittenScenario | null; limitMs: number | null }) => Promise<ObservedRun>

/** The context of trials. */
interface TrialContext {
  run: RunCommand
  baseline: Baseline
  /** The injection points of the baseline. */
  baselinePoints: readonly InjectionPoint[]
  limitMs: number
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
  /** Whether all its runs had the same result. */
  steady: boolean
  /** Judges its run as that of another case, whose fault would have had the same effect. */
  judgedAs(other: ExploreCase): Pick<CaseResult, 'verdict' | 'why' | 'mistake'>
}

interface JudgedTrial extends Trial {
  /** Whether the verdict depends on counts of calls that cannot be distinguished. */
  counted: boolean
}

/** Results whose scenario is made as short as possible. */
const BAD: readonly CaseVerdict[] = ['failed', 'crashed', 'hung', 'misbehaved']
/** Results that a second run must confirm. */
const CONFIRMED: readonly CaseVerdict[] = [...BAD, 'swallowed']
/** Fewer failures than these are tried if a permanent one is more than necessary. */
const MAX_TIMES = 4

/** Runs a case; undefined if the user requested the end. */
export async function runCase(cell: ExploreCase, context: TrialContext): Promise<Trial | undefined> {
  const first = await tryOnce(cell, context)
  if (!first) return undefined
  const sure = CONFIRMED.includes(first.result.verdict) || first.counted ? await confirmed(first, context) : first
  return sure && shortened(sure, context)
}

async function tryOnce(
  exploreCase: ExploreCase,
  context: TrialContext,
  times?: number,
): Promise<JudgedTrial | undefined> {
  const written = scenarioOf(exploreCase, times)
  const run = await context.run({ scenario: written, limitMs: context.limitMs })
  return run.stopped ? undefined : trialOf(exploreCase, { run, written, context })
}

interface Played {
  run: ObservedRun
  written: WrittenScenario
  context: TrialContext
}

function trialOf(
  exploreCase: ExploreCase,
  { run, written, context: { baseline, baselinePoints } }: Played,
): JudgedTrial {
  const rule = String(written.rules.at(-1)?.name)
  const judgedAs = (one: ExploreCase) => judgeCase(run, { cell: one, rule, baseline })
  const { verdict, why, mistake, traces, counted } = judgedAs(exploreCase)
  const { output, code, tookMs, kept } = run
  const own = run.calls.filter(({ point }) => point.session === exploreCase.point.session)
  const broken = own.findIndex(({ point }) => point.id === exploreCase.point.id)
  const after = broken < 0 ? [] : own.slice(broken + 1)
  return {
    cell: exploreCase,
    counted,
    judgedAs,
    steady: true,
    following: failingPoints(after.map(({ point }) => point)).map(({ id }) => id),
    discovered: failingPoints(newInjectionPoints(run, new Set(baselinePoints.map(({ id }) => id)))),
    last: lastOf(run),
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
async function confirmed(first: JudgedTrial, context: TrialContext): Promise<JudgedTrial | undefined> {
  const second = await tryOnce(first.cell, context)
  if (!second || second.result.verdict === first.result.verdict) return second
  const third = await tryOnce(first.cell, context)
  if (!third) return undefined
  const why = `${third.result.why}; results varied between runs: ${[first, second, third].map(({ result }) => result.verdict).join(', ')}`
  return { ...third, steady: false, result: { ...third.result, why } }
}

/** The same with the fewest consecutive failures that end alike, if the failure mode is permanent. */
async function shortened(trial: JudgedTrial, context: TrialContext): Promise<Trial> {
  const { cell: exploreCase, last, result } = trial
  if (!BAD.includes(result.verdict) || failureMode(exploreCase.class).meets === 'one') return trial
  const hits = (last.get(exploreCase.point.kind) ?? 0) - exploreCase.point.nth + 1
  for (let times = 1; times < Math.min(hits, MAX_TIMES + 1); times++) {
    const shorter = await tryOnce(exploreCase, context, times)
    if (!shorter) break
    if (shorter.result.verdict === result.verdict)
      return { ...trial, result: { ...result, scenario: shorter.result.scenario } }
  }
  return trial
}
