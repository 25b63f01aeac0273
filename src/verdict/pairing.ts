// Decides which call repeats which, with the fewest findings against the client.
import { groupBy } from '../lib/group-by.ts'
import { type ClientCall, natureOf } from './client-call.ts'
import { type JudgedPair, matcherOf, type Pair, type PairingOptions, pairDeclared } from './matcher.ts'
import { requestedDifferently, requestedWithOtherTools, type SettledCalls, settledByOthers } from './settled.ts'
import { pairUndeclared } from './undeclared-retries.ts'

/** Pairs of calls and their retries. Each call repeats at most one other and is repeated at most once. */
export interface Pairing {
  /** All pairs, in order of arrival of the second call. */
  pairs: readonly Pair[]
  /** Early retries, which no other pairing avoids. */
  early: readonly Pair[]
  /** Retries of final errors. */
  ignored: readonly Pair[]
  /** Retries during the first call, which was never canceled. */
  uncancelled: readonly Pair[]
  /** Each request with its retries, in order. */
  chains: readonly (readonly ClientCall[])[]
  /** Failed calls without a retry that the client handled in another way. */
  settled: SettledCalls
}

/** The calls that declare that they are retries. */
export const declaredRetries = ({ pairs }: Pick<Pairing, 'pairs'>): ReadonlySet<ClientCall> =>
  new Set(pairs.flatMap(({ declared, again }) => (declared ? [again] : [])))

/** Pairs calls, given in order of arrival. */
export function pairCalls(calls: readonly ClientCall[], options: PairingOptions): Pairing {
  const found: JudgedPair[] = []
  const { certain, possible, continued } = settledByOthers(calls)
  const costOf = (call: ClientCall) => (certain.has(call) ? 0 : options.costOf(call))
  for (const group of groupBy(calls, ({ question }) => question.template)) {
    const matcher = matcherOf(group)
    pairDeclared(group, matcher, { ...options, costOf })
    found.push(...pairUndeclared(group, matcher, { ...options, costOf }).pairs)
  }
  found.sort((one, other) => one.again.number - other.again.number)
  const withVerdict = (expected: JudgedPair['verdict']) => found.filter(({ verdict }) => verdict === expected)
  const chains = chainsOf(calls, found)
  const lasts = chains.flatMap((chain) => chain.slice(-1))
  const unresolved = lasts.filter((call) => natureOf(call) === 'retryable' && !certain.has(call))
  const declared = declaredRetries({ pairs: found })
  const roots = chains.flatMap((chain) => chain.slice(0, 1))
  const inOtherForm = requestedDifferently({
    roots,
    undeclared: calls.filter((call) => !declared.has(call)),
    unresolved,
  })
  return {
    pairs: found,
    early: withVerdict('early'),
    ignored: withVerdict('ignored'),
    uncancelled: withVerdict('uncancelled'),
    chains,
    settled: {
      certain: certain.union(inOtherForm),
      possible: possible.union(requestedWithOtherTools({ roots, unresolved })),
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
