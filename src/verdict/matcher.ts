// Pairs of calls as they are found, one test after the other: those first that say themselves that they repeat another, by a count or by
// the same idempotency key.
import { type ClientCall, canReplace, goesOn, hasNewKey, keptWait, natureOf, sameRequest } from './client-call.ts'

/** A call, and the one that repeats it. */
export interface Pair {
  first: ClientCall
  again: ClientCall
  /** Whether the second says itself that it repeats the first. */
  declared: boolean
}

/** What decides which pairing of calls accuses the client least. */
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
const MAX_TRIED = 200

/** The last one in a part of some calls that is wanted; of many, one of the last or of the first. */
function lastOf(
  calls: readonly ClientCall[],
  [from, to]: readonly [number, number],
  wanted: (one: ClientCall) => boolean,
): ClientCall | undefined {
  const most = calls.length > MANY_CALLS ? MAX_TRIED : calls.length
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

/** An answer that ends so soon after its repetition came may have been about to be canceled. */
const CANCEL_GRACE_MS = 250

/** Calls that say themselves that they repeat another. */
export function pairDeclared(group: readonly ClientCall[], { match }: Matcher, { costOf }: PairingOptions): void {
  const before = keptKeys(group)
  const declared = group.filter((call) => before.has(call) || (call.mark.retry ?? 0) > 0)
  if (declared.length === 0) return
  const like =
    (...natures: string[]) =>
    (first: ClientCall) =>
      natures.includes(natureOf(first))
  const when =
    (...tests: PairTest[]): PairTest =>
    (first, again) =>
      repeats(first, again, before.get(again)) && tests.every((test) => test(first, again))
  const as = { declared: true }
  // First whatever accuses nobody, then what remains.
  for (const cost of costsOf(group, costOf)) {
    match(declared, { ...as, test: when(like('retryable'), keptWait, (first) => costOf(first) === cost) })
  }
  match(declared, { ...as, test: when(like('open', 'canceled')) })
  const cancelling: PairTest = (first, again) =>
    natureOf(first) === 'canceled' || goesOn(first, again) < CANCEL_GRACE_MS
  match(declared, { ...as, during: true, test: when(cancelling) })
  match(declared, { ...as, test: when(like('succeeded'), ({ disturbed }) => disturbed) })
  match(declared, { ...as, test: when(like('retryable')), verdict: 'early' })
  match(declared, { ...as, test: when(like('final'), (first, again) => !hasNewKey(first, again)), verdict: 'ignored' })
  // Of two copies that race each other on purpose, one is canceled in the end.
  match(declared, { ...as, during: true, test: when((_, again) => natureOf(again) === 'canceled') })
  match(declared, { ...as, during: true, test: when(), verdict: 'uncancelled' })
  match(declared, { ...as, test: when() })
}

/** The call before each that has the same idempotency key: one key is one request. */
export function keptKeys(group: readonly ClientCall[]): Map<ClientCall, ClientCall> {
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

/** Whether a call says that it repeats the other. */
export function repeats(first: ClientCall, again: ClientCall, before: ClientCall | undefined): boolean {
  if (before) return first === before && canReplace(first, again)
  if (!sameRequest(first, again)) return false
  const { retry, key } = again.mark
  return (retry ?? 0) > 0 && first.mark.retry === (retry ?? 0) - 1 && key === null && first.mark.key === null
}
