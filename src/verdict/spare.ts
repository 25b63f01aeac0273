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
  return best
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
