// no-backoff: a failed request was retried several times in a row without a pause.
import { type ClientCall, hasNewKey, natureOf, pauseBetween, pausesOf, stretchesOf } from '../client-call.ts'
import { type Behavior, endOf, type FindingDefinition } from './define.ts'
import { stormsIn } from './retry-storm.ts'

/** Maximum pause without backoff. The shortest backoff of common SDKs is 375 ms. */
const SHORT_MS = 250
/** Minimum repeats in a row. Many clients make the first retry at once. */
const MIN_REPEATS = 3

/** Reports at least 3 repeats in a row without a pause, where no `Retry-After` was sent. */
export const noBackoff: FindingDefinition = {
  kind: 'no-backoff',
  find: (behavior) =>
    hurriedIn(behavior).map((calls) => {
      const [first] = calls
      const longest = Math.round(Math.max(...pausesOf(calls)))
      return {
        severity: 'warning',
        message: `a failed request (${first ? endOf(first) : ''}) was retried ${calls.length - 1} times without backoff, each time after at most ${longest} ms`,
        calls,
        count: calls.length - 1,
        figures: { repeats: calls.length - 1, longest_pause_ms: longest },
      }
    }),
}

/** Whether a retryable failure without `Retry-After` was retried at once. */
const hurries = (first: ClientCall, again: ClientCall): boolean =>
  natureOf(first) === 'retryable' &&
  first.wait === null &&
  pauseBetween(first, again) < SHORT_MS &&
  !hasNewKey(first, again)

function hurriedIn(behavior: Behavior): ClientCall[][] {
  const { pairing } = behavior
  const hurried = pairing.chains
    .flatMap((chain) => stretchesOf(chain, hurries))
    .filter((stretch) => stretch.length > MIN_REPEATS && isOneClient(stretch, pairing))
  if (hurried.length === 0) return []
  // A retry storm already reports these calls.
  const stormed = new Set(stormsIn(behavior).flatMap(({ calls }) => calls))
  return hurried.filter((stretch) => !stretch.some((call) => stormed.has(call)))
}

/** Whether calls certainly come from one client: they declare it, or share a connection. */
function isOneClient(calls: readonly ClientCall[], { declared }: Behavior['pairing']): boolean {
  const [first, ...more] = calls
  const connection = first?.mark.connection ?? null
  return more.every((call) => declared.has(call) || (connection !== null && call.mark.connection === connection))
}
