// Incomplete responses: streams that broke off. An equal call that follows one is its retry only where something shows it.
import { brokeOff, type ClientCall, isFallback, pauseBetween } from './client-call.ts'
import { stepsOf } from './lanes.ts'
import type { Pair } from './matcher.ts'
import type { Pairing } from './pairing.ts'

/** Pauses of a back-off, in ms. Programs that simply make one call after the other leave shorter ones. */
const BACKOFF_MS = { shortest: 200, longest: 120_000 }

/** The incomplete responses of a chain of equal calls that nothing is known to have repeated. */
export interface IncompleteChain {
  calls: readonly ClientCall[]
  /** Calls that may be retries of them. */
  perhaps: readonly ClientCall[]
  /** Whether the chain ends with one, so that at least one of them has no retry. */
  isOpen: boolean
}

/** Whether a call shows that it repeats an incomplete response: it declares it, follows a pause, or asks another model. */
const isEvident = ({ first, again, declared }: Pair): boolean =>
  declared || isFallback(first, again) || isBackoff(pauseBetween(first, again))

/** Whether a pause, in ms, fits the back-off of a retry. */
export const isBackoff = (pause: number): boolean => pause >= BACKOFF_MS.shortest && pause <= BACKOFF_MS.longest

/** Incomplete responses without evidence of a retry, by chain. */
export function incompleteIn({ chains, pairs, settled: { surely } }: Pairing): IncompleteChain[] {
  const evident = new Set(pairs.filter(isEvident).map(({ again }) => again))
  return chains.flatMap((chain) => {
    const unproved = stepsOf(chain).filter(([first, again]) => brokeOff(first) && !evident.has(again))
    const last = chain.at(-1)
    // Where the last one follows an evident retry, the request as a whole was given up.
    const isOpen = last !== undefined && brokeOff(last) && !surely.has(last) && !(chain.length > 1 && evident.has(last))
    const calls = [...unproved.map(([first]) => first), ...(isOpen ? [last] : [])]
    return calls.length === 0 ? [] : [{ calls, perhaps: unproved.map(([, again]) => again), isOpen }]
  })
}
