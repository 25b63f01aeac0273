// Which call is the repetition of which: the assignment that accuses the client least.
import { type ClientCall, isAfter, keptWait, natureOf, pauseBetween, sameRequest } from './client-call.ts'
import { runsOf, stepsOf } from './lanes.ts'

/** A call, and the one that repeats it. */
export interface Pair {
  first: ClientCall
  again: ClientCall
  /** Whether the second says itself that it repeats the first. */
  declared: boolean
}

/** An assignment of repetitions. No call repeats two others, and none is repeated twice. */
export interface Pairing {
  /** All pairs, in the order in which the second calls came. */
  pairs: readonly Pair[]
  /** Those whose wait no assignment could have kept. */
  early: readonly Pair[]
  /** Those that repeat what must not be repeated. */
  ignored: readonly Pair[]
  /** Those that came while the first went on, which went on to its end. */
  uncancelled: readonly Pair[]
  /** Each request with its repetitions, in order. */
  chains: readonly (readonly ClientCall[])[]
}

export interface PairingOptions {
  /** How much it would be held against the client that nothing repeats a call; 0 when that is no fault. */
  costOf(call: ClientCall): number
  /** Whether a request without an answer is no fault: then a call that does not say that it repeats one may well be another. */
  mayGiveUp: boolean
}

/** An answer that ends so soon after its repetition came was being cancelled, as far as anybody can tell. */
const CANCEL_GRACE_MS = 1000

type Verdict = 'early' | 'ignored' | 'uncancelled' | undefined
interface JudgedPair extends Pair {
  verdict: Verdict
}
type Test = (first: ClientCall, again: ClientCall) => boolean

/** Pairs calls, given in the order in which they came. */
export function pairCalls(calls: readonly ClientCall[], options: PairingOptions): Pairing {
  const found: JudgedPair[] = []
  for (const group of groupsOf(calls)) {
    const matcher = matcherOf(group)
    pairDeclared(group, matcher, options)
    found.push(...pairAlike(group, matcher, options).pairs)
  }
  found.sort((one, other) => one.again.number - other.again.number)
  const judged = (wanted: Verdict) => found.filter(({ verdict }) => verdict === wanted)
  return {
    pairs: found,
    early: judged('early'),
    ignored: judged('ignored'),
    uncancelled: judged('uncancelled'),
    chains: chainsOf(calls, found),
  }
}

/** Calls that may belong together: those of one question. */
function groupsOf(calls: readonly ClientCall[]): ClientCall[][] {
  const groups = new Map<string, ClientCall[]>()
  for (const call of calls) {
    const group = groups.get(call.question)
    if (group) group.push(call)
    else groups.set(call.question, [call])
  }
  return [...groups.values()]
}

interface MatchOptions {
  test: Test
  declared: boolean
  verdict?: Verdict
  /** Looks at those instead that had not ended when a call came. */
  during?: boolean
}

