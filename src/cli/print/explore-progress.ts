// The progress of an exploration: a bar on a terminal, an occasional line elsewhere.
import type { ExploreOptions } from '../../exploration/explore.ts'
import { isError } from '../../exploration/severity.ts'
import { realClock } from '../../lib/clock.ts'
import type { CommandIo } from '../io.ts'
import { lengthOf } from './overview.ts'
import { progressBar } from './progress.ts'

type Step = Parameters<ExploreOptions['notify']>[0]
/** Minimum time between two lines without a terminal, in ms. */
const EVERY_MS = 10_000

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
      else if (realClock.now() - last >= EVERY_MS) {
        last = realClock.now()
        log.line('info', lineOf(step))
      }
    },
    end() {
      if (live) stderr.overwrite('')
    },
  }
}
