// One trial: a cell broken in a run, judged, tried again to be sure, and made as short as can be.
import type { CaseResult, CaseVerdict, InjectionPoint, WrittenScenario } from '../contract/core/exploration.ts'
import type { Baseline } from './baseline.ts'
import { caseId, scenarioOf } from './case-scenario.ts'
import { failureMode } from './failure-modes.ts'
import { failingPoints, newInjectionPoints } from './injection-points.ts'
import { judgeCase } from './judge.ts'
import type { ExploreCase, ObservedRun } from './types.ts'

/** Runs the command, with a scenario or without; it is ended after `limitMs`, never when that is null. */
export type RunCommand = (run: { scenario: WrittenScenario | null; limitMs: number | null }) => Promise<ObservedRun>

/** What trials are made with. */
interface TrialContext {
  run: RunCommand
  baseline: Baseline
  /** The points of the quiet runs. */
  quiet: readonly InjectionPoint[]
  limitMs: number
}

/** What is kept of a cell that was tried: an exploration goes on from it. */
export interface TriedCase {
  result: CaseResult
  /** Ids of the points that came after the broken one in its session, those that a second fault may break. */
  following: string[]
  /** Points that no quiet run has. */
  discovered: InjectionPoint[]
}

/** What a trial found of a cell. */
export interface Trial extends TriedCase {
  cell: ExploreCase
  /** The highest number of a call of each kind that came. */
  last: ReadonlyMap<string, number>
  /** Whether all its runs came to the same. */
  steady: boolean
}

interface JudgedTrial extends Trial {
  /** Whether the verdict rests on counts of calls that cannot be told apart. */
  counted: boolean
}

/** Verdicts that a second run must confirm. */
const BAD: readonly CaseVerdict[] = ['failed', 'crashed', 'hung', 'misbehaved']
/** Fewer breaks than these are tried where a break for ever is too much. */
const MAX_TIMES = 4

/** Tries a cell; undefined when somebody has asked for the end. */
export async function runCase(cell: ExploreCase, context: TrialContext): Promise<Trial | undefined> {
  const first = await tryOnce(cell, context)
  if (!first) return undefined
  const sure = BAD.includes(first.result.verdict) || first.counted ? await confirmed(first, context) : first
  return sure && shortened(sure, context)
}

async function tryOnce(cell: ExploreCase, context: TrialContext, times?: number): Promise<JudgedTrial | undefined> {
  const written = scenarioOf(cell, times)
  const run = await context.run({ scenario: written, limitMs: context.limitMs })
  return run.stopped ? undefined : trialOf(cell, { run, written, context })
}

interface Played {
  run: ObservedRun
  written: WrittenScenario
  context: TrialContext
}

function trialOf(cell: ExploreCase, { run, written, context: { baseline, quiet } }: Played): JudgedTrial {
  const { verdict, why, traces, counted } = judgeCase(run, { cell, rule: String(written.rules.at(-1)?.name), baseline })
  const { output, tookMs, kept } = run
  const own = run.calls.filter(({ point }) => point.session === cell.point.session)
  const broken = own.findIndex(({ point }) => point.id === cell.point.id)
  const after = broken < 0 ? [] : own.slice(broken + 1)
  return {
    cell,
    counted,
    steady: true,
    following: failingPoints(after.map(({ point }) => point)).map(({ id }) => id),
    discovered: failingPoints(newInjectionPoints(run, new Set(quiet.map(({ id }) => id)))),
    last: lastOf(run),
    result: {
      ...caseId(cell),
      verdict,
      why,
      traces: traces.filter((id) => kept.has(id)),
      calls: own.flatMap(({ trace: { id } }) => (kept.has(id) ? [id] : [])),
      scenario: verdict === 'not-applied' ? null : written,
      output,
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

/** The trial when a second run ends as the first; else that of a third run, which says so. */
async function confirmed(first: JudgedTrial, context: TrialContext): Promise<JudgedTrial | undefined> {
  const second = await tryOnce(first.cell, context)
  if (!second || second.result.verdict === first.result.verdict) return second
  const third = await tryOnce(first.cell, context)
  if (!third) return undefined
  const why = `${third.result.why}; results varied between runs: ${[first, second, third].map(({ result }) => result.verdict).join(', ')}`
  return { ...third, steady: false, result: { ...third.result, why } }
}

/** The same with the fewest breaks in a row that end alike, where the class breaks for ever. */
async function shortened(trial: JudgedTrial, context: TrialContext): Promise<Trial> {
  const { cell, last, result } = trial
  if (!BAD.includes(result.verdict) || failureMode(cell.class).meets === 'one') return trial
  const hits = (last.get(cell.point.kind) ?? 0) - cell.point.nth + 1
  for (let times = 1; times < Math.min(hits, MAX_TIMES + 1); times++) {
    const shorter = await tryOnce(cell, context, times)
    if (!shorter) break
    if (shorter.result.verdict === result.verdict)
      return { ...trial, result: { ...result, scenario: shorter.result.scenario } }
  }
  return trial
}
