// The verdict on a case: how the command handled a failure.
import type { CaseMistake, CaseVerdict } from '../contract/core/exploration.ts'
import { durationText } from '../lib/units.ts'
import { type Baseline, faultsIn, printedLines } from './baseline.ts'
import { caseId } from './case-scenario.ts'
import { failureNature } from './failure-modes.ts'
import { LONG_TIMEOUT, mistakesIn } from './mistakes.ts'
import { callsAgain, MAX_SHOWN, recoveryOf } from './recovery.ts'
import type { ExploreCase, Hang, ObservedRun } from './types.ts'

/** The result of one run for one of its cases. */
interface Judgement {
  verdict: CaseVerdict
  why: string
  /** The worst mistake of the program; null if there is none. */
  mistake: CaseMistake | null
  /** The calls that are the evidence. */
  traces: string[]
  /** Whether the verdict is good only because calls were counted that cannot be distinguished. */
  counted: boolean
  /** Whether the command failed although the failed request got its response and nothing else was wrong: it may be flaky. */
  recovered: boolean
}

/** The verdict on a case of a run; `rule` is the name of its rule, the last one of a pair. */
export function judgeCase(
  run: ObservedRun,
  { cell, rule, baseline }: { cell: ExploreCase; rule: string; baseline: Baseline },
): Judgement {
  const session = cell.point.session
  const calls = run.calls.filter(({ point }) => point.session === session)
  const hit = calls.filter(({ trace }) => faultsIn(trace).includes(rule))
  const traces = hit.slice(0, MAX_SHOWN).map(({ trace }) => trace.id)
  const of = (verdict: CaseVerdict, why: string, counted = false): Judgement => ({
    ...{ verdict, why, traces, counted },
    ...{ mistake: null, recovered: false },
  })
  // The affected call may be known only by its rule: then only a bad end is evidence.
  const isGone = hit.length === 0 && run.dropped > 0 && rulesNamed(run, rule).some(({ applied }) => applied > 0)
  if (hit.length === 0 && !isGone) return of('not-applied', notApplied(run, rule))
  const broken = { baseline, calls, hit, dropped: run.dropped }
  const [found] = mistakesIn({ ...broken, exploreCase: cell, findings: run.findings })
  const mistake = found ? { kind: found.kind, about: found.about } : null
  const besides = found ? `; ${found.why}` : ''
  const bad = (verdict: CaseVerdict, why: string): Judgement => ({ ...of(verdict, `${why}${besides}`), mistake })
  if (run.hang) {
    const hung = bad('hung', hangText(run.hang, run, baseline))
    return run.hang.timeout && !mistake ? { ...hung, mistake: { kind: LONG_TIMEOUT, about: '' } } : hung
  }
  if (run.crashed) return bad('crashed', `the command was killed by signal ${run.code - 128}`)
  const nature = failureNature(caseId(cell).class)
  const shows = showsError(run, baseline)
  if (run.code !== 0) {
    const why = `the command failed with exit code ${run.code}`
    const recovered = !mistake && !isGone && recoveryOf(broken) !== undefined
    if (mistake || nature === 'recoverable') return { ...bad('failed', why), recovered }
    const ended = shows
      ? of('failed-cleanly', `${why}, and its output shows the error`)
      : of('failed', `${why}, but its output does not show an error`)
    return { ...ended, recovered }
  }
  if (isGone) return of('not-applied', DROPPED)
  if (found) return { ...of('misbehaved', found.why), mistake, traces: found.traces.slice(0, MAX_SHOWN) }
  const recovery = recoveryOf(broken)
  if (!recovery) {
    const tried = callsAgain(broken) ? 'retried without success' : 'did not retry'
    const why = `the client received the fault and ${tried}, and the command passed`
    // A program that reports that nothing more can be done, and ends well, has lost nothing in silence.
    return nature === 'terminal' && shows
      ? of('failed-cleanly', `${why}, but its output shows the error`)
      : of('swallowed', why)
  }
  const tolerated =
    recovery.how === 'corrected'
      ? 'the client reported the error to the model, and the command passed'
      : 'the client retried successfully, and the command passed'
  return { ...of('tolerated', tolerated, recovery.counted), traces: [...new Set([...traces, ...recovery.traces])] }
}

/** What happened in a run that hung. */
function hangText(
  { kind, silentMs, repeats, timeout, isOpen }: Hang,
  { tookMs }: ObservedRun,
  baseline: Baseline,
): string {
  if (kind === 'endless')
    return `the client made the same request ${repeats} times in ${seconds(tookMs)}, and the command was still running`
  if (kind === 'long')
    return `the command was still running after ${seconds(tookMs)} (baseline: ${seconds(baseline.tookMs)})`
  const still = `the command was still running after ${seconds(silentMs)} without activity`
  if (!timeout) return isOpen ? `${still}, and its call declares no timeout: raise --hang-limit if it has one` : still
  return `${still}; the timeout of its call, ${durationText(timeout.ms)}${timeout.assumed ? ' (the default of its SDK)' : ''}, is longer than --timeout`
}

/** Whether a run prints a line about an error that the baseline does not print. */
const showsError = (run: ObservedRun, { printed }: Baseline): boolean =>
  printedLines(run).some((line) => !printed.has(line) && REPORTS_ERROR.test(line))
/** Words of error messages, stack traces and test runners; and the statuses of HTTP errors. */
const REPORTS_ERROR =
  /error|exception|fail|traceback|panic|fatal|abort|refus|reject|denied|invalid|unauthori[sz]ed|unavailable|unable|cannot|could not|too (?:long|many)|exceed|rate.?limit|overloaded|time[d -]?out|filter|(?:status|code|http)\D{0,10}[45]\d\d\b|[✗✘×]/i

const rulesNamed = ({ rules }: ObservedRun, name: string) => rules.filter((rule) => rule.name === name)

/** Why the fault of a rule was not injected. */
function notApplied(run: ObservedRun, name: string): string {
  const found = rulesNamed(run, name)
  const skipped = found.flatMap((rule) => Object.keys(rule.skipped))
  const why = skipped[0] ?? found.find(({ not_triggered: idle }) => idle !== null)?.not_triggered
  return run.leftProcesses ? LEFT : (why ?? 'the call was not made')
}
const LEFT = 'the command ended and left processes running: a call that one of them makes later is not tested'
const DROPPED = 'the trace of the affected call was dropped: raise --keep-traces or --keep-trace-bytes'

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
