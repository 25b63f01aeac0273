// The verdict on a cell: what the command made of a break.
import type { CellVerdict } from '../contract/exploration.ts'
import type { Finding, FindingKind } from '../contract/finding.ts'
import { outcomeClass } from './classes.ts'
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

/** What a break makes of a client by itself: that nothing came of a request, or that a stream broke off, is for the tests to judge. */
const FORGIVEN: readonly FindingKind[] = ['gave-up', 'swallowed', 'not-tried']

/** What the quiet runs say of a program, against which a run is held. */
export interface Baseline {
  /** Milliseconds that the slower one took. */
  tookMs: number
  /** How many calls of each kind there are. */
  kinds: ReadonlyMap<string, number>
  /** What was found although nothing was broken. */
  findings: ReadonlySet<FindingKind>
}

/** The baseline of the quiet runs. */
export function baselineOf(runs: readonly ObservedRun[]): Baseline {
  const kinds = new Map<string, number>()
  for (const run of runs)
    for (const [kind, calls] of countsOf(run.calls)) kinds.set(kind, Math.max(kinds.get(kind) ?? 0, calls))
  return {
    tookMs: Math.max(...runs.map(({ tookMs }) => tookMs)),
    kinds,
    findings: new Set(runs.flatMap(({ findings }) => findings.map(({ finding }) => finding.kind))),
  }
}

const countsOf = (calls: readonly ObservedCall[]): Map<string, number> =>
  new Map([...Map.groupBy(calls, ({ point }) => point.kind)].map(([kind, same]) => [kind, same.length]))

/** The verdict on a cell of a run; `rule` is the name of its rule, the last one of a pair. */
export function judgeCell(
  run: ObservedRun,
  { cell, rule, baseline }: { cell: Cell; rule: string; baseline: Baseline },
): Judgement {
  const session = cell.point.session
  const calls = run.calls.filter(({ point }) => point.session === session)
  const hit = calls.filter(({ trace }) => metRule(trace, rule))
  const traces = hit.map(({ trace }) => trace.id)
  const calledAgain = callsAgain(calls, baseline)
  const of = (verdict: CellVerdict, why: string): Judgement => ({ verdict, why, traces, calledAgain })
  const missing = hit.length === 0 ? notApplied(run, rule) : undefined
  if (missing !== undefined) return of('not-applied', missing)
  if (run.timedOut)
    return of(
      'hung',
      `the command had not ended after ${seconds(run.tookMs)}, beside ${seconds(baseline.tookMs)} without the fault`,
    )
  if (run.crashed) return of('crashed', `the command was ended by signal ${run.code - 128}`)
  if (run.code !== 0) return of('broke', `the command failed with ${run.code}`)
  const finding = run.findings.find((one) => one.session === session && blames(one.finding, baseline))?.finding
  if (finding) return { ...of('misbehaved', `${finding.kind}: ${finding.message}`), traces: finding.traces }
  const repeated = repetitions(hit, cell, baseline)
  if (repeated > 0)
    return of(
      'misbehaved',
      `the answer says that the call is wrong, but it was made again ${repeated === 1 ? 'once' : `${repeated} times`}`,
    )
  if (calledAgain) return of('held', 'the client called again, and the command passed')
  return of('swallowed', 'the fault reached the client, nothing was called again, and the command passed')
}

/** How often a call was made again that cannot come to anything else: the quiet runs say how many of its kind there are. */
const repetitions = (hit: readonly ObservedCall[], { point, class: name }: Cell, { kinds }: Baseline): number =>
  outcomeClass(name).final
    ? hit.filter((call) => call.point.kind === point.kind && call.point.nth > (kinds.get(point.kind) ?? 0)).length
    : 0

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

const blames = ({ kind, severity, accepted }: Finding, { findings }: Baseline): boolean =>
  severity === 'error' && !accepted && !FORGIVEN.includes(kind) && !findings.has(kind)

/** Whether there are calls that the quiet runs did not make. */
const callsAgain = (calls: readonly ObservedCall[], { kinds }: Baseline): boolean =>
  [...countsOf(calls)].some(([kind, number]) => number > (kinds.get(kind) ?? 0))

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
