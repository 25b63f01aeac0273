// ignored-status: a request was repeated after an answer that says it will never work, such as 400 or 401.
import { groupBy } from '../../lib/group-by.ts'
import { type ClientCall, hasNewKey, natureOf, pausesOf, runsOf, stretchesOf } from '../client-call.ts'
import { type Behaviour, type FindingDefinition, type FindingDraft, times } from './define.ts'

/** Calls in a row that look like a loop with a timer; fewer may be different requests that are equal by chance. */
const LOOP_CALLS = 4
/** Shorter pauses are no timer's. */
const TIMER_MS = 100
/** How alike the steps of a loop are: each pause is so many times the one before. */
const STEADY = { share: 0.1, ms: 30 }
const GROWING = { low: 1.5, high: 4, alike: 1.35 }

/** Reports retries after a status that no retry can change, such as 400 or 401. */
export const ignoredStatus: FindingDefinition = {
  kind: 'ignored-status',
  find: (behaviour) => [
    ...groupBy(behaviour.pairing.ignored, ({ first }) => `${first.operation} ${first.status}`).map((pairs) =>
      draft(
        pairs.map(({ first }) => first),
        pairs.map(({ again }) => again),
        'error',
      ),
    ),
    ...loopsIn(behaviour),
  ],
}

/** Nothing says that these calls repeat each other, but a timer stands behind them. */
function loopsIn({ calls, pairing }: Behaviour): FindingDraft[] {
  const known = new Set(pairing.ignored.flatMap(({ first, again }) => [first, again]))
  return runsOf(calls)
    .flatMap((run) => stretchesOf(run, ignores))
    .filter((stretch) => stretch.length >= LOOP_CALLS && stretch.every((call) => !known.has(call)))
    .filter((stretch) => isTimed(pausesOf(stretch)))
    .map((stretch) => draft(stretch.slice(0, -1), stretch.slice(1), 'warning'))
}

const ignores = (first: ClientCall, again: ClientCall): boolean =>
  natureOf(first) === 'final' && first.status === again.status && !hasNewKey(first, again)

/** Whether pauses are those of a timer: all alike, or each a multiple of the one before. */
function isTimed(pauses: readonly number[]): boolean {
  if (pauses.some((pause) => pause < TIMER_MS)) return false
  const [shortest, longest] = [Math.min(...pauses), Math.max(...pauses)]
  if (longest - shortest <= 2 * Math.max(STEADY.ms, STEADY.share * shortest)) return true
  const ratios = pauses.slice(1).map((pause, index) => pause / (pauses[index] ?? pause))
  const low = Math.min(...ratios)
  const high = Math.max(...ratios)
  return low >= GROWING.low && high <= GROWING.high && high / low <= GROWING.alike
}

/** How often a request was retried in vain. */
export const ignoredText = (status: number, retries: number): string =>
  `non-retryable error (status ${status}) was retried ${times(retries)}`

function draft(
  firsts: readonly ClientCall[],
  again: readonly ClientCall[],
  severity: 'error' | 'warning',
): FindingDraft {
  const status = firsts[0]?.status ?? 0
  return {
    severity,
    message: `${severity === 'error' ? ignoredText(status, again.length) : `${ignoredText(status, again.length)}, judging by the timing of identical calls`}`,
    calls: [...new Set([...firsts, ...again])],
    count: again.length,
    figures: { status, repeats: again.length },
  }
}
