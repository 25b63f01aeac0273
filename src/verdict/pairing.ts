// Which call is the repetition of which: the assignment that accuses the client least.
import { groupBy } from '../lib/group-by.ts'
import { type ClientCall, natureOf } from './client-call.ts'
import { type JudgedPair, matcherOf, type Pair, type PairingOptions, pairDeclared } from './matcher.ts'
import { requestedDifferently, requestedWithOtherTools, type SettledCalls, settledByOthers } from './settled.ts'
import { pairAlike } from './undeclared-retries.ts'

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
  /** Failed calls that nothing repeats, and that the client has seen to all the same. */
  settled: SettledCalls
}

/** Pairs calls, given in the order in which they came. */
export function pairCalls(calls: readonly ClientCall[], options: PairingOptions): Pairing {
  const found: JudgedPair[] = []
  const { surely, perhaps, continued } = settledByOthers(calls)
  const costOf = (call: ClientCall) => (surely.has(call) ? 0 : options.costOf(call))
  for (const group of groupBy(calls, ({ question }) => question.template)) {
    const matcher = matcherOf(group)
    pairDeclared(group, matcher, { ...options, costOf })
    found.push(...pairAlike(group, matcher, { ...options, costOf }).pairs)
  }
  found.sort((one, other) => one.again.number - other.again.number)
  const judged = (wanted: JudgedPair['verdict']) => found.filter(({ verdict }) => verdict === wanted)
  const chains = chainsOf(calls, found)
  const lasts = chains.flatMap((chain) => chain.slice(-1))
  const lacking = lasts.filter((call) => natureOf(call) === 'retryable' && !surely.has(call))
  const declared = new Set(found.flatMap((pair) => (pair.declared ? [pair.again] : [])))
  const roots = chains.flatMap((chain) => chain.slice(0, 1))
  const otherwise = requestedDifferently({ roots, silent: calls.filter((call) => !declared.has(call)), lacking })
  return {
    pairs: found,
    early: judged('early'),
    ignored: judged('ignored'),
    uncancelled: judged('uncancelled'),
    chains,
    settled: {
      surely: surely.union(otherwise),
      perhaps: perhaps.union(requestedWithOtherTools({ roots, lacking })),
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
