// What a report shows of a run, after its calls have been judged.
import type { ObservedRun } from './types.ts'

/** A run as a report shows it. */
export interface ShownRun extends Pick<ObservedRun, 'code' | 'tookMs' | 'output'> {
  /** Its stored calls, in order of arrival. */
  calls: { id: string; session: string }[]
  /** Whether all of its calls are stored. */
  whole: boolean
}

/** A run without the facts of its calls, of which there may be very many. */
export const shownRun = ({ code, tookMs, output, calls, kept, dropped }: ObservedRun): ShownRun => ({
  ...{ code, tookMs, output },
  calls: calls.flatMap(({ trace: { id }, point: { session } }) => (kept.has(id) ? [{ id, session }] : [])),
  whole: dropped === 0 && kept.size >= calls.length,
})
