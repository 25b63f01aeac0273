// The verdict on a cell: what the command made of a break.
import type { CellVerdict } from '../contract/exploration.ts'
import { type Baseline, complains, kindCounts } from './baseline.ts'
import { mistakesIn } from './mistakes.ts'
import type { Cell, ObservedCall, ObservedRun } from './types.ts'

/** What is made of one run, for one of its cells. */
export interface Judgement {
  verdict: CellVerdict
  why: string
  /** The calls that show it. */
  traces: string[]
  /** Whether the client called again, or something else, after the break. */
  calledAgain: boolean
}

/** The verdict on a cell of a run; `rule` is the name of its rule, the last one of a pair. */
export function judgeCell(
  run: ObservedRun,
  { cell, rule, baseline }: { cell: Cell; rule: string; baseline: Baseline },
): Judgement {
  const session = cell.point.session
  const calls = run.calls.filter(({ point }) => point.session === session)
  const hit = calls.filter(({ trace }) => metRule(trace, rule))
  const traces = hit.map(({ trace }) => trace.id)
  const calledAgain = callsAgain(calls, hit, baseline)
  const of = (verdict: CellVerdict, why: string): Judgement => ({ verdict, why, traces, calledAgain })
  const missing = hit.length === 0 ? notApplied(run, rule) : undefined
  if (missing !== undefined) return of('not-applied', missing)
  const [mistake] = mistakesIn({ cell, baseline, calls, hit, findings: run.findings })
  const besides = mistake ? `; ${mistake.why}` : ''
  if (run.timedOut)
    return of(
      'hung',
      `the command had not ended after ${seconds(run.tookMs)}, beside ${seconds(baseline.tookMs)} without the fault${besides}`,
    )
  if (run.crashed) return of('crashed', `the command was ended by signal ${run.code - 128}${besides}`)
  if (run.code !== 0) return of('broke', `the command failed with ${run.code}${besides}`)
  if (mistake) return { ...of('misbehaved', mistake.why), traces: mistake.traces }
  if (calledAgain) return of('held', 'the client called again, and the command passed')
  const correction = correctionIn(calls, hit, baseline)
  if (correction)
    return {
      ...of('held', 'the client told the model what was wrong, and the command passed'),
      traces: [...traces, correction.trace.id],
    }
  return of('swallowed', 'the fault reached the client, nothing was called again, and the command passed')
}

/** The later call that tells the model of its broken answer, in the same conversation and in words that no quiet run has. */
function correctionIn(
  calls: readonly ObservedCall[],
  hit: readonly ObservedCall[],
  { texts }: Baseline,
): ObservedCall | undefined {
  return calls.find((call, index) =>
    hit.some((broken) => {
      if (calls.indexOf(broken) >= index) return false
      const begun = broken.request.items
      const goesOn = begun.every(({ json }, at) => call.request.items[at]?.json === json)
      if (!goesOn && !call.request.goesOn) return false
      const added = goesOn ? call.request.items.slice(begun.length) : call.request.items
      return added.some(({ text }) => text !== undefined && !texts.has(text) && complains(text))
    }),
  )
}

const metRule = ({ faults, attempts, task }: ObservedCall['trace'], rule: string): boolean =>
  faults.includes(rule) ||
  attempts.some((attempt) => attempt.faults.includes(rule)) ||
  (task?.steps.some((step) => step.faults?.includes(rule)) ?? false)

/** Why the fault of a rule acted on nothing. */
function notApplied({ rules }: ObservedRun, name: string): string {
  const found = rules.filter((rule) => rule.name === name)
  const skipped = found.flatMap((rule) => Object.keys(rule.skipped))
  return skipped[0] ?? found.find(({ idle }) => idle !== null)?.idle ?? 'the call did not come'
}

/** Whether calls came after the break that the quiet runs did not make. */
function callsAgain(calls: readonly ObservedCall[], [first]: readonly ObservedCall[], { kinds }: Baseline): boolean {
  const after = first ? calls.slice(calls.indexOf(first) + 1) : []
  const counts = kindCounts(calls)
  return after.some(({ point: { kind } }) => (counts.get(kind) ?? 0) > (kinds.get(kind) ?? 0))
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
