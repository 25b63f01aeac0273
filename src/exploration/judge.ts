// The verdict on a case: how the command handled a failure.

import { MISS_CODE } from '../contract/core/cassette-modes.ts'
import type { CaseMistake, CaseResult, CaseVerdict } from '../contract/core/exploration.ts'
import type { Finding, FindingKind } from '../contract/core/finding.ts'
import { durationText } from '../lib/units.ts'
import { firstIndex } from '../lib/values.ts'
import { unlistedModel } from '../providers/likely-model.ts'
import { type ClientCall, hasNewKey, honorsWait, isAfter, pauseBetween, sameRequest } from '../verdict/client-call.ts'
import { judgeClient } from '../verdict/findings.ts'
import { times } from '../verdict/kinds/define.ts'
import { earlyText } from '../verdict/kinds/early-retry.ts'
import { ignoredText } from '../verdict/kinds/ignored-status.ts'
import { requestedDifferently } from '../verdict/settled.ts'
import {
  type Baseline,
  complains,
  countCalls,
  faultsIn,
  isAnswered,
  kindName,
  printedLines,
  refusalName,
  requestName,
  toolCounts,
} from './baseline.ts'
import { reportsError } from './error-text.ts'
import { caseId, failureMode, failureNature } from './failure-modes.ts'
import type { ExploreCase, Hang, ObservedCall, ObservedRun } from './types.ts'

