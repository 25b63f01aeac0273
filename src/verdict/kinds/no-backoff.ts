// no-backoff: a failing request was repeated at once, again and again, though nothing asked for that.
import { type ClientCall, hasNewKey, natureOf, pauseBetween, pausesOf, stretchesOf } from '../client-call.ts'
import { type Behaviour, endOf, type FindingDefinition } from './define.ts'
import { stormsIn } from './retry-storm.ts'

/** Shorter pauses are no back-off: the shortest of the usual SDKs is 375 ms. */
const SHORT_MS = 250
/** So many repeats in a row are a habit; the first one at once is what many do. */
const MIN_REPEATS = 3

/** Reports at least 3 repeats in a row without a pause, where no `Retry-After` was sent. */
export const noBackoff: FindingDefinition = {
  kind: 'no-backoff',
  find: (behaviour) =>
    hurriedIn(behaviour).map((calls) => {
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

/** A retryable failure without `Retry-After`, repeated within a moment. */
const hurries = (first: ClientCall, again: ClientCall): boolean =>
  natureOf(first) === 'retryable' &&
  first.wait === null &&
  pauseBetween(first, again) < SHORT_MS &&
  !hasNewKey(first, again)

function hurriedIn(behaviour: Behaviour): ClientCall[][] {
  const { pairing } = behaviour
  // A storm has said it.
  const stormed = new Set(stormsIn(behaviour).flatMap(({ calls }) => calls))
  return pairing.chains
    .flatMap((chain) => stretchesOf(chain, hurries))
    .filter((stretch) => stretch.length > MIN_REPEATS && isOneClient(stretch, pairing))
    .filter((stretch) => !stretch.some((call) => stormed.has(call)))
}

/** Equal calls are of one client when they say so, or come on one connection. */
function isOneClient(calls: readonly ClientCall[], { pairs }: Behaviour['pairing']): boolean {
  const declared = new Set(pairs.filter((pair) => pair.declared).map(({ again }) => again))
  const [first, ...more] = calls
  const connection = first?.mark.connection ?? null
  return more.every((call) => declared.has(call) || (connection !== null && call.mark.connection === connection))
}
