// Counts how often each recovery path of the gateway and its client was exercised.
import type { AttemptRecord, TraceRecord } from '../contract/core/trace.ts'
import type { Paths } from '../contract/core/verification.ts'
import { brokeOff, isFallback } from './client-call.ts'
import type { AttemptEvidence } from './expectations.ts'
import { isEvident } from './incomplete.ts'
import type { Pairing } from './pairing.ts'

const failed = ({ outcome }: Pick<TraceRecord, 'outcome'>) => outcome !== 'succeeded'
/** Whether the second call retries a failed first call. A first try after a canceled call does not. */
const repeats = (pair: Pairing['pairs'][number]): boolean => {
  const { first, again } = pair
  if (brokeOff(first)) return isEvident(pair)
  return failed(first) && !(first.outcome === 'canceled' && again.mark.retry === 0)
}

/** How often each recovery path was exercised. */
export function pathsOf(
  traces: readonly TraceRecord[],
  tried: readonly AttemptEvidence[],
  pairings: readonly Pairing[],
): Paths {
  const pairs = pairings.flatMap((pairing) => pairing.pairs)
  const continued = pairings.flatMap(({ settled }) => settled.continued)
  const attempts = (test: (attempt: AttemptRecord) => boolean) => tried.filter(({ attempt }) => test(attempt)).length
  const recovered = traces.filter(
    (trace) =>
      trace.stream && !failed(trace) && trace.attempts.some((one) => failed(one) && one.outcome !== 'http_error'),
  ).length
  return {
    retry: attempts(({ reason }) => reason === 'retry'),
    fallback: attempts(({ reason }) => reason === 'fallback'),
    timeout: attempts(({ outcome }) => outcome === 'timed_out'),
    cache: traces.filter(({ cache }) => cache?.status === 'hit').length,
    stream_recovery:
      recovered +
      [...pairs.filter(repeats), ...continued].filter(({ first, again }) => brokeOff(first) && !failed(again)).length,
    client_retry: pairs.filter((pair) => repeats(pair) && !isFallback(pair.first, pair.again)).length,
    client_fallback: pairs.filter((pair) => repeats(pair) && isFallback(pair.first, pair.again)).length,
  }
}