/** The result of one run for one of its cases. */
interface Judgement extends Pick<CaseResult, 'verdict' | 'why' | 'mistake' | 'traces'> {
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
  const miss = calls.find(({ trace }) => trace.error?.code === MISS_CODE && !baseline.refused.has(refusalName(trace)))
  if (miss) return of('not-applied', notRecorded(miss))
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
  printedLines(run).some((line) => !printed.has(line) && reportsError(line))

const rulesNamed = ({ rules }: ObservedRun, name: string) => rules.filter((rule) => rule.name === name)

/** Why the fault of a rule was not injected. */
function notApplied(run: ObservedRun, name: string): string {
  const found = rulesNamed(run, name)
  const skipped = found.flatMap((rule) => Object.keys(rule.skipped))
  const why = skipped[0] ?? found.find(({ not_triggered: idle }) => idle !== null)?.not_triggered
  return run.leftProcesses ? LEFT : (why ?? 'the call was not made')
}
/** A call that only the fault causes, such as that of a fallback: whether it would have succeeded is unknown. */
const notRecorded = ({ trace }: ObservedCall) =>
  `under the fault, the command calls ${trace.model ?? trace.operation} with a request that is not in the cassette: explore with --on-miss forward`
const LEFT = 'the command ended and left processes running: a call that one of them makes later is not tested'
const DROPPED = 'the trace of the affected call was dropped: raise --keep-traces or --keep-trace-bytes'

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

// Whether a failure was recovered: the request itself succeeded later, or another one replaced it.

/** A run with a fault, as examined for one session. */
interface BrokenRun {
  baseline: Baseline
  /** The calls of the session, in order of arrival. */
  calls: readonly ObservedCall[]
  /** The affected calls, in the same order. */
  hit: readonly ObservedCall[]
  /** Calls whose traces were dropped. */
  dropped: number
}

/** Maximum number of calls that are named as evidence. */
const MAX_SHOWN = 20
/** Maximum number of later calls that are examined as corrections or parts of a failed one. */
const MAX_LOOKED_AT = 1_000

/**
 * How every affected request was recovered, with the calls that are the evidence, if they are not equal ones; undefined
 * if one of them got no response.
 */
function recoveryOf(run: BrokenRun) {
  const counts = countsOf(run)
  const standIns = standInsOf(run)
  const found: ObservedCall[] = []
  let corrected = false
  /** Whether calls were only counted, because they cannot be distinguished, or the program never repeats a request. */
  let counted = false
  for (const hits of Map.groupBy(run.hit, requestName).values()) {
    const [first] = hits
    if (!first) continue
    // A program that takes another path because of the fault may need fewer calls.
    let missing = Math.min(hits.length, counts.missing(first))
    if (counts.isAlike(first)) counted = true
    for (const hit of hits) {
      const standIn = missing > 0 ? standIns.take(hit) : undefined
      if (!standIn) continue
      missing--
      if (standIn.call) found.push(standIn.call)
      corrected ||= standIn.corrects
    }
    if (missing === 0) continue
    if (!counts.perhaps(first)) return undefined
    counted = true
  }
  const traces = [...new Set(found.map(({ trace }) => trace.id))].slice(0, MAX_SHOWN)
  return { how: corrected ? ('corrected' as const) : ('repeated' as const), traces, counted }
}

/** Whether there were more calls of a kind, after the fault, than in the baseline. */
function callsAgain({ baseline: { kinds }, calls, hit }: BrokenRun): boolean {
  const [first] = hit
  const counts = countCalls(calls, kindName)
  const isMore = (kind: string) => (counts.get(kind)?.made ?? 0) > (kinds.get(kind)?.made ?? 0)
  return calls.slice(first ? calls.indexOf(first) + 1 : calls.length).some((call) => isMore(kindName(call)))
}

/** Number of successful requests, compared with the baseline. */
function countsOf({ baseline, calls, dropped }: BrokenRun) {
  const requests = countCalls(calls, requestName)
  const kinds = countCalls(calls, kindName)
  // Calls whose traces were dropped are the oldest: they count as successful in all runs.
  const gone = dropped - baseline.dropped
  const usually = (call: ObservedCall) => baseline.requests.get(requestName(call))?.answered ?? 0
  return {
    /** Missing responses of a request. */
    missing(call: ObservedCall): number {
      const answered = requests.get(requestName(call))?.answered ?? 0
      const usual = usually(call)
      return usual > 1 ? Math.max(0, usual - answered - gone) : answered > 0 ? 0 : 1
    },
    /** Whether equal requests cannot be distinguished. */
    isAlike: (call: ObservedCall): boolean => usually(call) > 1,
    /**
     * For a program that never repeats a request, such as one that sends the time, only calls of the kind can be
     * counted.
     */
    perhaps(call: ObservedCall): boolean {
      if (baseline.requests.get(requestName(call))?.stable) return false
      const usual = baseline.kinds.get(kindName(call))
      const { made = 0, answered = 0 } = kinds.get(kindName(call)) ?? {}
      return usual !== undefined && made + gone > usual.made && answered + gone >= usual.answered
    },
  }
}

/** Calls that may replace affected ones: each for one of them. */
function standInsOf({ baseline, calls }: BrokenRun) {
  const answered = calls.filter(isAnswered)
  const extra = extraCalls(calls, baseline).filter(isAnswered)
  const byQuestion = Map.groupBy(extra, ({ client }) => client.question.id)
  const byClient = new Map(extra.map((call) => [call.client, call]))
  const free = new Set(answered)
  let pairs: ReadonlyMap<ClientCall, ClientCall> | undefined
  const isLater = (hit: ObservedCall) => (call: ObservedCall) =>
    free.has(call) && call.client.number > hit.client.number
  /** Paired as in verdicts on clients. */
  const repetitionOf = (hit: ObservedCall): ObservedCall | undefined => {
    pairs ??= repetitionsIn(calls)
    for (let again = pairs.get(hit.client); again; again = pairs.get(again)) {
      const call = byClient.get(again)
      if (call && free.has(call)) return call
    }
    return undefined
  }
  const inParts = (hit: ObservedCall): boolean => {
    const parts = nextAfter(extra, hit).filter(isLater(hit))
    const clients = parts.map(({ client }) => client)
    return requestedDifferently({ roots: clients, undeclared: clients, unresolved: [hit.client] }).size > 0
  }
  const correctionOf = (hit: ObservedCall): ObservedCall | undefined =>
    nextAfter(answered, hit).find((call) => isLater(hit)(call) && corrects(call, hit, baseline))
  const take = (call: ObservedCall, isCorrection: boolean) => {
    free.delete(call)
    return { call, corrects: isCorrection }
  }
  return {
    /**
     * The replacement of an affected call, and whether it tells the model about the error; without a call if several calls
     * replace it in parts.
     */
    take(hit: ObservedCall) {
      const same = byQuestion.get(hit.client.question.id)?.find(isLater(hit)) ?? repetitionOf(hit)
      if (same) return take(same, false)
      if (inParts(hit)) return { call: undefined, corrects: false }
      const correction = correctionOf(hit)
      return correction && take(correction, true)
    },
  }
}

/** The calls that repeat others, or continue their text. */
function repetitionsIn(calls: readonly ObservedCall[]): Map<ClientCall, ClientCall> {
  const { pairs, settled } = judgeClient(calls.map(({ client }) => client)).pairing
  return new Map([...pairs, ...settled.continued].map(({ first, again }) => [first, again]))
}

/** Calls beyond those of the baseline: the latest of equal ones. */
function extraCalls(calls: readonly ObservedCall[], { requests }: Baseline): ObservedCall[] {
  const extra = new Set(
    [...Map.groupBy(calls, requestName)].flatMap(([name, same]) => same.slice(requests.get(name)?.made ?? 0)),
  )
  return calls.filter((call) => extra.has(call))
}

/** The first of some ordered calls after another one. */
function nextAfter(calls: readonly ObservedCall[], { client: { number } }: ObservedCall): ObservedCall[] {
  const first = firstIndex(calls, ({ client }) => client.number > number)
  return calls.slice(first, first + MAX_LOOKED_AT)
}

/**
 * Whether a later call tells the model about its invalid response, in the same conversation and with a text that is not
 * in the baseline.
 */
function corrects(call: ObservedCall, broken: ObservedCall, { texts }: Baseline): boolean {
  const begun = broken.request.items
  const goesOn = begun.length > 0 && begun.every(({ json }, at) => call.request.items[at]?.json === json)
  if (!goesOn && !call.request.goesOn) return false
  const added = goesOn ? call.request.items.slice(begun.length) : call.request.items
  return added.some(({ text }) => text !== undefined && !texts.has(text) && complains(text))
}

// Mistakes of a program under a fault although its tests may pass, derived from the baseline.

/** One mistake, with the calls that are its evidence. */
interface Mistake extends CaseMistake {
  why: string
  traces: string[]
}

/** A run as examined for one case. */
interface CaseRun extends BrokenRun {
  exploreCase: ExploreCase
  findings: ObservedRun['findings']
}

/** The kind of the mistake that is severe under every failure mode: a side effect that happened twice. */
export const TOOL_REPEATED = 'tool-repeated'

/** The kind of the mistake of a client that waits longer than the exploration does. */
export const LONG_TIMEOUT = 'long-timeout'

/** All mistakes, the most severe first, then the most certain. */
const mistakesIn = (run: CaseRun): Mistake[] =>
  [doneTwice, found, repeatedInVain, calledTooEarly, refusedOtherwise, unknownModel].flatMap((look) => look(run))

/**
 * Direct consequences of a fault: whether an unanswered request or a truncated stream is a problem, the tests decide.
 */
const FORGIVEN: readonly FindingKind[] = ['gave-up', 'swallowed', 'not-exercised']

const blames = ({ kind, severity, accepted }: Finding, { findings }: Baseline): boolean =>
  severity === 'error' && !accepted && !FORGIVEN.includes(kind) && !findings.has(kind)

function found({ exploreCase: cell, baseline, findings }: CaseRun): Mistake[] {
  const one = findings.find(({ session, finding }) => session === cell.point.session && blames(finding, baseline))
  if (!one) return []
  const { kind, message, traces } = one.finding
  return [{ kind, about: '', why: `${kind}: ${message}`, traces }]
}

const idsOf = (calls: readonly ObservedCall[]) => calls.map(({ trace }) => trace.id)

/**
 * The affected calls, in order of arrival, with those that repeat their request and are not in the baseline: if that makes
 * the request as well, the latest calls are its repetitions.
 */
function repetitions({ baseline, calls, hit }: CaseRun) {
  const byRequest = Map.groupBy(calls, requestName)
  return [...Map.groupBy(hit, requestName)].flatMap(([name, first]) => {
    const same = byRequest.get(name) ?? []
    const extra = same.length - (baseline.requests.get(name)?.made ?? 1)
    const after = same.slice(same.indexOf(first[0] as ObservedCall) + 1)
    const again = after.slice(Math.max(0, after.length - Math.max(0, extra)))
    return again.length === 0 ? [] : [{ first, again }]
  })
}

/** A repeated call that cannot have another result. */
function repeatedInVain(run: CaseRun): Mistake[] {
  if (!failureMode(run.exploreCase.class).final) return []
  const again = repetitions(run).flatMap(({ first, again }) =>
    again.filter(({ client }) => first.some((one) => isAfter(client, one.client) && isInVain(one.client, client))),
  )
  if (again.length === 0) return []
  const why = `ignored-status: ${ignoredText(run.hit[0]?.client.status ?? 0, again.length)}`
  return [{ kind: 'ignored-status', about: '', why, traces: idsOf([...new Set([...run.hit, ...again])]) }]
}

/** Whether a repeated call cannot have another result. With another idempotency key it may be of another client. */
const isInVain = (first: ClientCall, again: ClientCall): boolean =>
  sameRequest(first, again) && !hasNewKey(first, again)

/** A retry before the end of the wait, on any connection: it is early only if no requested wait was honored. */
function calledTooEarly(run: CaseRun): Mistake[] {
  for (const { first, again } of repetitions(run))
    for (const call of again) {
      const withWait = first.filter(({ client }) => client.wait !== null && isAfter(call.client, client))
      const last = withWait.at(-1)
      if (!last || withWait.some(({ client }) => honorsWait(client, call.client))) continue
      const waited = Math.max(0, Math.round(pauseBetween(last.client, call.client)))
      const why = `early-retry: ${earlyText({ requested: last.client.wait ?? 0, waited })}`
      return [{ kind: 'early-retry', about: '', why, traces: idsOf([last, call]) }]
    }
  return []
}

/** A tool that was executed more often, with the same arguments, than in the baseline. */
function doneTwice({ calls, baseline }: CaseRun): Mistake[] {
  for (const [name, count] of toolCounts(calls)) {
    const usual = Math.max(1, baseline.tools.get(name) ?? 0)
    if (count <= usual) continue
    const call = name.slice(name.indexOf('\n') + 1)
    const telling = calls.filter(({ request }) => request.results.some((result) => result.call === call))
    const why = `${TOOL_REPEATED}: ${call} was executed ${times(count)} under the fault, ${times(usual)} in the baseline`
    const about = call.slice(0, call.indexOf(' '))
    return [{ kind: TOOL_REPEATED, about, why, traces: idsOf(telling) }]
  }
  return []
}

/** Statuses of a request that is invalid in any case. */
const WRONG_REQUEST = [400, 404, 405, 413, 415, 422]

/** A call that the fault caused, such as a client's own fallback, and that is invalid itself. */
function refusedOtherwise({ calls, hit, baseline }: CaseRun): Mistake[] {
  const refused = calls.filter(
    ({ trace }) =>
      trace.outcome === 'http_error' &&
      WRONG_REQUEST.includes(trace.status) &&
      trace.guardrails.every(({ outcome }) => outcome !== 'blocked') &&
      trace.attempts.every(({ faults }) => faults.length === 0) &&
      trace.faults.length === 0 &&
      !baseline.refused.has(refusalName(trace)),
  )
  const met = new Set(hit)
  const first = refused.find((call) => !met.has(call))
  if (!first) return []
  const { status, error, model } = first.trace
  const why = `wrong-request: under the fault, a call failed with status ${status} that the fault did not cause: ${error?.message}`
  return [{ kind: 'wrong-request', about: model ?? '', why, traces: idsOf(refused) }]
}

/** A call of an unknown model under a fault, if the baseline calls only known ones. An assumed provider is ignored. */
function unknownModel({ calls, baseline: { models } }: CaseRun): Mistake[] {
  if ([...models].some((model) => unlistedModel(model) !== undefined)) return []
  for (const { trace } of calls) {
    const assumed = Object.values(trace.assumed ?? {})
    for (const model of trace.plan) {
      const wrong = models.has(model) || assumed.includes(model) ? undefined : unlistedModel(model)
      if (wrong === undefined) continue
      const why = `unknown-model: under the fault, the client called ${model}: ${wrong}`
      return [{ kind: 'unknown-model', about: model, why, traces: [trace.id] }]
    }
  }
  return []
}
