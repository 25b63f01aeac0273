// When a verdict is inconclusive: no fault was injected, or the calls lack what the scenario needs.

import type { TraceRecord } from '../contract/core/trace.ts'
import type { VerdictResult, Verification } from '../contract/core/verification.ts'
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

/** Why a run is inconclusive: the reasons of its sessions. Empty if any session is conclusive. */
export function runReasons(reports: readonly Pick<Verification, 'inconclusive'>[]): string[] {
  if (reports.some(({ inconclusive }) => inconclusive.length === 0)) return []
  return [...new Set(reports.flatMap(({ inconclusive }) => inconclusive))]
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
