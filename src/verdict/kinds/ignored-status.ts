// ignored-status: a request was retried after a status that no retry can change, such as 400 or 401.
import { groupBy } from '../../lib/group-by.ts'
import { type ClientCall, hasNewKey, natureOf, pausesOf, stretchesOf } from '../client-call.ts'
import { isBackoff } from '../incomplete.ts'
import { type Behavior, type FindingDefinition, type FindingDraft, times } from './define.ts'

/** Minimum calls in a row that look like a loop with a timer. Fewer may be separate requests that are equal by chance. */
const MIN_LOOP_CALLS = 4
/** Minimum pause of a timer. */
const MIN_TIMER_MS = 100
/** Tolerances of a loop: with equal pauses, and with pauses that grow by a factor. */
const STEADY = { share: 0.1, ms: 30 }
const GROWING = { low: 1.5, high: 4, ratio: 1.35 }
/** How pauses grow that a backoff with jitter makes, and now and then a person who asks again. */
const JITTERED = { low: 1.25, high: 4 }

/** Reports retries after a status that no retry can change, such as 400 or 401. */
export const ignoredStatus: FindingDefinition = {
  kind: 'ignored-status',
  find: (behavior) => [
    ...groupBy(behavior.pairing.ignored, ({ first }) => `${first.operation} ${first.status}`).map((pairs) =>
      draft(
        pairs.map(({ first }) => first),
        pairs.map(({ again }) => again),
      ),
    ),
    ...loopsIn(behavior),
  ],
}

/** Undeclared retries that a timer makes, judging by their pauses. */
function loopsIn({ runs, pairing }: Behavior): FindingDraft[] {
  const reported = new Set(pairing.ignored.flatMap(({ first, again }) => [first, again]))
  return runs
    .flatMap((run) => stretchesOf(run, ignores))
    .filter((stretch) => stretch.length >= MIN_LOOP_CALLS && stretch.every((call) => !reported.has(call)))
    .flatMap((stretch) => {
      const rhythm = rhythmOf(pausesOf(stretch))
      return rhythm ? [draft(stretch.slice(0, -1), stretch.slice(1), rhythm)] : []
    })
}

const ignores = (first: ClientCall, again: ClientCall): boolean =>
  natureOf(first) === 'final' && first.status === again.status && !hasNewKey(first, again)

/** What pauses show: a timer if all are equal, or grow by a factor; maybe a backoff if each is longer than the one before. */
function rhythmOf(pauses: readonly number[]): 'timer' | 'backoff' | undefined {
  if (pauses.some((pause) => pause < MIN_TIMER_MS)) return undefined
  const [shortest, longest] = [Math.min(...pauses), Math.max(...pauses)]
  if (longest - shortest <= 2 * Math.max(STEADY.ms, STEADY.share * shortest)) return 'timer'
  const ratios = pauses.slice(1).map((pause, index) => pause / (pauses[index] ?? pause))
  const low = Math.min(...ratios)
  const high = Math.max(...ratios)
  if (low >= GROWING.low && high <= GROWING.high && high / low <= GROWING.ratio) return 'timer'
  return low >= JITTERED.low && high <= JITTERED.high && pauses.every(isBackoff) ? 'backoff' : undefined
}

/** Describes retries after a final error status. */
export const ignoredText = (status: number, retries: number): string =>
  `non-retryable error (status ${status}) was retried ${times(retries)}`

/** @param rhythm what shows that the calls belong together, if nothing else does */
function draft(
  firsts: readonly ClientCall[],
  again: readonly ClientCall[],
  rhythm?: 'timer' | 'backoff',
): FindingDraft {
  const status = firsts[0]?.status ?? 0
  const text = ignoredText(status, again.length)
  const messages = {
    timer: `${text}, judging by the timing of identical calls`,
    backoff: `${text.replace('was retried', 'may have been retried')}: the pauses between identical calls grow`,
  }
  return {
    severity: rhythm ? 'warning' : 'error',
    message: rhythm ? messages[rhythm] : text,
    calls: [...new Set([...firsts, ...again])],
    count: again.length,
    figures: { status, repeats: again.length },
  }
}
