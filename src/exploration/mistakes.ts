// What a program does wrong under a fault although its tests may pass: told from what the quiet runs show of it.
import type { Finding, FindingKind } from '../contract/core/finding.ts'
import { unheardOf } from '../providers/likely-model.ts'
import { type ClientCall, hasNewKey, isAfter, keptWait, pauseBetween, sameRequest } from '../verdict/client-call.ts'
import { earlyText } from '../verdict/kinds/early-retry.ts'
import { ignoredText } from '../verdict/kinds/ignored-status.ts'
import { type Baseline, refusalName, requestName, toolCounts } from './baseline.ts'
import { outcomeClass } from './classes.ts'
import type { BrokenRun } from './recovery.ts'
import type { Cell, ObservedCall, ObservedRun } from './types.ts'

/** One mistake, with the calls that show it. */
interface Mistake {
  why: string
  traces: string[]
}

/** A run as it is looked at for one cell. */
interface CellRun extends BrokenRun {
  cell: Cell
  findings: ObservedRun['findings']
}

/** All mistakes, those that are surest first. */
export const mistakesIn = (run: CellRun): Mistake[] =>
  [found, repeatedInVain, calledTooEarly, doneTwice, refusedOtherwise, unknownModel].flatMap((look) => look(run))

/** What a break makes of a client by itself: that nothing came of a request, or that a stream broke off, is for the tests to judge. */
const FORGIVEN: readonly FindingKind[] = ['gave-up', 'swallowed', 'not-exercised']

const blames = ({ kind, severity, accepted }: Finding, { findings }: Baseline): boolean =>
  severity === 'error' && !accepted && !FORGIVEN.includes(kind) && !findings.has(kind)

function found({ cell, baseline, findings }: CellRun): Mistake[] {
  const one = findings.find(({ session, finding }) => session === cell.point.session && blames(finding, baseline))
  return one ? [{ why: `${one.finding.kind}: ${one.finding.message}`, traces: one.finding.traces }] : []
}

const idsOf = (calls: readonly ObservedCall[]) => calls.map(({ trace }) => trace.id)
const times = (count: number) => (count === 1 ? 'once' : `${count} times`)

/** A call that was broken, with those that make the same request again and that the quiet runs do not make. */
interface Repeated {
  /** Those that the fault has met, in the order in which they came. */
  first: ObservedCall[]
  again: ObservedCall[]
}

/** What was made again: where the quiet runs make a request as well, the latest calls are its repetitions. */
function repetitions({ baseline, calls, hit }: CellRun): Repeated[] {
  const byRequest = Map.groupBy(calls, requestName)
  return [...Map.groupBy(hit, requestName)].flatMap(([name, first]) => {
    const same = byRequest.get(name) ?? []
    const extra = same.length - (baseline.requests.get(name)?.made ?? 1)
    const after = same.slice(same.indexOf(first[0] as ObservedCall) + 1)
    const again = after.slice(Math.max(0, after.length - Math.max(0, extra)))
    return again.length === 0 ? [] : [{ first, again }]
  })
}

/** A call made again that cannot come to anything else. */
function repeatedInVain(run: CellRun): Mistake[] {
  if (!outcomeClass(run.cell.class).final) return []
  const again = repetitions(run).flatMap(({ first, again }) =>
    again.filter(({ client }) => first.some((one) => isAfter(client, one.client) && isInVain(one.client, client))),
  )
  if (again.length === 0) return []
  const why = `ignored-status: ${ignoredText(run.hit[0]?.client.status ?? 0, again.length)}`
  return [{ why, traces: idsOf([...new Set([...run.hit, ...again])]) }]
}

/** Whether nothing else can come of a call that is made again: with another key it is that of somebody else. */
const isInVain = (first: ClientCall, again: ClientCall): boolean =>
  sameRequest(first, again) && !hasNewKey(first, again)

/** A call made again before the wait was over, on whatever connection: it is early only where it keeps no wait that was told. */
function calledTooEarly(run: CellRun): Mistake[] {
  for (const { first, again } of repetitions(run))
    for (const call of again) {
      const told = first.filter(({ client }) => client.wait !== null && isAfter(call.client, client))
      const last = told.at(-1)
      if (!last || told.some(({ client }) => keptWait(client, call.client))) continue
      const waited = Math.max(0, Math.round(pauseBetween(last.client, call.client)))
      const why = `early-retry: ${earlyText({ told: last.client.wait ?? 0, waited })}`
      return [{ why, traces: idsOf([last, call]) }]
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
    const why = `tool-repeated: ${call} was executed ${times(count)} under the fault, ${times(usual)} in the baseline`
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
  const { status, error } = first.trace
  const why = `wrong-request: under the fault, a call failed with status ${status} that the fault did not cause: ${error?.message}`
  return [{ why, traces: idsOf(refused) }]
}

/** A call under a fault that asks a model which nobody knows, where the quiet runs ask only known ones. A provider that was only assumed is nobody's word. */
function unknownModel({ calls, baseline: { models } }: CellRun): Mistake[] {
  if ([...models].some((model) => unheardOf(model) !== undefined)) return []
  for (const { trace } of calls) {
    const assumed = Object.values(trace.assumed ?? {})
    for (const model of trace.plan) {
      const wrong = models.has(model) || assumed.includes(model) ? undefined : unheardOf(model)
      if (wrong !== undefined)
        return [{ why: `unknown-model: under the fault, the client called ${model}: ${wrong}`, traces: [trace.id] }]
    }
  }
  return []
}
