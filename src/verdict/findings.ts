// Judges the calls of a client and reports findings.
import type { Finding, FindingKind } from '../contract/core/finding.ts'
import { brokeOff, type ClientCall, natureOf, runsOf } from './client-call.ts'
import type { Behavior } from './kinds/define.ts'
import { findingKinds } from './kinds/index.ts'
import { type Pairing, pairCalls } from './pairing.ts'

/** Input for judging a client, besides its calls. */
interface JudgeOptions extends Partial<Pick<Behavior, 'maxAttempts' | 'unknownPaths' | 'unread' | 'end'>> {
  /** Kinds of findings that the scenario accepts. */
  accept?: readonly FindingKind[]
}

const MAX_TRACES = 20

/** Judges calls, given in order of arrival. Returns the findings and which calls repeat which. */
export function judgeClient(
  calls: readonly ClientCall[],
  { accept = [], maxAttempts, unknownPaths = [], unread = [], end }: JudgeOptions = {},
): { findings: Finding[]; pairing: Pairing } {
  const accepted = new Set(accept)
  const mayGiveUp = accepted.has('gave-up')
  const costOf = (call: ClientCall): number => {
    if (natureOf(call) !== 'retryable') return 0
    if (brokeOff(call)) return end === 'badly' || end === 'stopped' || accepted.has('swallowed') ? 0 : 1
    return mayGiveUp ? 0 : 2
  }
  const pairing = pairCalls(calls, { mayGiveUp, costOf })
  const behavior = { calls, pairing, runs: runsOf(calls), unknownPaths, unread, accepted, maxAttempts, end }
  const findings = findingKinds.flatMap(({ kind, find }) =>
    find(behavior).map(({ calls: shown, at, ...draft }): Finding => {
      const [first] = shown
      return {
        kind,
        severity: draft.severity,
        accepted: accepted.has(kind),
        message: draft.message,
        operation: first?.operation ?? null,
        count: draft.count,
        traces: [...new Set(shown.flatMap(({ trace }) => trace ?? []))].slice(0, MAX_TRACES),
        at: first ? new Date(first.began).toISOString() : (at ?? null),
        figures: draft.figures,
      }
    }),
  )
  return { findings, pairing }
}

/** Whether a finding makes a verdict fail. */
export const failsVerdict = ({ severity, accepted }: Finding, strict: boolean): boolean =>
  !accepted && (strict || severity === 'error')
