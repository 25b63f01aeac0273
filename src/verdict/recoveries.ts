// The retries and fallbacks of the client, as its recovery paths count them. After a failure that nobody need retry, only evidence
// makes a later call a retry; such pairs are counted here, and decide about no finding.
import { groupBy } from '../lib/group-by.ts'
import {
  brokeOff,
  type ClientCall,
  canReplace,
  endsAtTimeout,
  isAfter,
  isFallback,
  natureOf,
  type Pair,
  pauseBetween,
} from './client-call.ts'
import { isBackoff, isEvident } from './incomplete.ts'
import type { Pairing } from './pairing.ts'

/** Every retry and fallback of the client after a failed call. */
export const recoveriesIn = (pairing: Pairing): Pair[] => [...pairing.pairs.filter(isRecovery), ...furtherIn(pairing)]

/** Whether the second call retries a failed first call. A first try after a canceled call does not. */
function isRecovery(pair: Pair): boolean {
  const { first, again, declared } = pair
  // A client that sends the prompt of a response that it could read again may have read it.
  if (first.readable) return declared
  if (brokeOff(first)) return isEvident(pair)
  if (first.outcome === 'canceled')
    return declared || endsAtTimeout(first) || (again.mark.retry === null && !isStopped(first))
  return first.outcome !== 'succeeded'
}

/** Whether a client left a stream that had begun without a fault, as a user does who stops it. */
const isStopped = ({ begun, faulty }: ClientCall): boolean => begun && !faulty

/** Number of failed calls to consider for one call. */
const MAX_LOOKED = 100

/** Pairs after failures that need no retry, or that the client ended itself. */
function furtherIn({ chains, declared }: Pairing): Pair[] {
  const lasts = new Set(chains.flatMap((chain) => chain.slice(-1)))
  const roots = new Set(chains.flatMap((chain) => chain.slice(0, 1)))
  const found = groupBy(chains.flat(), ({ question }) => question.template).flatMap((group) => {
    const waiting: ClientCall[] = []
    return group
      .toSorted((one, other) => one.number - other.number)
      .flatMap((again) => {
        const first =
          roots.has(again) && !declared.has(again)
            ? waiting.slice(-MAX_LOOKED).findLast((one) => isRepeatedBy(one, again) && !isAnswered(one, again, group))
            : undefined
        if (first) waiting.splice(waiting.lastIndexOf(first), 1)
        if (lasts.has(again) && mayBeRepeated(again)) waiting.push(again)
        return first ? [{ first, again, declared: false }] : []
      })
  })
  const next = new Map(found.map((pair) => [pair.first, pair]))
  const growing = new Set(found.filter((pair) => grows(pair, next.get(pair.again))))
  const before = new Map(found.map((pair) => [pair.again, pair]))
  return found.filter((pair) => {
    const earlier = before.get(pair.first)
    return !pair.first.readable || growing.has(pair) || (earlier !== undefined && growing.has(earlier))
  })
}

/** Whether a failed call may be repeated without need. Workspace calls are not: clients poll for a record that is missing. */
const mayBeRepeated = (call: ClientCall): boolean =>
  call.trace !== null && (natureOf(call) === 'open' || natureOf(call) === 'final' || isTimeout(call))

/** Whether the client left a call that a fault kept from it. */
const isTimeout = ({ outcome, faulty, readable }: ClientCall): boolean => outcome === 'canceled' && faulty && !readable

/** Whether a call evidently repeats one that had ended. */
function isRepeatedBy(first: ClientCall, again: ClientCall): boolean {
  if (!isAfter(again, first) || !canReplace(first, again)) return false
  if (isFallback(first, again)) return !first.readable
  return natureOf(first) !== 'canceled' && isBackoff(pauseBetween(first, again))
}

/** Whether another call got the response to a failed request before it was repeated. */
const isAnswered = (first: ClientCall, again: ClientCall, group: readonly ClientCall[]): boolean =>
  group.some(({ outcome, number, until }) => outcome === 'succeeded' && until >= first.number && number < again.number)

/** The least growth of a backoff's pauses. Prompts that are sent in a loop have pauses of equal length. */
const MIN_GROWTH = 1.3

/** Whether the pause of a pair is shorter than that of the next one, as in a backoff. */
const grows = (pair: Pair, next: Pair | undefined): boolean =>
  next !== undefined && pauseBetween(next.first, next.again) >= MIN_GROWTH * pauseBetween(pair.first, pair.again)
