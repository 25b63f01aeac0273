// Pairings of equal calls that show a careless client where another pairing shows careful ones: repetitions change hands.
import { isCareful } from './careful.ts'
import { type ClientCall, canReplace, isAfter, keptWait, natureOf } from './client-call.ts'
import { type JudgedPair, type Matcher, matcherOf, type PairingOptions } from './matcher.ts'
import { MOST_TO_REARRANGE } from './rearrange.ts'

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
export function carelessIn(group: readonly ClientCall[], { pairs }: Matcher, costOf: PairingOptions['costOf']) {
  const links = linksOf(pairs)
  return group.filter(
    (call) => natureOf(call) === 'retryable' && costOf(call) > 0 && !links.after.has(call) && !isSpared(call, links),
  )
}

const fits = (first: ClientCall, again: ClientCall): boolean =>
  isAfter(again, first) && canReplace(first, again) && keptWait(first, again)

/** Exchanges repetitions between requests of the same question until as few as possible were given up carelessly. */
export function spare(group: readonly ClientCall[], matcher: Matcher, costOf: PairingOptions['costOf']): Matcher {
  if (group.length > MOST_TO_REARRANGE) return matcher
  let best = matcher
  for (const last of carelessIn(group, matcher, costOf)) {
    const pairs = exchanged(last, best.pairs)
    if (pairs) best = matcherOf(group, pairs)
  }
  if (group.length > MOST_TO_SWAP) return best
  for (const last of carelessIn(group, best, costOf)) best = swapped(last, best, { group, costOf }) ?? best
  return best
}

/** Of more calls than this, not all swaps are tried. */
const MOST_TO_SWAP = 60

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
