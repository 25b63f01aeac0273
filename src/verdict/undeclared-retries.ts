// Calls that say nothing of repetitions: which of them could be some. Of several readings the one counts that accuses the client least.
import { groupBy } from '../lib/group-by.ts'
import {
  type ClientCall,
  canReplace,
  hasNewKey,
  isAfter,
  isFallback,
  keptWait,
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
  keptKeys,
  type Matcher,
  matcherOf,
  type PairingOptions,
  type PairTest,
  repeats,
} from './matcher.ts'

/** Calls that say nothing of the kind: they are taken for repetitions where that clears the client of having given up. */
export function pairAlike(
  group: readonly ClientCall[],
  begun: Matcher,
  { costOf, mayGiveUp }: PairingOptions,
): Matcher {
  const silent = group.filter(({ mark }) => (mark.retry ?? 0) === 0)
  const isRetryable: PairTest = (first, again) => natureOf(first) === 'retryable' && canReplace(first, again)
  const as = { declared: false }
  /** For each request the calls that are equal to it, before those that ask the same in another way. */
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
  const inOrder = waiting([sameRequest, sameQuestion, surelySame, () => true])
  const honoured = cheaper(inOrder, () => rearranged(group, inOrder, costOf))
  // A careful program may give up: a reading in which all that do are careful holds nothing against anybody.
  if (!mayGiveUp) {
    const spared = spare(group, honoured, costOf)
    if (carelessIn(group, spared, costOf).length === 0) return withRest(silent, spared)
    // Calls that were left are among what a careful program has tried.
    const rested = spare(group, withRest(silent, spared.copy()), costOf)
    if (carelessIn(group, rested, costOf).length === 0) return rested
  }
  // Something is wrong in any case. Where fewer have given up when calls are taken as they came, that is what they were.
  const best = mayGiveUp ? honoured : cheaper(honoured, () => pairRows(silent, begun.copy()))
  best.match(silent, { ...as, test: (first, again) => isRetryable(first, again) && keptWait(first, again) })
  const isNext = nextIn(silent)
  const early: PairTest = (first, again) =>
    costOf(first) > 0 &&
    isRetryable(first, again) &&
    isNext(first, again) &&
    mayRepeat(first, again) &&
    !keptWait(first, again)
  if (!mayGiveUp) best.match(silent, { ...as, test: early, verdict: 'early' })
  return withRest(silent, mayGiveUp ? best : spare(group, best, costOf))
}

const sameQuestion: PairTest = (first, again) => first.question.id === again.question.id
const surelySame: PairTest = (first, again) => rebuilt(first, again) === 'certain'

