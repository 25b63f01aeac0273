// The progress of long work: a bar on a terminal; for an exploration, an occasional line elsewhere.

import type { ExploreOptions } from '../../exploration/explore.ts'
import { isError } from '../../exploration/problems.ts'
import { realClock } from '../../lib/clock.ts'
import type { CommandIo } from '../io.ts'
import { lengthOf } from './overview.ts'

const BAR_AFTER_MS = 1_000
const EVERY_MS = 200
/** Columns of a bar. */
const WIDTH = 20

/** The progress of work. */
export interface Progress {
  done: number
  total: number
}

/** A bar that is filled in proportion to the progress. */
function progressBar({ done, total }: Progress): string {
  const filled = Math.round((WIDTH * done) / Math.max(1, total))
  return '#'.repeat(filled) + '.'.repeat(WIDTH - filled)
}

/** Waits for work, with a bar after a second; `look` returns the progress. */
export async function withBar<T>(
  { stderr }: Pick<CommandIo, 'stderr'>,
  work: Promise<T>,
  { label, look }: { label: string; look: () => Promise<Progress> },
): Promise<T> {
  if (!stderr.isTTY) return work
  const ended = new AbortController()
  const end = () => ended.abort()
  const finished = work.then(end, end)
  const wait = (ms: number) => Promise.race([finished, realClock.sleep(ms, ended.signal).catch(() => {})])
  await wait(BAR_AFTER_MS)
  if (ended.signal.aborted) return work
  for (let shown = 0; !ended.signal.aborted; await wait(EVERY_MS)) {
    // If the server has ended, the request for the work itself fails.
    const { done, total } = await look().catch(() => ({ done: 0, total: 0 }))
    shown = Math.max(shown, total > 0 ? Math.floor((100 * done) / total) : 0)
    stderr.overwrite(`${progressBar({ done: shown, total: 100 })} ${label}: ${shown} %`)
  }
  stderr.overwrite('')
  return work
}

type Step = Parameters<ExploreOptions['notify']>[0]
/** Minimum time between two lines of an exploration without a terminal, in ms. */
const LINE_EVERY_MS = 10_000

/** Shows each step on stderr; `end` removes the bar. */
export function exploreProgress({ stderr, log }: Pick<CommandIo, 'stderr' | 'log'>) {
  const began = realClock.now()
  const live = stderr.isTTY
  let last = began
  let bad = 0
  const lineOf = ({ done, total }: Step) => {
    const remaining = (total - done) * ((realClock.now() - began) / Math.max(1, done))
    const bar = live ? `${progressBar({ done, total })} ` : ''
    return `${bar}${done} of ${total} cases, ${bad} failed, about ${lengthOf(remaining)} left`
  }
  return {
    show(step: Step) {
      if (isError(step.tried.result)) bad++
      if (live) stderr.overwrite(lineOf(step))
      else if (realClock.now() - last >= LINE_EVERY_MS) {
        last = realClock.now()
        log.line('info', lineOf(step))
      }
    },
    end() {
      if (live) stderr.overwrite('')
    },
  }
}
