// Mistakes of a program under a fault although its tests may pass, derived from the baseline.
import type { CaseMistake } from '../contract/core/exploration.ts'
import type { Finding, FindingKind } from '../contract/core/finding.ts'
import { unlistedModel } from '../providers/likely-model.ts'
import { type ClientCall, hasNewKey, honorsWait, isAfter, pauseBetween, sameRequest } from '../verdict/client-call.ts'
import { earlyText } from '../verdict/kinds/early-retry.ts'
import { ignoredText } from '../verdict/kinds/ignored-status.ts'
import { type Baseline, refusalName, requestName, toolCounts } from './baseline.ts'
import { failureMode } from './failure-modes.ts'
import type { BrokenRun } from './recovery.ts'
import type { ExploreCase, ObservedCall, ObservedRun } from './types.ts'

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
export const mistakesIn = (run: CaseRun): Mistake[] =>
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
const times = (count: number) => (count === 1 ? 'once' : `${count} times`)

/** An affected call, with those that repeat its request and are not in the baseline. */
interface Repeated {
  /** The affected calls, in order of arrival. */
  first: ObservedCall[]
  again: ObservedCall[]
}

/** The repetitions: if the baseline makes a request as well, the latest calls are its repetitions. */
function repetitions({ baseline, calls, hit }: CaseRun): Repeated[] {
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
