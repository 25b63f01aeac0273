// The verdict on a case: how the command handled a failure.
import type { CaseVerdict } from '../contract/core/exploration.ts'
import type { Baseline } from './baseline.ts'
import { mistakesIn } from './mistakes.ts'
import { callsAgain, MAX_SHOWN, recoveryOf } from './recovery.ts'
import type { ExploreCase, ObservedCall, ObservedRun } from './types.ts'

/** The result of one run for one of its cases. */
interface Judgement {
  verdict: CaseVerdict
  why: string
  /** The calls that are the evidence. */
  traces: string[]
  /** Whether the verdict is good only because calls were counted that cannot be distinguished. */
  counted: boolean
}

/** The verdict on a case of a run; `rule` is the name of its rule, the last one of a pair. */
export function judgeCase(
  run: ObservedRun,
  { cell, rule, baseline }: { cell: ExploreCase; rule: string; baseline: Baseline },
): Judgement {
  const session = cell.point.session
  const calls = run.calls.filter(({ point }) => point.session === session)
  const hit = calls.filter(({ trace }) => metRule(trace, rule))
  const traces = hit.slice(0, MAX_SHOWN).map(({ trace }) => trace.id)
  const of = (verdict: CaseVerdict, why: string, counted = false): Judgement => ({ verdict, why, traces, counted })
  // The affected call may be known only by its rule: then only a bad end is evidence.
  const isGone = hit.length === 0 && run.dropped > 0 && rulesNamed(run, rule).some(({ applied }) => applied > 0)
  if (hit.length === 0 && !isGone) return of('not-applied', notApplied(run, rule))
  const broken = { baseline, calls, hit, dropped: run.dropped }
  const [mistake] = mistakesIn({ ...broken, exploreCase: cell, findings: run.findings })
  const besides = mistake ? `; ${mistake.why}` : ''
  if (run.timedOut)
    return of(
      'hung',
      `the command was still running after ${seconds(run.tookMs)} (baseline: ${seconds(baseline.tookMs)})${besides}`,
    )
  if (run.crashed) return of('crashed', `the command was killed by signal ${run.code - 128}${besides}`)
  if (run.code !== 0) return of('failed', `the command failed with exit code ${run.code}${besides}`)
  if (isGone) return of('not-applied', DROPPED)
  if (mistake) return { ...of('misbehaved', mistake.why), traces: mistake.traces.slice(0, MAX_SHOWN) }
  const recovery = recoveryOf(broken)
  if (!recovery)
    return of(
      'swallowed',
      callsAgain(broken)
        ? 'the client received the fault and retried without success, and the command passed'
        : 'the client received the fault and did not retry, and the command passed',
    )
  const tolerated =
    recovery.how === 'corrected'
      ? 'the client reported the error to the model, and the command passed'
      : 'the client retried successfully, and the command passed'
  return { ...of('tolerated', tolerated, recovery.counted), traces: [...new Set([...traces, ...recovery.traces])] }
}

const metRule = ({ faults, attempts, task }: ObservedCall['trace'], rule: string): boolean =>
  faults.includes(rule) ||
  attempts.some((attempt) => attempt.faults.includes(rule)) ||
  (task?.steps.some((step) => step.faults?.includes(rule)) ?? false)

const rulesNamed = ({ rules }: ObservedRun, name: string) => rules.filter((rule) => rule.name === name)

/** Why the fault of a rule was not injected. */
function notApplied(run: ObservedRun, name: string): string {
  const found = rulesNamed(run, name)
  const skipped = found.flatMap((rule) => Object.keys(rule.skipped))
  return skipped[0] ?? found.find(({ not_triggered: idle }) => idle !== null)?.not_triggered ?? 'the call was not made'
}
const DROPPED = 'the trace of the affected call was dropped: raise --keep-traces or --keep-trace-bytes'

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
