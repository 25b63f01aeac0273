// When a run counts as hung, derived from the baseline.
import type { Baseline } from './baseline.ts'

/** The limits of a run. */
export type RunLimits = ReturnType<typeof limitsOf>

/**
 * A run hangs after five times the longest pause of the baseline, but not before 6 s: `httpx` gives up after 5 s without
 * declaring it.
 */
const PAUSES = 5
const MIN_SILENCE_MS = 6_000
/** The longest timeout that is waited for, in ms. */
export const MAX_TIMEOUT_MS = 120_000
/** How often a request may be repeated beyond the baseline: no backoff that grows comes that far. */
const MAX_REPEATS = 30

/** The limits of all runs with a fault; `silenceMs` replaces the derived one. */
export function limitsOf(
  { longestPauseMs, tookMs, requests }: Pick<Baseline, 'longestPauseMs' | 'tookMs' | 'requests'>,
  { silenceMs, timeoutMs = MAX_TIMEOUT_MS }: { silenceMs?: number | undefined; timeoutMs?: number | undefined },
) {
  let most = 0
  for (const { made } of requests.values()) most = Math.max(most, made)
  return {
    /** Milliseconds without any activity of the client, beside what it was asked to wait and the timeouts it declares. */
    silenceMs: silenceMs ?? Math.max(MIN_SILENCE_MS, PAUSES * longestPauseMs),
    /** Milliseconds of the longest declared timeout that is waited for. */
    timeoutMs,
    /** Milliseconds of the whole run. */
    totalMs: PAUSES * tookMs + timeoutMs,
    /** How often it may make one request. */
    repeats: MAX_REPEATS + most,
  }
}
