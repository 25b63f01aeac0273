// Incomplete responses, such as truncated streams. A later equal call counts as a retry only with evidence for it.
import { brokeOff, type ClientCall, isAfter, isFallback, type Pair, pauseBetween, stepsOf } from './client-call.ts'
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
const isCanceledPart = ({ stream, begun, outcome, faulty, hung, readable }: ClientCall): boolean =>
  stream && begun && outcome === 'canceled' && faulty && !hung && !readable
/** Whether a client received only a part of a stream. */
const isIncomplete = (call: ClientCall): boolean => brokeOff(call) || isCanceledPart(call)

/** Whether a call is evidently a retry of the one before: it declares it, follows a backoff, or uses another model. */
export const isEvident = ({ first, again, declared }: Pair): boolean =>
  declared || isFallback(first, again) || isBackoff(pauseBetween(first, again))

/** Whether a pause, in ms, fits the backoff of a retry. */
export const isBackoff = (pause: number): boolean => pause >= BACKOFF_MS.shortest && pause <= BACKOFF_MS.longest

const evidentRetries = (pairs: Pairing['pairs']) => new Set(pairs.filter(isEvident).map(({ again }) => again))

/** A test for calls that the client canceled and followed by one to another model, with which they are not paired. */
const fallbackTest = (chains: Pairing['chains']) => (call: ClientCall) =>
  isCanceledPart(call) &&
  chains
    .flat()
    .some((other) => other.question.id === call.question.id && isAfter(other, call) && isFallback(call, other))

/** Requests of which the client canceled the last stream after a fault, without a response after evident retries. */
export function canceledRetriesIn({ chains, pairs }: Pairing): (readonly ClientCall[])[] {
  const evident = evidentRetries(pairs)
  const hasFallback = fallbackTest(chains)
  const isAnswered = ({ number, question }: ClientCall) =>
    chains
      .flat()
      .some(({ outcome, until, question: { id } }) => outcome === 'succeeded' && id === question.id && until >= number)
  return chains.filter((chain) => {
    const [first] = chain
    const [last, ...earlier] = chain.toReversed()
    return (
      first !== undefined &&
      last !== undefined &&
      earlier.length > 0 &&
      evident.has(last) &&
      isCanceledPart(last) &&
      earlier.every(isIncomplete) &&
      !hasFallback(last) &&
      !isAnswered(first)
    )
  })
}

/** Incomplete responses without evidence of a retry, by chain. */
export function incompleteIn({ chains, pairs, settled: { certain } }: Pairing): IncompleteChain[] {
  const evident = evidentRetries(pairs)
  const hasFallback = fallbackTest(chains)
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
