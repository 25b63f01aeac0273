// What a program does wrong under a fault although its tests may pass: told from what the quiet runs show of it.
import type { Finding, FindingKind } from '../contract/finding.ts'
import { unheardOf } from '../providers/likely-model.ts'
import { type Baseline, refusalName, toolCounts } from './baseline.ts'
import { outcomeClass } from './classes.ts'
import type { Cell, ObservedCall, ObservedRun } from './types.ts'

/** One mistake, with the calls that show it. */
export interface Mistake {
  why: string
  traces: string[]
}

/** A run as it is looked at for one cell. */
export interface CellRun {
  cell: Cell
  baseline: Baseline
  findings: ObservedRun['findings']
  /** Those of the cell's session, in the order in which they came. */
  calls: readonly ObservedCall[]
  /** Those that the fault has met. */
  hit: readonly ObservedCall[]
}

/** All mistakes, those that are surest first. */
export const mistakesIn = (run: CellRun): Mistake[] =>
  [found, repeatedInVain, calledTooEarly, doneTwice, refusedOtherwise, unknownModel].flatMap((look) => look(run))

/** What a break makes of a client by itself: that nothing came of a request, or that a stream broke off, is for the tests to judge. */
const FORGIVEN: readonly FindingKind[] = ['gave-up', 'swallowed', 'not-tried']

const blames = ({ kind, severity, accepted }: Finding, { findings }: Baseline): boolean =>
  severity === 'error' && !accepted && !FORGIVEN.includes(kind) && !findings.has(kind)

function found({ cell, baseline, findings }: CellRun): Mistake[] {
  const one = findings.find(({ session, finding }) => session === cell.point.session && blames(finding, baseline))
  return one ? [{ why: `${one.finding.kind}: ${one.finding.message}`, traces: one.finding.traces }] : []
}

const idsOf = (calls: readonly ObservedCall[]) => calls.map(({ trace }) => trace.id)
const times = (count: number) => (count === 1 ? 'once' : `${count} times`)

/** Calls of the point's kind beyond those of the quiet runs that ask what a call has asked before that was hit. */
function repetitions({ cell: { point }, baseline, calls, hit }: CellRun): ObservedCall[] {
  const usual = baseline.kinds.get(point.kind) ?? 0
  return calls.filter((call) => {
    if (call.point.kind !== point.kind || call.point.nth <= usual) return false
    return hit.some((first) => first.point.nth < call.point.nth && first.request.question === call.request.question)
  })
}

/** A call made again that cannot come to anything else. */
function repeatedInVain(run: CellRun): Mistake[] {
  if (!outcomeClass(run.cell.class).final) return []
  const again = repetitions(run)
  if (again.length === 0) return []
  const why = `ignored-status: the answer says that the call is wrong, but it was made again ${times(again.length)}`
  return [{ why, traces: idsOf([...run.hit, ...again.filter((call) => !run.hit.includes(call))]) }]
}

/** Timers of clients and ours round differently. */
const ROUNDING_MS = 10
const beganAt = ({ trace }: ObservedCall) => Date.parse(trace.started_at)
const endedAt = (call: ObservedCall) => beganAt(call) + call.trace.duration_ms

/** A call made again before the wait was over, on whatever connection: it is early only where it keeps no wait that was told. */
function calledTooEarly(run: CellRun): Mistake[] {
  for (const again of repetitions(run)) {
    const told = run.hit.filter(
      (first) =>
        first.trace.retry_after_ms !== null &&
        first.request.question === again.request.question &&
        endedAt(first) <= beganAt(again),
    )
    const early = (first: ObservedCall) =>
      beganAt(again) - endedAt(first) < (first.trace.retry_after_ms ?? 0) - ROUNDING_MS
    const last = told.at(-1)
    if (!last || !told.every(early)) continue
    const waited = Math.max(0, Math.round(beganAt(again) - endedAt(last)))
    const why = `early-retry: called again after ${waited} ms, though the answer had said to wait ${last.trace.retry_after_ms} ms`
    return [{ why, traces: idsOf([last, again]) }]
  }
  return []
}

/** A tool that was done more often, with the same arguments, than without the fault. */
function doneTwice({ calls, baseline }: CellRun): Mistake[] {
  for (const [name, count] of toolCounts(calls)) {
    const usual = Math.max(1, baseline.tools.get(name) ?? 0)
    if (count <= usual) continue
    const call = name.slice(name.indexOf('\n') + 1)
    const telling = calls.filter(({ request }) => request.results.some((result) => result.call === call))
    const why = `tool-repeated: ${call} was done ${times(count)}, and without the fault ${times(usual)}`
    return [{ why, traces: idsOf(telling) }]
  }
  return []
}

/** What a client may be told of a request that is wrong whatever happens. */
const WRONG_REQUEST = [400, 404, 405, 413, 415, 422]

/** A call that was brought about by the fault, such as a fallback of the client's own, and is wrong by itself. */
function refusedOtherwise({ calls, hit, baseline }: CellRun): Mistake[] {
  const refused = calls.filter(
    ({ trace }) =>
      trace.outcome === 'refused' &&
      WRONG_REQUEST.includes(trace.status) &&
      trace.guardrails.every(({ outcome }) => outcome !== 'blocked') &&
      trace.attempts.every(({ faults }) => faults.length === 0) &&
      trace.faults.length === 0 &&
      !baseline.refused.has(refusalName(trace)),
  )
  const [first] = refused.filter((call) => !hit.includes(call))
  if (!first) return []
  const { status, error } = first.trace
  const why = `wrong-request: under the fault a call was refused with ${status}, and not by the fault: ${error?.message}`
  return [{ why, traces: idsOf(refused) }]
}

/** A call under a fault that asks a model which nobody knows, where the quiet runs ask only known ones. */
function unknownModel({ calls, baseline: { models } }: CellRun): Mistake[] {
  if ([...models].some((model) => unheardOf(model) !== undefined)) return []
  for (const { trace } of calls)
    for (const model of trace.plan) {
      const wrong = models.has(model) ? undefined : unheardOf(model)
      if (wrong !== undefined)
        return [{ why: `unknown-model: under the fault ${model} is asked, and ${wrong}`, traces: [trace.id] }]
    }
  return []
}
