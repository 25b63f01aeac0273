// Pairs calls that do not declare that they are retries. Of several pairings, the one with the fewest findings counts.
import { groupBy } from '../lib/group-by.ts'
import {
  type ClientCall,
  canReplace,
  hasNewKey,
  honorsWait,
  isAfter,
  isFallback,
  natureOf,
  pauseBetween,
  rebuilt,
  runsOf,
  sameRequest,
  stepsOf,
} from './client-call.ts'
import {
  costsOf,
  type JudgedPair,
  type Matcher,
  matcherOf,
  type PairingOptions,
  type PairTest,
  previousByKey,
  repeats,
} from './matcher.ts'

/** Pairs undeclared calls. They count as retries if the client would otherwise have given up a request. */
export function pairUndeclared(
  group: readonly ClientCall[],
  begun: Matcher,
  { costOf, mayGiveUp }: PairingOptions,
): Matcher {
  const undeclared = group.filter(({ mark }) => (mark.retry ?? 0) === 0)
  const isRetryable: PairTest = (first, again) => natureOf(first) === 'retryable' && canReplace(first, again)
  const options = { declared: false }
  /** Pairs equal calls first, then those with the same content in another form. */
  const pairBy = (tests: readonly PairTest[]): Matcher => {
    const matcher = begun.copy()
    for (const cost of costsOf(group, costOf)) {
      for (const test of tests) {
        const passes: PairTest = (first, again) =>
          costOf(first) === cost && isRetryable(first, again) && honorsWait(first, again) && test(first, again)
        matcher.match(undeclared, { ...options, test: passes })
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
  const inOrder = pairBy([sameRequest, sameQuestion, certainlySame, () => true])
  const honoring = cheaper(inOrder, () => rearranged(group, inOrder, costOf))
  // A careful program may give up, so a pairing in which all unresolved requests were careful has no findings.
  if (!mayGiveUp) {
    const reduced = reduceCareless(group, honoring, costOf)
    if (carelessIn(group, reduced, costOf).length === 0) return withRest(undeclared, reduced)
    // Retries of canceled calls also count as attempts of a careful program.
    const completed = reduceCareless(group, withRest(undeclared, reduced.copy()), costOf)
    if (carelessIn(group, completed, costOf).length === 0) return completed
  }
  // There is a finding in any case. Pairing calls in order of arrival counts if it leaves fewer requests unresolved.
  const best = mayGiveUp ? honoring : cheaper(honoring, () => pairRows(undeclared, begun.copy()))
  best.match(undeclared, { ...options, test: (first, again) => isRetryable(first, again) && honorsWait(first, again) })
  const isNext = nextIn(undeclared)
  const early: PairTest = (first, again) =>
    costOf(first) > 0 &&
    isRetryable(first, again) &&
    isNext(first, again) &&
    mayRepeat(first, again) &&
    !honorsWait(first, again)
  if (!mayGiveUp) best.match(undeclared, { ...options, test: early, verdict: 'early' })
  return withRest(undeclared, mayGiveUp ? best : reduceCareless(group, best, costOf))
}

const sameQuestion: PairTest = (first, again) => first.question.id === again.question.id
const certainlySame: PairTest = (first, again) => rebuilt(first, again) === 'certain'

/** Adds pairs without findings: timely retries, and retries of canceled calls. */
function withRest(undeclared: readonly ClientCall[], matcher: Matcher): Matcher {
  const onTime: PairTest = (first, again) =>
    natureOf(first) === 'retryable' && canReplace(first, again) && honorsWait(first, again)
  const afterCancel: PairTest = (first, again) => natureOf(first) === 'canceled' && sameRequest(first, again)
  for (const test of [onTime, afterCancel]) matcher.match(undeclared, { declared: false, test })
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
  for (const equal of groupBy(undeclared, ({ operation, request }) => `${operation} ${request}`)) {
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
  const fits: PairTest = (first, again) =>
    !taken.has(again) &&
    isAfter(again, first) &&
    canReplace(first, again) &&
    honorsWait(first, again) &&
    (!declares(again) || repeats(first, again, before.get(again)))
  const give = (first: ClientCall, cost: number, tried: Set<ClientCall>): boolean => {
    for (const again of group) {
      if (tried.has(again) || !fits(first, again)) continue
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
interface Links {
  before: Map<ClientCall, JudgedPair>
  after: Map<ClientCall, JudgedPair>
}

const linksOf = (pairs: readonly JudgedPair[]): Links => ({
  before: new Map(pairs.map((pair) => [pair.again, pair])),
  after: new Map(pairs.map((pair) => [pair.first, pair])),
})

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

const fits = (first: ClientCall, again: ClientCall): boolean =>
  isAfter(again, first) && canReplace(first, again) && honorsWait(first, again)

/** Exchanges retries between requests with the same content, so that fewer count as given up carelessly. */
function reduceCareless(group: readonly ClientCall[], matcher: Matcher, costOf: PairingOptions['costOf']): Matcher {
  if (group.length > MAX_TO_REARRANGE) return matcher
  let best = matcher
  for (const last of carelessIn(group, matcher, costOf)) {
    const pairs = exchanged(last, best.pairs, group.length > MAX_TO_SWAP ? 1 : CAREFUL.repeats)
    if (pairs) best = matcherOf(group, pairs)
  }
  if (group.length > MAX_TO_SWAP) return best
  for (const last of carelessIn(group, best, costOf))
    best = swapped(last, best, { group, costOf }) ?? redirected(last, best, { group, costOf }) ?? best
  return best
}

/** In groups larger than this, neither swaps nor several exchanges for one call are tried. */
const MAX_TO_SWAP = 60

/** A pairing with two retries swapped, so that fewer calls were given up carelessly; undefined if no swap helps. */
function swapped(
  last: ClientCall,
  matcher: Matcher,
  { group, costOf }: { group: readonly ClientCall[]; costOf: PairingOptions['costOf'] },
): Matcher | undefined {
  const careless = carelessIn(group, matcher, costOf).length
  const own = new Set(chainTo(last, linksOf(matcher.pairs)))
  const free = matcher.pairs.filter(
    ({ first, declared, verdict }) => !declared && !verdict && natureOf(first) === 'retryable',
  )
  for (const one of free.filter(({ again }) => own.has(again))) {
    for (const other of free) {
      if (other === one || !fits(one.first, other.again) || !fits(other.first, one.again)) continue
      const others = matcher.pairs.filter((pair) => pair !== one && pair !== other)
      const pairs = [...others, { ...one, again: other.again }, { ...other, again: one.again }]
      const better = matcherOf(group, pairs)
      if (carelessIn(group, better, costOf).length < careless) return better
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
  { group, costOf }: { group: readonly ClientCall[]; costOf: PairingOptions['costOf'] },
): Matcher | undefined {
  const careless = carelessIn(group, matcher, costOf).length
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
      const better = matcherOf(group, [...others, { ...pair, first: other }, own])
      if (carelessIn(group, better, costOf).length < careless) return better
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
