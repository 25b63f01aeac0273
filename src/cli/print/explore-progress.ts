// How far an exploration has come: a bar where a person sees it, a line now and then elsewhere.
import type { ExploreOptions } from '../../exploration/explore.ts'
import { isGood } from '../../exploration/known-failures.ts'
import { realClock } from '../../lib/clock.ts'
import type { CommandIo } from '../io.ts'
import { lengthOf } from './overview.ts'
import { progressBar } from './progress.ts'

type Step = Parameters<ExploreOptions['notify']>[0]
/** Least time between two lines where nobody looks at a bar, in ms. */
const EVERY_MS = 10_000

/** Shows each step on stderr; `end` takes the bar away. */
export function exploreProgress({ stderr, log }: Pick<CommandIo, 'stderr' | 'log'>) {
  const began = realClock.now()
  const live = stderr.isTTY
  let last = began
  let bad = 0
  const lineOf = ({ done, total }: Step) => {
    const left = (total - done) * ((realClock.now() - began) / Math.max(1, done))
    const bar = live ? `${progressBar({ done, total })} ` : ''
    return `${bar}${done} of ${total} cases, ${bad} failed, about ${lengthOf(left)} left`
  }
  return {
    show(step: Step) {
      if (!isGood(step.tried.result)) bad++
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
