// Incomplete responses: streams that broke off. An equal call that follows one is its retry only where something shows it.
import { brokeOff, type ClientCall, isAfter, isFallback, pauseBetween, stepsOf } from './client-call.ts'
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
  /** Whether the client itself ended one, which a person may have done who had seen enough. */
  isLeft: boolean
}

/** Whether a client left a stream that a fault had slowed down or silenced: what it has is not whole. */
const isLeft = ({ stream, begun, outcome, faulty, hung }: ClientCall): boolean =>
  stream && begun && outcome === 'canceled' && faulty && !hung
const isIncomplete = (call: ClientCall): boolean => brokeOff(call) || isLeft(call)

/** Whether a call shows that it repeats the one before, should that have been incomplete: it declares it, follows a pause, or asks another model. */
export const isEvident = ({ first, again, declared }: Pair): boolean =>
  declared || isFallback(first, again) || isBackoff(pauseBetween(first, again))

/** Whether a pause, in ms, fits the back-off of a retry. */
export const isBackoff = (pause: number): boolean => pause >= BACKOFF_MS.shortest && pause <= BACKOFF_MS.longest

/** Incomplete responses without evidence of a retry, by chain. */
export function incompleteIn({ chains, pairs, settled: { surely } }: Pairing): IncompleteChain[] {
  const evident = new Set(pairs.filter(isEvident).map(({ again }) => again))
  const all = chains.flat()
  // Nothing pairs a call that the client has ended with one to another model.
  const turnsAway = (call: ClientCall) =>
    isLeft(call) &&
    all.some((other) => other.question.id === call.question.id && isAfter(other, call) && isFallback(call, other))
  return chains.flatMap((chain) => {
    const unproved = stepsOf(chain).filter(([first, again]) => isIncomplete(first) && !evident.has(again))
    const last = chain.at(-1)
    // Where the last one follows an evident retry, the request as a whole was given up.
    const isGivenUp = chain.length > 1 && last !== undefined && evident.has(last)
    const isOpen = last !== undefined && isIncomplete(last) && !surely.has(last) && !isGivenUp && !turnsAway(last)
    const calls = [...unproved.map(([first]) => first), ...(isOpen ? [last] : [])]
    const perhaps = unproved.map(([, again]) => again)
    return calls.length === 0 ? [] : [{ calls, perhaps, isOpen, isLeft: calls.some(isLeft) }]
  })
}
