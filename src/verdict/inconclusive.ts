// When a verdict is inconclusive: no fault was injected, the calls lack what the scenario needs, or were not sent.

import { PROVIDER_NOT_CONFIGURED, PROVIDER_NOT_FORWARDED, SPENDING_LIMIT } from '../contract/core/error.ts'
import type { TraceRecord } from '../contract/core/trace.ts'
import type { VerdictResult, Verification } from '../contract/core/verification.ts'
import { counted } from '../lib/units.ts'
import { sumOf } from '../lib/values.ts'
import type { Scenario } from '../scenarios/engine.ts'

/** How to advance time for rules that begin later. */
const TIME_HINT =
  '; virtual time advances when the program pauses for at least 350 ms between calls, or posts {"advance":"10m"} to UNDERSTUDY_CLOCK_URL (set by exec) or /_understudy/sessions/NAME/clock'

/** Reports that no fault of a scenario was injected in a session. Undefined if one was. */
export function nothingInjected(
  { name, rules, clock, accept = [] }: Pick<Scenario, 'name' | 'rules' | 'clock' | 'accept'>,
  report: Pick<Verification, 'rules' | 'pending'>,
): string | undefined {
  if (accept.includes('not-exercised') || rules.every(({ fault }) => fault === undefined)) return undefined
  const own = report.rules.filter(({ scenario, fault }) => scenario === name && fault !== null)
  // A fault of a call in progress may still be injected.
  if (own.some(({ applied, triggered }) => applied > 0 || (triggered > 0 && report.pending > 0))) return undefined
  const timed = new Set(rules.filter(({ when }) => when.after || when.schedule).map((rule) => rule.name))
  const tooSoon = clock === 'virtual' && own.some((rule) => rule.matched > 0 && timed.has(rule.name))
  return `no fault was injected${tooSoon ? TIME_HINT : ''}`
}

const NOT_SENT = [SPENDING_LIMIT, PROVIDER_NOT_CONFIGURED, PROVIDER_NOT_FORWARDED]

type NotSent = Verification['not_sent']

/** The calls that were not sent to their provider, by their errors. */
export function notSentIn(traces: readonly Pick<TraceRecord, 'error'>[]): NotSent {
  const errors = traces.flatMap(({ error }) => (error && NOT_SENT.includes(error.code) ? [error] : []))
  return sumByCode(errors.map(({ code, message }) => ({ code, message, count: 1 })))
}

const sumByCode = (calls: NotSent): NotSent =>
  [...Map.groupBy(calls, ({ code }) => code)].map(([code, same]) => ({
    ...{ code, message: same[0]?.message ?? '', count: sumOf(same, ({ count }) => count) },
  }))

/** What is reported about such calls. */
export const notSentTexts = (calls: NotSent): string[] =>
  sumByCode(calls).map(
    ({ count, message }) =>
      `${counted(count, 'call')} ${count === 1 ? 'was' : 'were'} not sent to a provider: ${message}`,
  )

/**
 * Why a run is inconclusive: the reasons of its sessions. Only calls that were not sent count if any session is
 * conclusive: nobody knows how the program handles their responses, and no cassette has them.
 */
export function runReasons(reports: readonly Pick<Verification, 'inconclusive' | 'not_sent'>[]): string[] {
  const notSent = notSentTexts(reports.flatMap((report) => report.not_sent))
  if (reports.some(({ inconclusive }) => inconclusive.length === 0)) return notSent
  const others = reports.flatMap((report) => {
    const own = notSentTexts(report.not_sent)
    return report.inconclusive.filter((reason) => !own.includes(reason))
  })
  return [...new Set([...others, ...notSent])]
}

/** The verdict by failures and by reasons why it may be inconclusive. */
export const verdictOf = (fails: boolean, inconclusive: readonly string[]): VerdictResult =>
  fails ? 'fail' : inconclusive.length > 0 ? 'inconclusive' : 'pass'

/** The calls of a session under a scenario. */
interface NeedEvidence {
  /** The client's calls, in order of their start. */
  traces: readonly TraceRecord[]
  /** Start of the scenario, in ms since the epoch on the session's clock. */
  started: number
}

const seconds = (ms: number) => `${Math.round(ms / 100) / 10} s`

/** The needs of a scenario that a session does not meet, such as `this scenario needs a streamed call`. */
export function unmetNeeds({ needs = {} }: Pick<Scenario, 'needs'>, { traces, started }: NeedEvidence): string[] {
  const { calls = 0, elapsed, stream = false, agent = false, gateway = false } = needs
  const last = traces.at(-1)
  const passed = last ? Date.parse(last.started_at) - started : 0
  const lacks = (isLike: (trace: TraceRecord) => boolean) => !traces.some(isLike)
  const all: readonly [isUnmet: boolean, text: string][] = [
    [traces.length < calls, `at least ${calls} calls; the session made ${traces.length}`],
    [
      elapsed !== undefined && passed < elapsed,
      `${seconds(elapsed ?? 0)} on the session's clock; its last call came after ${seconds(passed)}`,
    ],
    [stream && lacks((trace) => trace.stream), 'a streamed call'],
    [agent && lacks(({ task }) => task !== undefined), 'an agent task'],
    [
      gateway && lacks(({ route }) => route === 'gateway'),
      'a call with gateway options, such as retry or fallbacks, in its body',
    ],
  ]
  return all.flatMap(([isUnmet, text]) => (isUnmet ? [`this scenario needs ${text}`] : []))
}
