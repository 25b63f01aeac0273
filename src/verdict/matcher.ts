// Pairs calls with their retries, test by test, and pairs declared retries: those with a retry count or the same idempotency key.
import { type ClientCall, canReplace, hasNewKey, honorsWait, natureOf, overlapOf, sameRequest } from './client-call.ts'

/** A call and its retry. */
export interface Pair {
  first: ClientCall
  again: ClientCall
  /** Whether the second call declares that it is a retry. */
  declared: boolean
}

/** Options for finding the pairing with the fewest findings. */
export interface PairingOptions {
  /** The cost of leaving a call without a retry: 0 if that is not a finding. */
  costOf(call: ClientCall): number
  /** Whether the client may give up a request. A call that declares no retry may then be a separate request. */
  mayGiveUp: boolean
}

/** What is wrong with a pair. */
type PairVerdict = 'early' | 'ignored' | 'uncancelled' | undefined
/** A pair with what is wrong with it. */
export interface JudgedPair extends Pair {
  verdict: PairVerdict
}
/** Whether the second call may be a retry of the first. */
export type PairTest = (first: ClientCall, again: ClientCall) => boolean

interface MatchOptions {
  test: PairTest
  declared: boolean
  verdict?: PairVerdict
  /** Considers only first calls that were in progress when the second arrived, instead of those that had ended. */
  during?: boolean
}

/** Pairs the calls of a group. */
export interface Matcher {
  /** Pairs each unpaired call with the latest call before it that has no retry and passes the test. */
  match(again: readonly ClientCall[], options: MatchOptions): void
  add(pair: JudgedPair): void
  /** Whether a call has no retry yet. */
  isLast(call: ClientCall): boolean
  /** The pairs so far. */
  readonly pairs: readonly JudgedPair[]
  /** A copy for a trial. */
  copy(): Matcher
}

/** Creates a matcher, with some pairs already made. */
export function matcherOf(group: readonly ClientCall[], begun: readonly JudgedPair[] = []): Matcher {
  const pairs = [...begun]
  const repeated = new Set(pairs.map(({ first }) => first))
  const repeating = new Set(pairs.map(({ again }) => again))
  // In large groups, successful calls are ignored: few of them are retried.
  const many = group.length > MANY_CALLS
  const free = group
    .filter((call) => !repeated.has(call) && !(many && call.outcome === 'succeeded'))
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
    // A first call that is free for one call is free for all later ones, so matching in order finds the most pairs. The latest
    // first call is taken, so that earlier ones remain for calls that are too early for it.
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

/** The number of calls, sorted by end, that had ended before another call arrived. */
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

/** In groups larger than this, only some pairs are tried. */
const MANY_CALLS = 1000
const MAX_TRIED = 200

/** The last call in a range that passes a test. In large groups, only the last and the first calls are tried. */
function lastOf(
  calls: readonly ClientCall[],
  [from, to]: readonly [number, number],
  passes: (one: ClientCall) => boolean,
): ClientCall | undefined {
  const maxTried = calls.length > MANY_CALLS ? MAX_TRIED : calls.length
  const lowest = Math.max(from, to - maxTried)
  for (let index = to - 1; index >= lowest; index--) {
    const one = calls[index]
    if (one && passes(one)) return one
  }
  // Clients probably waited for the calls that ended first.
  return calls.slice(from, Math.min(lowest, from + maxTried)).find(passes)
}

/** The distinct costs in a group, highest first. */
export const costsOf = (group: readonly ClientCall[], costOf: PairingOptions['costOf']): number[] =>
  [...new Set(group.map(costOf))].sort((one, other) => other - one)

/** A response that ends this soon after its retry arrived may have been about to be canceled. */
const CANCEL_GRACE_MS = 250

/** Pairs calls that declare that they are retries. */
export function pairDeclared(group: readonly ClientCall[], { match }: Matcher, { costOf }: PairingOptions): void {
  const before = previousByKey(group)
  const declared = group.filter((call) => before.has(call) || (call.mark.retry ?? 0) > 0)
  if (declared.length === 0) return
  const hasNature =
    (...natures: string[]) =>
    (first: ClientCall) =>
      natures.includes(natureOf(first))
  const declaredAnd =
    (...tests: PairTest[]): PairTest =>
    (first, again) =>
      repeats(first, again, before.get(again)) && tests.every((test) => test(first, again))
  const options = { declared: true }
  // First the pairs without a finding, then the others.
  for (const cost of costsOf(group, costOf)) {
    match(declared, {
      ...options,
      test: declaredAnd(hasNature('retryable'), honorsWait, (first) => costOf(first) === cost),
    })
  }
  match(declared, { ...options, test: declaredAnd(hasNature('open', 'canceled')) })
  const isCanceling: PairTest = (first, again) =>
    natureOf(first) === 'canceled' || overlapOf(first, again) < CANCEL_GRACE_MS
  match(declared, { ...options, during: true, test: declaredAnd(isCanceling) })
  match(declared, { ...options, test: declaredAnd(hasNature('succeeded'), ({ disturbed }) => disturbed) })
  match(declared, { ...options, test: declaredAnd(hasNature('retryable')), verdict: 'early' })
  match(declared, {
    ...options,
    test: declaredAnd(hasNature('final'), (first, again) => !hasNewKey(first, again)),
    verdict: 'ignored',
  })
  // In an intended race of two copies, one is canceled.
  match(declared, { ...options, during: true, test: declaredAnd((_, again) => natureOf(again) === 'canceled') })
  match(declared, { ...options, during: true, test: declaredAnd(), verdict: 'uncancelled' })
  match(declared, { ...options, test: declaredAnd() })
}

/** Maps each call to the previous one with the same idempotency key. */
export function previousByKey(group: readonly ClientCall[]): Map<ClientCall, ClientCall> {
  const last = new Map<string, ClientCall>()
  const before = new Map<ClientCall, ClientCall>()
  for (const call of group) {
    const { key } = call.mark
    if (key === null) continue
    const one = last.get(key)
    if (one) before.set(call, one)
    last.set(key, call)
  }
  return before
}

/** Whether a call declares that it is a retry of the other. */
export function repeats(first: ClientCall, again: ClientCall, before: ClientCall | undefined): boolean {
  if (before) return first === before && canReplace(first, again)
  if (!sameRequest(first, again)) return false
  const { retry, key } = again.mark
  return (retry ?? 0) > 0 && first.mark.retry === (retry ?? 0) - 1 && key === null && first.mark.key === null
}
