// Decides which call repeats which, with the fewest findings against the client.
import { groupBy } from '../lib/group-by.ts'
import { firstIndex } from '../lib/values.ts'
import {
  brokeOff,
  type ClientCall,
  canReplace,
  endsAtTimeout,
  hasNewKey,
  honorsWait,
  isAfter,
  isFallback,
  natureOf,
  overlapOf,
  type Pair,
  pauseBetween,
  rebuilt,
  requestKey,
  runsOf,
  sameRequest,
  stepsOf,
} from './client-call.ts'
import { requestedDifferently, requestedWithOtherTools, settledByOthers } from './settled.ts'

/** Pairs of calls and their retries. Each call repeats at most one other and is repeated at most once. */
export type Pairing = ReturnType<typeof pairCalls>

/** Pairs calls, given in order of arrival. */
export function pairCalls(calls: readonly ClientCall[], options: PairingOptions) {
  const found: JudgedPair[] = []
  const { certain, possible, continued } = settledByOthers(calls)
  const costOf = (call: ClientCall) => (certain.has(call) ? 0 : options.costOf(call))
  for (const group of groupBy(calls, ({ question }) => question.template)) {
    const matcher = matcherOf(group)
    pairDeclared(group, matcher, { ...options, costOf })
    found.push(...pairUndeclared(group, matcher, { ...options, costOf }).pairs)
  }
  found.sort((one, other) => one.again.number - other.again.number)
  const withVerdict = (expected: JudgedPair['verdict']): readonly Pair[] =>
    found.filter(({ verdict }) => verdict === expected)
  const chains = chainsOf(calls, found)
  const lasts = chains.flatMap((chain) => chain.slice(-1))
  const unresolved = lasts.filter((call) => natureOf(call) === 'retryable' && !certain.has(call))
  const declared = new Set(found.flatMap((pair) => (pair.declared ? [pair.again] : [])))
  const roots = chains.flatMap((chain) => chain.slice(0, 1))
  const undeclared = calls.filter((call) => !declared.has(call))
  // Apart, since each later call is used once.
  const groups = [unresolved, lasts.filter(endsAtTimeout)].map((ones) => ({ roots, undeclared, unresolved: ones }))
  return {
    /** All pairs, in order of arrival of the second call. */
    pairs: found as readonly Pair[],
    /** The calls that declare that they are retries. */
    declared: declared as ReadonlySet<ClientCall>,
    /** Early retries, which no other pairing avoids. */
    early: withVerdict('early'),
    /** Retries of final errors. */
    ignored: withVerdict('ignored'),
    /** Retries during the first call, which was never canceled. */
    uncancelled: withVerdict('uncancelled'),
    /** Each request with its retries, in order. */
    chains: chains as readonly (readonly ClientCall[])[],
    /** Failed calls without a retry that the client handled in another way. */
    settled: {
      certain: groups.map(requestedDifferently).reduce((all, some) => all.union(some), certain),
      possible: groups.map(requestedWithOtherTools).reduce((all, some) => all.union(some), possible),
      continued,
    },
  }
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

// Pairs calls with their retries, test by test.

/** Options for finding the pairing with the fewest findings. */
interface PairingOptions {
  /** The cost of leaving a call without a retry: 0 if that is not a finding. */
  costOf(call: ClientCall): number
  /** Whether the client may give up a request. A call that declares no retry may then be a separate request. */
  mayGiveUp: boolean
}

/** What is wrong with a pair. */
type PairVerdict = 'early' | 'ignored' | 'uncancelled' | undefined
/** A pair with what is wrong with it. */
interface JudgedPair extends Pair {
  verdict: PairVerdict
}
/** Whether the second call may be a retry of the first. */
type PairTest = (first: ClientCall, again: ClientCall) => boolean

interface MatchOptions {
  test: PairTest
  declared: boolean
  verdict?: PairVerdict
  /** Considers only first calls that were in progress when the second arrived, instead of those that had ended. */
  during?: boolean
}

/** Pairs the calls of a group. */
type Matcher = ReturnType<typeof matcherOf>

/** Creates a matcher, with some pairs already made. */
function matcherOf(group: readonly ClientCall[], begun: readonly JudgedPair[] = []) {
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
    /** The pairs so far. */
    pairs: pairs as readonly JudgedPair[],
    add,
    /** Whether a call has no retry yet. */
    isLast: (call: ClientCall): boolean => !repeated.has(call),
    /**
     * Pairs each unpaired call with the latest call before it that has no retry and passes the test. A first call that is free
     * for one call is free for all later ones, so matching in order finds the most pairs. The latest first call is taken, so
     * that earlier ones remain for calls that are too early for it.
     */
    match(again: readonly ClientCall[], { test, declared, verdict, during = false }: MatchOptions): void {
      for (const call of again) {
        if (repeating.has(call)) continue
        // What has ended before it arrived comes first.
        const ended = firstIndex(free, ({ until }) => until >= call.number)
        const within = during ? ([ended, free.length] as const) : ([0, ended] as const)
        const first = lastOf(free, within, (one) => one.number < call.number && test(one, call))
        if (first) add({ first, again: call, declared, verdict })
      }
    },
  }
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
const costsOf = (group: readonly ClientCall[], costOf: PairingOptions['costOf']): number[] =>
  [...new Set(group.map(costOf))].sort((one, other) => other - one)

/** A response that ends this soon after its retry arrived may have been about to be canceled. */
const CANCEL_GRACE_MS = 250

/** Pairs calls that declare that they are retries. */
function pairDeclared(group: readonly ClientCall[], { match }: Matcher, { costOf }: PairingOptions): void {
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
  // First the pairs without a finding, then the others.
  for (const cost of costsOf(group, costOf)) {
    const test = declaredAnd(hasNature('retryable'), honorsWait, (first) => costOf(first) === cost)
    match(declared, { declared: true, test })
  }
  match(declared, { declared: true, test: declaredAnd(hasNature('open', 'canceled')) })
  const isCanceling: PairTest = (first, again) =>
    natureOf(first) === 'canceled' || overlapOf(first, again) < CANCEL_GRACE_MS
  match(declared, { declared: true, during: true, test: declaredAnd(isCanceling) })
  match(declared, { declared: true, test: declaredAnd(hasNature('succeeded'), ({ disturbed }) => disturbed) })
  match(declared, { declared: true, test: declaredAnd(hasNature('retryable')), verdict: 'early' })
  match(declared, {
    declared: true,
    test: declaredAnd(hasNature('final'), (first, again) => !hasNewKey(first, again)),
    verdict: 'ignored',
  })
  // In an intended race of two copies, one is canceled.
  match(declared, { declared: true, during: true, test: declaredAnd((_, again) => natureOf(again) === 'canceled') })
  match(declared, { declared: true, during: true, test: declaredAnd(), verdict: 'uncancelled' })
  match(declared, { declared: true, test: declaredAnd() })
}

/** Maps each call to the previous one with the same idempotency key. */
function previousByKey(group: readonly ClientCall[]): Map<ClientCall, ClientCall> {
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
function repeats(first: ClientCall, again: ClientCall, before: ClientCall | undefined): boolean {
  if (before) return first === before && canReplace(first, again)
  if (!sameRequest(first, again)) return false
  const { retry, key } = again.mark
  return (retry ?? 0) > 0 && first.mark.retry === (retry ?? 0) - 1 && key === null && first.mark.key === null
}

// Pairs calls that do not declare that they are retries. Of several pairings, the one with the fewest findings counts.

/** Pairs undeclared calls. They count as retries if the client would otherwise have given up a request. */
function pairUndeclared(group: readonly ClientCall[], begun: Matcher, { costOf, mayGiveUp }: PairingOptions): Matcher {
  const undeclared = group.filter(({ mark }) => (mark.retry ?? 0) === 0)
  /** Pairs equal calls first, then those with the same content in another form. */
  const pairBy = (tests: readonly PairTest[]): Matcher => {
    const matcher = matcherOf(group, begun.pairs)
    for (const cost of costsOf(group, costOf)) {
      for (const test of tests) {
        const passes: PairTest = (first, again) =>
          costOf(first) === cost && isTimely(first, again) && test(first, again)
        matcher.match(undeclared, { declared: false, test: passes })
      }
    }
    return matcher
  }
  const costIn = (matcher: Matcher) => group.reduce((sum, call) => sum + (matcher.isLast(call) ? costOf(call) : 0), 0)
  const cheaper = (one: Matcher, other: () => Matcher): Matcher => {
    if (costIn(one) === 0) return one
    const second = other()
    return costIn(second) < costIn(one) ? second : one
  }
  const inOrder = pairBy(BY_CONTENT)
  const honoring = cheaper(inOrder, () => rearranged(group, inOrder, costOf))
  // A careful program may give up, so a pairing in which all unresolved requests were careful has no findings.
  if (!mayGiveUp) {
    const reduced = reduceCareless(group, honoring, costOf)
    if (carelessIn(group, reduced, costOf).length === 0) return withRest(undeclared, reduced)
    // Retries of canceled calls also count as attempts of a careful program.
    const completed = reduceCareless(group, withRest(undeclared, matcherOf(group, reduced.pairs)), costOf)
    if (carelessIn(group, completed, costOf).length === 0) return completed
    // Equal requests at the same time are not retries of each other, even if one has its response when the next arrives.
    const apart = reduceCareless(group, pairBy(APART), costOf)
    if (carelessIn(group, apart, costOf).length === 0) return apart
  }
  // There is a finding in any case. Pairing calls in order of arrival counts if it leaves fewer requests unresolved.
  const best = mayGiveUp ? honoring : cheaper(honoring, () => pairRows(undeclared, matcherOf(group, begun.pairs)))
  best.match(undeclared, { declared: false, test: isTimely })
  const isNext = nextIn(undeclared)
  const early: PairTest = (first, again) =>
    costOf(first) > 0 &&
    natureOf(first) === 'retryable' &&
    canReplace(first, again) &&
    isNext(first, again) &&
    mayRepeat(first, again) &&
    !honorsWait(first, again)
  if (!mayGiveUp) best.match(undeclared, { declared: false, test: early, verdict: 'early' })
  return withRest(undeclared, mayGiveUp ? best : reduceCareless(group, best, costOf))
}

const isTimely: PairTest = (first, again) =>
  natureOf(first) === 'retryable' && canReplace(first, again) && honorsWait(first, again)
const sameQuestion: PairTest = (first, again) => first.question.id === again.question.id
const certainlySame: PairTest = (first, again) => rebuilt(first, again) === 'certain'
const BY_CONTENT: readonly PairTest[] = [sameRequest, sameQuestion, certainlySame, () => true]
const APART = BY_CONTENT.map(
  (test): PairTest =>
    (first, again) =>
      (brokeOff(first) || mayRepeat(first, again)) && test(first, again),
)

/** Adds pairs without findings: timely retries, and retries of canceled calls. */
function withRest(undeclared: readonly ClientCall[], matcher: Matcher): Matcher {
  const afterCancel: PairTest = (first, again) => natureOf(first) === 'canceled' && sameRequest(first, again)
  for (const test of [isTimely, afterCancel]) matcher.match(undeclared, { declared: false, test })
  return matcher
}

/** Pairs each call with the one before it in a run of equal calls. */
function pairRows(undeclared: readonly ClientCall[], matcher: Matcher): Matcher {
  const repeating = new Set(matcher.pairs.map(({ again }) => again))
  for (const [first, again] of runsOf(undeclared).flatMap(stepsOf)) {
    if (natureOf(first) !== 'retryable' || !matcher.isLast(first) || repeating.has(again)) continue
    if (!mayRepeat(first, again)) continue
    matcher.add({ first, again, declared: false, verdict: honorsWait(first, again) ? undefined : 'early' })
  }
  return matcher
}

/** Tests whether a call is the next equal one on its connection or of all connections. */
function nextIn(undeclared: readonly ClientCall[]): PairTest {
  const next = new Map<ClientCall, ClientCall[]>()
  for (const equal of groupBy(undeclared, requestKey)) {
    for (const row of [equal, ...groupBy(equal, ({ mark }) => mark.connection ?? '')]) {
      let index = 0
      for (const call of row.toSorted((one, other) => one.until - other.until)) {
        while (index < row.length && (row[index]?.number ?? 0) <= call.until) index++
        next.set(call, [...(next.get(call) ?? []), ...row.slice(index, index + 1)])
      }
    }
  }
  return (first, again) => next.get(first)?.includes(again) === true
}

/** Simultaneous calls use separate connections. Some arrive when the first already has its response. */
const AT_ONCE_MS = 50
function mayRepeat(first: ClientCall, again: ClientCall): boolean {
  const { connection } = first.mark
  return connection === again.mark.connection || pauseBetween(first, again) >= AT_ONCE_MS
}

/** Larger groups keep their first pairing, since trying all others would take too long. */
export const MAX_TO_REARRANGE = 300

/** Gives costly calls without a retry the retry of another call that has an alternative or costs less. */
function rearranged(group: readonly ClientCall[], matcher: Matcher, costOf: PairingOptions['costOf']): Matcher {
  if (group.length > MAX_TO_REARRANGE) return matcher
  const before = previousByKey(group)
  const fixed = matcher.pairs.filter(({ first, verdict }) => verdict || natureOf(first) !== 'retryable')
  const taken = new Set(fixed.map(({ again }) => again))
  const firstOf = new Map<ClientCall, ClientCall>()
  for (const pair of matcher.pairs) if (!taken.has(pair.again)) firstOf.set(pair.again, pair.first)
  const declares = (call: ClientCall) => before.has(call) || (call.mark.retry ?? 0) > 0
  const mayTake: PairTest = (first, again) =>
    !taken.has(again) && fits(first, again) && (!declares(again) || repeats(first, again, before.get(again)))
  const give = (first: ClientCall, cost: number, tried: Set<ClientCall>): boolean => {
    for (const again of group) {
      if (tried.has(again) || !mayTake(first, again)) continue
      tried.add(again)
      const other = firstOf.get(again)
      // A declared retry must keep a first call.
      const free = other === undefined || (costOf(other) < cost && !declares(again))
      if (!free && !(other && give(other, cost, tried))) continue
      firstOf.set(again, first)
      return true
    }
    return false
  }
  const unresolved = group.filter((call) => natureOf(call) === 'retryable' && costOf(call) > 0 && matcher.isLast(call))
  for (const call of unresolved.toSorted((one, other) => costOf(other) - costOf(one)))
    give(call, costOf(call), new Set())
  const moved = [...firstOf].map(([again, first]) => ({ first, again, declared: declares(again), verdict: undefined }))
  return matcherOf(group, [...fixed, ...moved])
}

/** The pair before and the pair after each call. */
const linksOf = (pairs: readonly JudgedPair[]) => ({
  before: new Map(pairs.map((pair) => [pair.again, pair])),
  after: new Map(pairs.map((pair) => [pair.first, pair])),
})
type Links = ReturnType<typeof linksOf>

/** The chain of retries that ends with a call. */
function chainTo(last: ClientCall, { before }: Links): ClientCall[] {
  const chain = [last]
  for (let pair = before.get(last); pair; pair = before.get(pair.first)) chain.unshift(pair.first)
  return chain
}

const isCarefulChain = (last: ClientCall, links: Links): boolean =>
  isCareful(chainTo(last, links), (again) => links.before.get(again)?.declared === true)

/** The calls without a retry that the client gave up carelessly. */
function carelessIn(group: readonly ClientCall[], { pairs }: Matcher, costOf: PairingOptions['costOf']) {
  const links = linksOf(pairs)
  return group.filter(
    (call) =>
      natureOf(call) === 'retryable' && costOf(call) > 0 && !links.after.has(call) && !isCarefulChain(call, links),
  )
}

const fits: PairTest = (first, again) => isAfter(again, first) && canReplace(first, again) && honorsWait(first, again)

/** Exchanges retries between requests with the same content, so that fewer count as given up carelessly. */
function reduceCareless(group: readonly ClientCall[], matcher: Matcher, costOf: PairingOptions['costOf']): Matcher {
  if (group.length > MAX_TO_REARRANGE) return matcher
  let best = matcher
  for (const last of carelessIn(group, matcher, costOf)) {
    const pairs = exchanged(last, best.pairs, group.length > MAX_TO_SWAP ? 1 : CAREFUL.repeats)
    if (pairs) best = matcherOf(group, pairs)
  }
  if (group.length > MAX_TO_SWAP) return best
  for (const last of carelessIn(group, best, costOf)) {
    const careless = carelessIn(group, best, costOf).length
    const better: Better = (pairs) => {
      const matcher = matcherOf(group, pairs)
      return carelessIn(group, matcher, costOf).length < careless ? matcher : undefined
    }
    best = swapped(last, best, better) ?? redirected(last, best, { group, better }) ?? best
  }
  return best
}

/** A matcher with these pairs if they leave fewer calls given up carelessly. */
type Better = (pairs: readonly JudgedPair[]) => Matcher | undefined

/** In groups larger than this, neither swaps nor several exchanges for one call are tried. */
const MAX_TO_SWAP = 60

/** A pairing with two retries swapped, so that fewer calls were given up carelessly; undefined if no swap helps. */
function swapped(last: ClientCall, matcher: Matcher, better: Better): Matcher | undefined {
  const own = new Set(chainTo(last, linksOf(matcher.pairs)))
  const free = matcher.pairs.filter(
    ({ first, declared, verdict }) => !declared && !verdict && natureOf(first) === 'retryable',
  )
  for (const one of free.filter(({ again }) => own.has(again))) {
    for (const other of free) {
      if (other === one || !fits(one.first, other.again) || !fits(other.first, one.again)) continue
      const others = matcher.pairs.filter((pair) => pair !== one && pair !== other)
      const found = better([...others, { ...one, again: other.again }, { ...other, again: one.again }])
      if (found) return found
    }
  }
  return undefined
}

/**
 * A pairing in which a declared retry repeats another call than before, whose place the chain of a careless call takes.
 * Fewer calls were then given up carelessly. Undefined if no other call helps.
 */
function redirected(
  last: ClientCall,
  matcher: Matcher,
  { group, better }: { group: readonly ClientCall[]; better: Better },
): Matcher | undefined {
  const [root = last] = chainTo(last, linksOf(matcher.pairs))
  if ((root.mark.retry ?? 0) > 0) return undefined
  const before = previousByKey(group)
  for (const pair of matcher.pairs) {
    const { first, again, declared, verdict } = pair
    if (!declared || verdict || natureOf(first) !== 'retryable' || again === root || !fits(first, root)) continue
    const mayPrecede = (one: ClientCall) =>
      matcher.isLast(one) &&
      PRECEDING.has(natureOf(one)) &&
      isAfter(again, one) &&
      honorsWait(one, again) &&
      repeats(one, again, before.get(again))
    for (const other of group.filter(mayPrecede)) {
      const others = matcher.pairs.filter((one) => one !== pair)
      const own = { first, again: root, declared: false, verdict: undefined }
      const found = better([...others, { ...pair, first: other }, own])
      if (found) return found
    }
  }
  return undefined
}

/** What a call is that a client may repeat without a finding. */
const PRECEDING: ReadonlySet<string> = new Set(['retryable', 'open', 'canceled'])

/** The pairs after at most `times` exchanges that make the chain of a call careful. Undefined if there are none. */
function exchanged(last: ClientCall, pairs: readonly JudgedPair[], times: number): JudgedPair[] | undefined {
  const links = linksOf(pairs)
  const longer: JudgedPair[][] = []
  const [root = last] = chainTo(last, links)
  for (const pair of pairs) {
    const { first, again, declared, verdict } = pair
    if (declared || verdict || natureOf(first) !== 'retryable') continue
    const others = pairs.filter((one) => one !== pair)
    // The other chain has enough retries without this one.
    if (first !== last && fits(last, again) && isCarefulChain(first, links))
      return [...others, { ...pair, first: last }]
    // The current retry may be a separate request.
    if (root.mark.retry !== null && root.mark.retry > 0) continue
    const moved = [...others, { ...pair, again: root }]
    if (again === root || !fits(first, root)) continue
    if (isCarefulChain(last, linksOf(moved))) return moved
    if (times > 1) longer.push(moved)
  }
  for (const moved of longer) {
    const found = exchanged(last, moved, times - 1)
    if (found) return found
  }
  return undefined
}

/** Minimum retries, total pause and mean pause of a careful client that declares nothing. */
const CAREFUL = { repeats: 2, waited_ms: 250, each_ms: 100 }

/**
 * Whether a request was retried with enough pauses: twice, or once if declared. A fallback, another API key or retries by the
 * gateway also count.
 * @param isDeclared Whether a call declares that it is a retry.
 */
export function isCareful(chain: readonly ClientCall[], isDeclared: (again: ClientCall) => boolean): boolean {
  const steps = stepsOf(chain)
  // The gateway makes several attempts only if the client requested retries or fallbacks.
  if (chain.some(({ attempts }) => attempts > 1)) return true
  if (steps.some(([first, again]) => isFallback(first, again) || hasNewKey(first, again))) return true
  if (steps.length < (steps.every(([, again]) => isDeclared(again)) ? 1 : CAREFUL.repeats)) return false
  const waited = steps.reduce((sum, [first, again]) => sum + Math.max(0, pauseBetween(first, again)), 0)
  const enough = Math.max(CAREFUL.waited_ms, CAREFUL.each_ms * steps.length)
  return waited >= enough || steps.every(([first, again]) => first.wait !== null && honorsWait(first, again))
}
