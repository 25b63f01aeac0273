// Calls that say nothing of repetitions: which of them could be some.
import { type ClientCall, keptWait, natureOf, pauseBetween, sameRequest } from './client-call.ts'
import { runsOf, stepsOf } from './lanes.ts'
import { costsOf, type Matcher, type PairingOptions, type PairTest } from './matcher.ts'
import { rearranged } from './rearrange.ts'

/** Calls that say nothing of the kind: they are taken for repetitions where that clears the client of having given up. */
export function pairAlike(
  group: readonly ClientCall[],
  begun: Matcher,
  { costOf, mayGiveUp }: PairingOptions,
): Matcher {
  const silent = group.filter(({ mark }) => (mark.retry ?? 0) === 0)
  const isRetryable: PairTest = (first) => natureOf(first) === 'retryable'
  const as = { declared: false }
  /** For each request the calls that are equal to it, before those that ask the same in another way; or both alike. */
  const waiting = (tests: readonly PairTest[]): Matcher => {
    const matcher = begun.copy()
    for (const cost of costsOf(group, costOf)) {
      for (const test of tests) {
        const passes: PairTest = (first, again) =>
          costOf(first) === cost && isRetryable(first, again) && keptWait(first, again) && test(first, again)
        matcher.match(silent, { ...as, test: passes })
      }
    }
    return matcher
  }
  const costIn = (reading: Matcher) => group.reduce((sum, call) => sum + (reading.isLast(call) ? costOf(call) : 0), 0)
  const cheaper = (one: Matcher, other: () => Matcher): Matcher => {
    if (costIn(one) === 0) return one
    const second = other()
    return costIn(second) < costIn(one) ? second : one
  }
  const inOrder = waiting([sameRequest, () => true])
  const kept = cheaper(inOrder, () => rearranged(group, inOrder, costOf))
  // Something is wrong in any case. Where fewer have given up when calls are taken as they came, that is what they were.
  const best = mayGiveUp ? kept : cheaper(kept, () => pairRows(silent, begun.copy()))
  best.match(silent, { ...as, test: (first, again) => isRetryable(first, again) && keptWait(first, again) })
  const early: PairTest = (first, again) =>
    isRetryable(first, again) && sameRequest(first, again) && mayRepeat(first, again) && !keptWait(first, again)
  if (!mayGiveUp) best.match(silent, { ...as, test: early, verdict: 'early' })
  const left: PairTest = (first, again) => natureOf(first) === 'cancelled' && sameRequest(first, again)
  best.match(silent, { ...as, test: left })
  return best
}

/** Pairs each call with the one before it in a row of equal ones. */
function pairRows(silent: readonly ClientCall[], matcher: Matcher): Matcher {
  const repeating = new Set(matcher.pairs.map(({ again }) => again))
  for (const [first, again] of runsOf(silent).flatMap(stepsOf)) {
    if (natureOf(first) !== 'retryable' || !matcher.isLast(first) || repeating.has(again)) continue
    if (!mayRepeat(first, again)) continue
    matcher.add({ first, again, declared: false, verdict: keptWait(first, again) ? undefined : 'early' })
  }
  return matcher
}

/** Calls that are made at once come on connections of their own, some of them when the first is answered already. */
const AT_ONCE_MS = 50
function mayRepeat(first: ClientCall, again: ClientCall): boolean {
  const { connection } = first.mark
  return connection === again.mark.connection || pauseBetween(first, again) >= AT_ONCE_MS
}
