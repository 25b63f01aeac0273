// A better assignment than the first one found: repetitions change hands until fewer calls are left without.
import { type ClientCall, canReplace, isAfter, keptWait, natureOf } from './client-call.ts'
import { keptKeys, repeats } from './declared.ts'
import { type Matcher, matcherOf, type PairingOptions, type PairTest } from './matcher.ts'

/** Larger groups are left as they were paired at first: to try all ways would take too long. */
export const MOST_TO_REARRANGE = 300

/** Gives calls that nothing repeats, and that cost something, the repetition of another that has a second one to take or costs less. */
export function rearranged(group: readonly ClientCall[], matcher: Matcher, costOf: PairingOptions['costOf']): Matcher {
  if (group.length > MOST_TO_REARRANGE) return matcher
  const before = keptKeys(group)
  const fixed = matcher.pairs.filter(({ first, verdict }) => verdict || natureOf(first) !== 'retryable')
  const taken = new Set(fixed.map(({ again }) => again))
  const firstOf = new Map<ClientCall, ClientCall>()
  for (const pair of matcher.pairs) if (!taken.has(pair.again)) firstOf.set(pair.again, pair.first)
  const declares = (call: ClientCall) => before.has(call) || (call.mark.retry ?? 0) > 0
  const fits: PairTest = (first, again) =>
    !taken.has(again) &&
    isAfter(again, first) &&
    canReplace(first, again) &&
    keptWait(first, again) &&
    (!declares(again) || repeats(first, again, before.get(again)))
  const give = (first: ClientCall, cost: number, tried: Set<ClientCall>): boolean => {
    for (const again of group) {
      if (tried.has(again) || !fits(first, again)) continue
      tried.add(again)
      const other = firstOf.get(again)
      // A call that says that it repeats one must not be left without any.
      const free = other === undefined || (costOf(other) < cost && !declares(again))
      if (!free && !(other && give(other, cost, tried))) continue
      firstOf.set(again, first)
      return true
    }
    return false
  }
  const lacking = group.filter((call) => natureOf(call) === 'retryable' && costOf(call) > 0 && matcher.isLast(call))
  for (const call of lacking.toSorted((one, other) => costOf(other) - costOf(one))) give(call, costOf(call), new Set())
  const moved = [...firstOf].map(([again, first]) => ({ first, again, declared: declares(again), verdict: undefined }))
  return matcherOf(group, [...fixed, ...moved])
}
