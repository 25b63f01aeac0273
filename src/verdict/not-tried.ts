// not-tried: a scenario none of whose faults has acted. It proves nothing, whatever else there is to say.
import type { Finding } from '../contract/finding.ts'
import type { Verification } from '../contract/verification.ts'
import type { Scenario } from '../scenarios/engine.ts'

/** How time passes that has not. */
const PASSING =
  '; its time passes while the program waits between calls, 350 ms or more, and by POST /_understudy/sessions/NAME/clock'

/** The finding that nothing was rehearsed, given the reports on all sessions that have played a scenario; none when something was. */
export function notTried(
  { name, rules, clock, accept = [] }: Pick<Scenario, 'name' | 'rules' | 'clock' | 'accept'>,
  reports: readonly Pick<Verification, 'rules' | 'pending' | 'calls'>[],
): Finding[] {
  // Whoever makes no call has another trouble, which is said.
  if (reports.every(({ calls }) => calls === 0) || rules.every(({ fault }) => fault === undefined)) return []
  const own = reports.flatMap((report) =>
    report.rules
      .filter(({ scenario, fault }) => scenario === name && fault !== null)
      .map((rule) => ({ ...rule, pending: report.pending })),
  )
  // A fault that was chosen for a call under way may be about to act.
  if (own.some(({ applied, fired, pending }) => applied > 0 || (fired > 0 && pending > 0))) return []
  const timed = new Set(rules.filter(({ when }) => when.after || when.schedule).map((rule) => rule.name))
  const tooSoon = clock === 'virtual' && own.some((rule) => rule.matched > 0 && timed.has(rule.name))
  return [
    {
      kind: 'not-tried',
      severity: 'error',
      accepted: accept.includes('not-tried'),
      message: `no fault of the scenario has acted, so nothing was rehearsed${tooSoon ? PASSING : ''}`,
      ...{ operation: null, count: 1, traces: [], at: null, figures: {} },
    },
  ]
}
