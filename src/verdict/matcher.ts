// Pairs of calls as they are found, one test after the other.
import type { ClientCall } from './client-call.ts'

/** A call, and the one that repeats it. */
export interface Pair {
  first: ClientCall
  again: ClientCall
  /** Whether the second says itself that it repeats the first. */
  declared: boolean
}

export interface PairingOptions {
  /** How much it would be held against the client that nothing repeats a call; 0 when that is no fault. */
  costOf(call: ClientCall): number
  /** Whether a request without an answer is no fault: then a call that does not say that it repeats one may well be another. */
  mayGiveUp: boolean
}

/** What is held against a pair. */
type PairVerdict = 'early' | 'ignored' | 'uncancelled' | undefined
/** A pair, with what is held against it. */
export interface JudgedPair extends Pair {
  verdict: PairVerdict
}
/** Whether a call may be taken for the repetition of the first. */
export type PairTest = (first: ClientCall, again: ClientCall) => boolean

interface MatchOptions {
  test: PairTest
  declared: boolean
  verdict?: PairVerdict
  /** Looks at those instead that had not ended when a call came. */
  during?: boolean
}

/** Pairs the calls of a group. */
export interface Matcher {
  /** Gives each call without a first one the call without a repetition that ended last before it and passes the test. */
  match(again: readonly ClientCall[], as: MatchOptions): void
  add(pair: JudgedPair): void
  /** Whether nothing repeats a call yet. */
  isLast(call: ClientCall): boolean
  /** What was paired. */
  readonly pairs: readonly JudgedPair[]
  /** The same once more, to try something that may be dropped. */
  copy(): Matcher
}

/** A matcher that has some pairs already. */
export function matcherOf(group: readonly ClientCall[], begun: readonly JudgedPair[] = []): Matcher {
  const pairs = [...begun]
  const repeated = new Set(pairs.map(({ first }) => first))
  const repeating = new Set(pairs.map(({ again }) => again))
  // Of many, those that were answered are not looked at: few of them are repeated, and they would be in the way.
  const many = group.length > MANY_CALLS
  const free = group
    .filter((call) => !repeated.has(call) && !(many && call.outcome === 'answered'))
    .sort((one, other) => one.until - other.until || one.number - other.number)
  const add = (pair: JudgedPair) => {
    repeated.add(pair.first)
    repeating.add(pair.again)
    const index = free.lastIndexOf(pair.first)
    if (index >= 0) free.splice(index, 1)
    pairs.push(pair)
  }
  return {
    pairs,
    add,
    isLast: (call) => !repeated.has(call),
    copy: () => matcherOf(group, pairs),
    // Whoever is free for a call is free for all later ones, so going through them in order finds as many pairs as there
    // can be. The latest is taken: earlier ones are what calls are left to be paired with that came too early for it.
    match(again, { test, declared, verdict, during = false }) {
      for (const call of again) {
        if (repeating.has(call)) continue
        const ended = endedBefore(free, call)
        const within = during ? ([ended, free.length] as const) : ([0, ended] as const)
        const first = lastOf(free, within, (one) => one.number < call.number && test(one, call))
        if (first) add({ first, again: call, declared, verdict })
      }
    },
  }
}

/** How many of some calls, in the order in which they ended, had ended before another came. */
function endedBefore(byEnd: readonly ClientCall[], call: ClientCall): number {
  let low = 0
  let high = byEnd.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((byEnd[middle]?.until ?? 0) < call.number) low = middle + 1
    else high = middle
  }
  return low
}

/** Of more calls for the same than this, not all are tried: thousands of them would be tried with thousands. */
const MANY_CALLS = 1000
const MOST_TRIED = 200

/** The last one in a part of some calls that is wanted; of many, one of the last or of the first. */
function lastOf(
  calls: readonly ClientCall[],
  [from, to]: readonly [number, number],
  wanted: (one: ClientCall) => boolean,
): ClientCall | undefined {
  const most = calls.length > MANY_CALLS ? MOST_TRIED : calls.length
  const lowest = Math.max(from, to - most)
  for (let index = to - 1; index >= lowest; index--) {
    const one = calls[index]
    if (one && wanted(one)) return one
  }
  // Those that ended first are the likeliest to have been waited for.
  return calls.slice(from, Math.min(lowest, from + most)).find(wanted)
}

/** What the calls of a group can cost, the most first. */
export const costsOf = (group: readonly ClientCall[], costOf: PairingOptions['costOf']): number[] =>
  [...new Set(group.map(costOf))].sort((one, other) => other - one)
