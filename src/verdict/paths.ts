// The recovery paths of a gateway and its client, which only failures exercise, and how often each was exercised.
import type { AttemptRecord, TraceRecord } from '../contract/core/trace.ts'
import type { Paths } from '../contract/core/verification.ts'
import { brokeOff, isFallback } from './client-call.ts'
import type { AttemptEvidence } from './expectations.ts'
import { isEvident } from './incomplete.ts'
import type { Pairing } from './pairing.ts'

const failed = ({ outcome }: Pick<TraceRecord, 'outcome'>) => outcome !== 'succeeded'
/** Whether the second call repeats the first because that failed: who leaves an answer, and says that the next call is a first try, does not. */
const repeats = (pair: Pairing['pairs'][number]): boolean => {
  const { first, again } = pair
  if (brokeOff(first)) return isEvident(pair)
  return failed(first) && !(first.outcome === 'canceled' && again.mark.retry === 0)
}

/** How often each way was taken. */
export function pathsOf(
  traces: readonly TraceRecord[],
  tried: readonly AttemptEvidence[],
  pairings: readonly Pairing[],
): Paths {
  const pairs = pairings.flatMap((pairing) => pairing.pairs)
  const continued = pairings.flatMap(({ settled }) => settled.continued)
  const attempts = (wanted: (attempt: AttemptRecord) => boolean) =>
    tried.filter(({ attempt }) => wanted(attempt)).length
  const recovered = traces.filter(
    (trace) =>
      trace.stream && !failed(trace) && trace.attempts.some((one) => failed(one) && one.outcome !== 'http_error'),
  ).length
  return {
    retry: attempts(({ reason: why }) => why === 'retry'),
    fallback: attempts(({ reason: why }) => why === 'fallback'),
    timeout: attempts(({ outcome }) => outcome === 'timed_out'),
    cache: traces.filter(({ cache }) => cache?.status === 'hit').length,
    stream_recovery:
      recovered +
      [...pairs.filter(repeats), ...continued].filter(({ first, again }) => brokeOff(first) && !failed(again)).length,
    client_retry: pairs.filter((pair) => repeats(pair) && !isFallback(pair.first, pair.again)).length,
    client_fallback: pairs.filter((pair) => repeats(pair) && isFallback(pair.first, pair.again)).length,
  }
}
