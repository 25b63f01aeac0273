// When a verdict is inconclusive: nothing was exercised, or the calls lack what the scenario needs, so nothing was proved, whatever else
// there is to report.

import type { TraceRecord } from '../contract/core/trace.ts'
import type { VerdictResult, Verification } from '../contract/core/verification.ts'
import type { Scenario } from '../scenarios/engine.ts'

/** How to let time pass for rules that begin later. */
const PASSING =
  '; virtual time advances when the program pauses for at least 350 ms between calls, or with POST /_understudy/sessions/NAME/clock'

/** Why the faults of a scenario have proved nothing in a session: none was injected. Undefined when one was. */
export function nothingInjected(
  { name, rules, clock, accept = [] }: Pick<Scenario, 'name' | 'rules' | 'clock' | 'accept'>,
  report: Pick<Verification, 'rules' | 'pending'>,
): string | undefined {
  if (accept.includes('not-exercised') || rules.every(({ fault }) => fault === undefined)) return undefined
  const own = report.rules.filter(({ scenario, fault }) => scenario === name && fault !== null)
  // A fault that was chosen for a call under way may be about to be injected.
  if (own.some(({ applied, triggered: fired }) => applied > 0 || (fired > 0 && report.pending > 0))) return undefined
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

/** What a session shows of the calls that were made under a scenario. */
interface NeedEvidence {
  /** The calls that the client made, in the order in which they began. */
  traces: readonly TraceRecord[]
  /** When the scenario began, in ms since the epoch on the session's clock. */
  started: number
}

type Needs = NonNullable<Scenario['needs']>
/** Says what is missing where a need is not met; undefined where it is. */
type Need<Wanted> = (wanted: Wanted, evidence: NeedEvidence) => string | undefined

const callsWith =
  (text: string, isLike: (trace: TraceRecord) => boolean): Need<true> =>
  (_, { traces }) =>
    traces.some(isLike) ? undefined : text

const seconds = (ms: number) => `${Math.round(ms / 100) / 10} s`

/** All needs, by their key in the file. */
const NEEDS: { readonly [Key in keyof Required<Needs>]: Need<NonNullable<Needs[Key]>> } = {
  calls: (wanted, { traces }) =>
    traces.length >= wanted ? undefined : `at least ${wanted} calls; the session made ${traces.length}`,
  elapsed(wanted, { traces, started }) {
    const last = traces.at(-1)
    const passed = last ? Date.parse(last.started_at) - started : 0
    return passed >= wanted
      ? undefined
      : `${seconds(wanted)} on the session's clock; its last call came after ${seconds(passed)}`
  },
  stream: callsWith('a streamed call', ({ stream }) => stream),
  agent: callsWith('an agent task', ({ task }) => task !== undefined),
  gateway: callsWith(
    'a call with gateway options, such as retry or fallbacks, in its body',
    ({ route }) => route === 'gateway',
  ),
}

/**
 * Why the calls of a session cannot prove anything about this scenario, such as `this scenario needs a streamed call`;
 * empty when it has what it needs.
 */
export function unmetNeeds({ needs = {} }: Pick<Scenario, 'needs'>, evidence: NeedEvidence): string[] {
  const missing = <Key extends keyof Needs>(key: Key) => {
    const wanted = needs[key]
    return wanted === undefined ? undefined : NEEDS[key](wanted as NonNullable<Needs[Key]>, evidence)
  }
  return (Object.keys(NEEDS) as (keyof Needs)[]).flatMap((key) => {
    const text = missing(key)
    return text === undefined ? [] : [`this scenario needs ${text}`]
  })
}
