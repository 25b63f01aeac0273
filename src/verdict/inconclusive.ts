// When a verdict is inconclusive: nothing was exercised, so nothing was proved, whatever else there is to report.
import type { VerdictResult, Verification } from '../contract/verification.ts'
import type { Scenario } from '../scenarios/engine.ts'

/** How to let time pass for rules that begin later. */
const PASSING =
  '; time passes while the program waits between calls, 350 ms or more, and by POST /_understudy/sessions/NAME/clock'

/** Why the faults of a scenario have proved nothing in a session: none was injected. Undefined when one was. */
export function nothingInjected(
  { name, rules, clock, accept = [] }: Pick<Scenario, 'name' | 'rules' | 'clock' | 'accept'>,
  report: Pick<Verification, 'rules' | 'pending'>,
): string | undefined {
  if (accept.includes('not-tried') || rules.every(({ fault }) => fault === undefined)) return undefined
  const own = report.rules.filter(({ scenario, fault }) => scenario === name && fault !== null)
  // A fault that was chosen for a call under way may be about to be injected.
  if (own.some(({ applied, fired }) => applied > 0 || (fired > 0 && report.pending > 0))) return undefined
  const timed = new Set(rules.filter(({ when }) => when.after || when.schedule).map((rule) => rule.name))
  const tooSoon = clock === 'virtual' && own.some((rule) => rule.matched > 0 && timed.has(rule.name))
  return `no fault was injected${tooSoon ? PASSING : ''}`
}

/** Why a run proves nothing: the reasons of its sessions where each of them has one; what one session has proved, the run has proved. */
export function runReasons(reports: readonly Pick<Verification, 'inconclusive'>[]): string[] {
  if (reports.some(({ inconclusive }) => inconclusive.length === 0)) return []
  return [...new Set(reports.flatMap(({ inconclusive }) => inconclusive))]
}

/** The verdict, given whether something failed and why nothing may have been proved. */
export const verdictOf = (fails: boolean, inconclusive: readonly string[]): VerdictResult =>
  fails ? 'fail' : inconclusive.length > 0 ? 'inconclusive' : 'pass'
