// One trial: some cells broken in one run, each judged, and what is broken tried again alone and made as short as can be.
import type { CellResult, CellVerdict, WrittenScenario } from '../contract/exploration.ts'
import type { Baseline } from './baseline.ts'
import { cellId, scenarioOf } from './cell-scenario.ts'
import { outcomeClass } from './classes.ts'
import { type Judgement, judgeCell } from './judge.ts'
import type { Cell, ObservedRun } from './types.ts'

/** Runs the command, with a scenario or without; it is ended after `limitMs`, never when that is null. */
export type RunCommand = (run: { scenario: WrittenScenario | null; limitMs: number | null }) => Promise<ObservedRun>

/** What trials are made with. */
export interface TrialContext {
  run: RunCommand
  baseline: Baseline
  limitMs: number
}

/** What a trial found of a cell. */
export interface Trial {
  cell: Cell
  result: CellResult
  judgement: Judgement
  /** The run that shows it. */
  run: ObservedRun
}

/** Verdicts that a second run must confirm. */
const BAD: readonly CellVerdict[] = ['broke', 'crashed', 'hung', 'misbehaved']
/** Fewer breaks than these are tried where a break for ever is too much. */
const MOST_TIMES = 4

/** Tries cells of different sessions in one run; when it ends badly, each of them alone. */
export async function tryTogether(cells: readonly Cell[], context: TrialContext): Promise<Trial[]> {
  if (cells.length > 1) {
    const { run } = await play(cells, context)
    if (run.stopped) return []
    if (run.code === 0) return cells.map((cell) => trialOf(cell, { run, written: scenarioOf([cell]), context }))
  }
  const alone: Trial[] = []
  for (const cell of cells) {
    const first = await tryAlone(cell, context)
    if (!first) break
    const sure = BAD.includes(first.result.verdict) ? await confirmed(first, context) : first
    if (!sure) break
    alone.push(await shortened(sure, context))
  }
  return alone
}

async function play(cells: readonly Cell[], { run, limitMs }: TrialContext, times?: number) {
  const written = scenarioOf(cells, times)
  return { run: await run({ scenario: written, limitMs }), written }
}

/** Undefined when somebody has asked for the end. */
async function tryAlone(cell: Cell, context: TrialContext, times?: number): Promise<Trial | undefined> {
  const { run, written } = await play([cell], context, times)
  return run.stopped ? undefined : trialOf(cell, { run, written, context })
}

interface Played {
  run: ObservedRun
  written: WrittenScenario
  context: TrialContext
}

function trialOf(cell: Cell, { run, written, context: { baseline } }: Played): Trial {
  const judgement = judgeCell(run, { cell, rule: String(written.rules.at(-1)?.name), baseline })
  const { verdict, why, traces } = judgement
  const scenario = verdict === 'not-applied' ? null : written
  const { output, tookMs } = run
  const calls = run.calls.flatMap(({ point, trace: { id } }) => (point.session === cell.point.session ? [id] : []))
  return {
    cell,
    judgement,
    run,
    result: { ...cellId(cell), verdict, why, traces, calls, scenario, output, tookMs, derived: false },
  }
}

/** The trial when a second run ends as the first; else that of a third run, which says so. */
async function confirmed(first: Trial, context: TrialContext): Promise<Trial | undefined> {
  const second = await tryAlone(first.cell, context)
  if (!second || second.result.verdict === first.result.verdict) return second
  const third = await tryAlone(first.cell, context)
  if (!third) return undefined
  const why = `${third.result.why}; not in every run: ${[first, second, third].map(({ result }) => result.verdict).join(', ')}`
  return { ...third, result: { ...third.result, why } }
}

/** The same with the fewest breaks in a row that end alike, where the class breaks for ever. */
async function shortened(trial: Trial, context: TrialContext): Promise<Trial> {
  const { cell, run, result } = trial
  if (!BAD.includes(result.verdict) || outcomeClass(cell.class).meets === 'one') return trial
  const hits = run.calls.filter(({ point }) => point.kind === cell.point.kind).length - cell.point.nth + 1
  for (let times = 1; times < Math.min(hits, MOST_TIMES + 1); times++) {
    const shorter = await tryAlone(cell, context, times)
    if (!shorter) break
    if (shorter.result.verdict === result.verdict)
      return { ...trial, result: { ...result, scenario: shorter.result.scenario } }
  }
  return trial
}
