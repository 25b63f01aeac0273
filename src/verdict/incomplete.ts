// Incomplete responses, such as truncated streams. A later equal call counts as a retry only with evidence for it.
import { brokeOff, type ClientCall, isAfter, isFallback, pauseBetween, stepsOf } from './client-call.ts'
import type { Pair } from './matcher.ts'
import type { Pairing } from './pairing.ts'

/** Pauses of a backoff, in ms. Programs that make one call after the other have shorter ones. */
const BACKOFF_MS = { shortest: 200, longest: 120_000 }

/** The incomplete responses of a chain of equal calls that have no certain retry. */
export interface IncompleteChain {
  calls: readonly ClientCall[]
  /** Calls that may be retries of them. */
  possibleRetries: readonly ClientCall[]
  /** Whether the chain ends with one, so that at least one of them has no retry. */
  isOpen: boolean
  /** Whether the client canceled one, as a user may do. */
  isCanceled: boolean
}

/** Whether a client canceled a stream that a fault had slowed down or stalled, so that it has only a part. */
const isCanceledPart = ({ stream, begun, outcome, faulty, hung }: ClientCall): boolean =>
  stream && begun && outcome === 'canceled' && faulty && !hung
const isIncomplete = (call: ClientCall): boolean => brokeOff(call) || isCanceledPart(call)

/** Whether a call is evidently a retry of the one before: it declares it, follows a backoff, or uses another model. */
export const isEvident = ({ first, again, declared }: Pair): boolean =>
  declared || isFallback(first, again) || isBackoff(pauseBetween(first, again))

/** Whether a pause, in ms, fits the backoff of a retry. */
export const isBackoff = (pause: number): boolean => pause >= BACKOFF_MS.shortest && pause <= BACKOFF_MS.longest

/** Incomplete responses without evidence of a retry, by chain. */
export function incompleteIn({ chains, pairs, settled: { certain } }: Pairing): IncompleteChain[] {
  const evident = new Set(pairs.filter(isEvident).map(({ again }) => again))
  const all = chains.flat()
  // Calls canceled by the client are not paired with calls to another model.
  const hasFallback = (call: ClientCall) =>
    isCanceledPart(call) &&
    all.some((other) => other.question.id === call.question.id && isAfter(other, call) && isFallback(call, other))
  return chains.flatMap((chain) => {
    const uncertain = stepsOf(chain).filter(([first, again]) => isIncomplete(first) && !evident.has(again))
    const last = chain.at(-1)
    // If the last call is an evident retry, the whole request was given up.
    const isGivenUp = chain.length > 1 && last !== undefined && evident.has(last)
    const isOpen = last !== undefined && isIncomplete(last) && !certain.has(last) && !isGivenUp && !hasFallback(last)
    const calls = [...uncertain.map(([first]) => first), ...(isOpen ? [last] : [])]
    const possibleRetries = uncertain.map(([, again]) => again)
    return calls.length === 0 ? [] : [{ calls, possibleRetries, isOpen, isCanceled: calls.some(isCanceledPart) }]
  })
}