interface Matcher {
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

function matcherOf(group: readonly ClientCall[], begun: readonly JudgedPair[] = []): Matcher {
  const byEnd = group.toSorted((one, other) => one.until - other.until || one.number - other.number)
  const pairs = [...begun]
  const repeated = new Set(pairs.map(({ first }) => first))
  const repeating = new Set(pairs.map(({ again }) => again))
  const add = (pair: JudgedPair) => {
    repeated.add(pair.first)
    repeating.add(pair.again)
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
        const ended = endedBefore(byEnd, call)
        const first = lastOf(byEnd, during ? [ended, byEnd.length] : [0, ended], (one) => {
          return one.number < call.number && !repeated.has(one) && test(one, call)
        })
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

/** The last one in a part of some calls that is wanted. */
function lastOf(
  calls: readonly ClientCall[],
  [from, to]: readonly [number, number],
  wanted: (one: ClientCall) => boolean,
): ClientCall | undefined {
  for (let index = to - 1; index >= from; index--) {
    const one = calls[index]
    if (one && wanted(one)) return one
  }
  return undefined
}

/** Calls that say themselves that they repeat another. */
function pairDeclared(group: readonly ClientCall[], { match }: Matcher, { costOf }: PairingOptions): void {
  const before = keptKeys(group)
  const declared = group.filter((call) => before.has(call) || (call.mark.retry ?? 0) > 0)
  if (declared.length === 0) return
  const like =
    (...natures: string[]) =>
    (first: ClientCall) =>
      natures.includes(natureOf(first))
  const when =
    (...tests: Test[]): Test =>
    (first, again) =>
      repeats(first, again, before.get(again)) && tests.every((test) => test(first, again))
  const as = { declared: true }
  // First whatever accuses nobody, then what remains.
  for (const cost of costsOf(group, costOf)) {
    match(declared, { ...as, test: when(like('retryable'), keptWait, (first) => costOf(first) === cost) })
  }
  match(declared, { ...as, test: when(like('open', 'cancelled')) })
  const cancelling: Test = (first, again) => natureOf(first) === 'cancelled' || goesOn(first, again) < CANCEL_GRACE_MS
  match(declared, { ...as, during: true, test: when(cancelling) })
  match(declared, { ...as, test: when(like('answered'), ({ disturbed }) => disturbed) })
  match(declared, { ...as, test: when(like('retryable')), verdict: 'early' })
  match(declared, { ...as, test: when(like('final')), verdict: 'ignored' })
  // Of two copies that race each other on purpose, one is cancelled in the end.
  match(declared, { ...as, during: true, test: when((_, again) => natureOf(again) === 'cancelled') })
  match(declared, { ...as, during: true, test: when(), verdict: 'uncancelled' })
  match(declared, { ...as, test: when() })
}

/** What the calls of a group can cost, the most first. */
const costsOf = (group: readonly ClientCall[], costOf: PairingOptions['costOf']): number[] =>
  [...new Set(group.map(costOf))].sort((one, other) => other - one)

/** The call before each that has the same idempotency key: one key is one request. */
function keptKeys(group: readonly ClientCall[]): Map<ClientCall, ClientCall> {
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
function repeats(first: ClientCall, again: ClientCall, before: ClientCall | undefined): boolean {
  if (!sameRequest(first, again)) return false
  if (before) return first === before
  const { retry, key } = again.mark
  return (retry ?? 0) > 0 && first.mark.retry === (retry ?? 0) - 1 && key === null && first.mark.key === null
}

/** How long a call went on after another had come. */
export const goesOn = (first: ClientCall, again: ClientCall): number => -Math.min(0, lapBetween(first, again))
const lapBetween = (first: ClientCall, again: ClientCall): number => {
  const passed = again.began - first.ended
  return first.left === null || again.arrived === null ? passed : Math.min(passed, again.arrived - first.left)
}

/** Calls that say nothing of the kind: they are taken for repetitions where that clears the client of having given up. */
function pairAlike(group: readonly ClientCall[], begun: Matcher, { costOf, mayGiveUp }: PairingOptions): Matcher {
  const silent = group.filter(({ mark }) => (mark.retry ?? 0) === 0)
  const isRetryable: Test = (first) => natureOf(first) === 'retryable'
  const as = { declared: false }
  /** For each request the calls that are equal to it, before those that ask the same in another way; or both alike. */
  const waiting = (tests: readonly Test[]): Matcher => {
    const matcher = begun.copy()
    for (const cost of costsOf(group, costOf)) {
      for (const test of tests) {
        const passes: Test = (first, again) =>
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
  const early: Test = (first, again) =>
    isRetryable(first, again) && sameRequest(first, again) && mayRepeat(first, again) && !keptWait(first, again)
  if (!mayGiveUp) best.match(silent, { ...as, test: early, verdict: 'early' })
  const left: Test = (first, again) => natureOf(first) === 'cancelled' && sameRequest(first, again)
  best.match(silent, { ...as, test: left })
  return best
}

/** Larger groups are left as they were paired at first: to try all ways would take too long. */
const MOST_TO_REARRANGE = 300

/** Gives calls that nothing repeats, and that cost something, the repetition of another that has a second one to take or costs less. */
function rearranged(group: readonly ClientCall[], matcher: Matcher, costOf: PairingOptions['costOf']): Matcher {
  if (group.length > MOST_TO_REARRANGE) return matcher
  const before = keptKeys(group)
  const fixed = matcher.pairs.filter(({ first, verdict }) => verdict || natureOf(first) !== 'retryable')
  const taken = new Set(fixed.map(({ again }) => again))
  const firstOf = new Map<ClientCall, ClientCall>()
  for (const pair of matcher.pairs) if (!taken.has(pair.again)) firstOf.set(pair.again, pair.first)
  const declares = (call: ClientCall) => before.has(call) || (call.mark.retry ?? 0) > 0
  const fits: Test = (first, again) =>
    !taken.has(again) &&
    isAfter(again, first) &&
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

function chainsOf(calls: readonly ClientCall[], pairs: readonly Pair[]): ClientCall[][] {
  const next = new Map(pairs.map(({ first, again }) => [first, again]))
  const repeating = new Set(pairs.map(({ again }) => again))
  return calls
    .filter((call) => !repeating.has(call))
    .map((root) => {
      const chain = [root]
      for (let call = next.get(root); call; call = next.get(call)) chain.push(call)
      return chain
    })
}