/** A reading with what is held against nobody: retries that were on time, and calls again after one that was left. */
function withRest(silent: readonly ClientCall[], reading: Matcher): Matcher {
  const onTime: PairTest = (first, again) =>
    natureOf(first) === 'retryable' && canReplace(first, again) && keptWait(first, again)
  const left: PairTest = (first, again) => natureOf(first) === 'canceled' && sameRequest(first, again)
  for (const test of [onTime, left]) reading.match(silent, { declared: false, test })
  return reading
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

/** Whether a call is the next equal one on a connection, or of all: those that a busy machine makes at once come one after the other. */
function nextIn(silent: readonly ClientCall[]): PairTest {
  const next = new Map<ClientCall, ClientCall[]>()
  for (const equal of groupBy(silent, ({ operation, request }) => `${operation} ${request}`)) {
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

/** Calls that are made at once come on connections of their own, some of them when the first is answered already. */
const AT_ONCE_MS = 50
function mayRepeat(first: ClientCall, again: ClientCall): boolean {
  const { connection } = first.mark
  return connection === again.mark.connection || pauseBetween(first, again) >= AT_ONCE_MS
}

/** Larger groups are left as they were paired at first: to try all ways would take too long. */
export const MAX_TO_REARRANGE = 300

/** Gives calls that nothing repeats, and that cost something, the repetition of another that has a second one to take or costs less. */
function rearranged(group: readonly ClientCall[], matcher: Matcher, costOf: PairingOptions['costOf']): Matcher {
  if (group.length > MAX_TO_REARRANGE) return matcher
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

/** Pairs as they are exchanged: each call with what it repeats and what repeats it. */
interface Links {
  before: Map<ClientCall, JudgedPair>
  after: Map<ClientCall, JudgedPair>
}

const linksOf = (pairs: readonly JudgedPair[]): Links => ({
  before: new Map(pairs.map((pair) => [pair.again, pair])),
  after: new Map(pairs.map((pair) => [pair.first, pair])),
})

/** The chain that ends with a call. */
function chainTo(last: ClientCall, { before }: Links): ClientCall[] {
  const chain = [last]
  for (let pair = before.get(last); pair; pair = before.get(pair.first)) chain.unshift(pair.first)
  return chain
}

const isSpared = (last: ClientCall, links: Links): boolean =>
  isCareful(chainTo(last, links), (again) => links.before.get(again)?.declared === true)

/** The calls that would be held against the client for having no repetition. */
function carelessIn(group: readonly ClientCall[], { pairs }: Matcher, costOf: PairingOptions['costOf']) {
  const links = linksOf(pairs)
  return group.filter(
    (call) => natureOf(call) === 'retryable' && costOf(call) > 0 && !links.after.has(call) && !isSpared(call, links),
  )
}

const fits = (first: ClientCall, again: ClientCall): boolean =>
  isAfter(again, first) && canReplace(first, again) && keptWait(first, again)

/** Exchanges repetitions between requests of the same question until as few as possible were given up carelessly. */
function spare(group: readonly ClientCall[], matcher: Matcher, costOf: PairingOptions['costOf']): Matcher {
  if (group.length > MAX_TO_REARRANGE) return matcher
  let best = matcher
  for (const last of carelessIn(group, matcher, costOf)) {
    const pairs = exchanged(last, best.pairs)
    if (pairs) best = matcherOf(group, pairs)
  }
  if (group.length > MAX_TO_SWAP) return best
  for (const last of carelessIn(group, best, costOf)) best = swapped(last, best, { group, costOf }) ?? best
  return best
}

/** Of more calls than this, not all swaps are tried. */
const MAX_TO_SWAP = 60

/** A pairing in which two repetitions change places, so that fewer were given up carelessly; undefined when there is none. */
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

/** The pairs after an exchange that spares a call; undefined when there is none. */
function exchanged(last: ClientCall, pairs: readonly JudgedPair[]): JudgedPair[] | undefined {
  const links = linksOf(pairs)
  const [root = last] = chainTo(last, links)
  for (const pair of pairs) {
    const { first, again, declared, verdict } = pair
    if (declared || verdict || natureOf(first) !== 'retryable') continue
    const others = pairs.filter((one) => one !== pair)
    // Its chain has been repeated enough without this one, which may as well belong to the other.
    if (first !== last && fits(last, again) && isSpared(first, links)) return [...others, { ...pair, first: last }]
    // What repeats it now may be a request of its own.
    if (root.mark.retry !== null && root.mark.retry > 0) continue
    const moved = [...others, { ...pair, again: root }]
    if (again !== root && fits(first, root) && isSpared(last, linksOf(moved))) return moved
  }
  return undefined
}

/** So many repeats, with so long pauses in all and for each of them, are careful where nothing else shows how many the client has left. */
const CAREFUL = { repeats: 2, waited_ms: 250, each_ms: 100 }

/**
 * Whether a request was repeated with pauses: twice, or as often as the client declares, at another model, or with another API key; by the
 * client itself or by the gateway as the call's options tell it to.
 * @param isDeclared whether a call declares that it repeats the one before
 */
export function isCareful(chain: readonly ClientCall[], isDeclared: (again: ClientCall) => boolean): boolean {
  const steps = stepsOf(chain)
  // The gateway makes more attempts only where the client has asked for retries or fallbacks, and pauses between retries.
  if (chain.some(({ attempts }) => attempts > 1)) return true
  if (steps.some(([first, again]) => isFallback(first, again) || hasNewKey(first, again))) return true
  if (steps.length < (steps.every(([, again]) => isDeclared(again)) ? 1 : CAREFUL.repeats)) return false
  const waited = steps.reduce((sum, [first, again]) => sum + Math.max(0, pauseBetween(first, again)), 0)
  const enough = Math.max(CAREFUL.waited_ms, CAREFUL.each_ms * steps.length)
  return waited >= enough || steps.every(([first, again]) => first.wait !== null && keptWait(first, again))
}
