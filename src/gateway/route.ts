// Tries the targets of the plan in order, each with its retries.
import { chance } from '../lib/chance.ts'
import { attempt } from './attempt.ts'
import { errorOf, type Failure, failureOf } from './outcome.ts'
import type { Target } from './plan.ts'
import type { AttemptAnswer } from './record/recording.ts'
import { fallsBack, retries, retryDelay } from './retry.ts'
import type { CallContext } from './types.ts'

/**
 * The first successful attempt, of at most (1 + retry count) x (1 + fallbacks).
 * @throws ApiError for the last failure, which is also recorded.
 */
export async function route(callContext: CallContext, targets: readonly Target[]): Promise<AttemptAnswer> {
  let failure: Failure | undefined
  for (const target of targets) {
    const { retry = callContext.settings.retry } = target
    let waited = 0
    for (let number = 1; ; number++) {
      const why = number > 1 ? 'retry' : target.position > 0 ? 'fallback' : 'first'
      const outcome = await attempt(callContext, { target, number, why, waited })
      if (outcome.kind === 'succeeded') return outcome
      failure = outcome
      if (!retry || number > retry.count || !retries(failure, retry)) break
      const delay = delayAfter(failure, callContext, { target, number })
      const cutShort = await sleep(delay, callContext)
      waited = delay
      if (!cutShort) continue
      failure = cutShort
      break
    }
    if (!failure || !fallsBack(failure)) break
  }
  if (!failure) throw new Error('a plan has at least one target')
  callContext.recording.failure = failure
  throw errorOf(failure)
}

/** Milliseconds from a failure to the next attempt at its target. */
function delayAfter(
  { headers }: Failure,
  { session, recording }: CallContext,
  { target, number }: { target: Target; number: number },
): number {
  const random = chance(session.seed, session.name, 'retry', recording.seq, target.position, number)
  return retryDelay(number, headers, { now: session.clock.now(), random })
}

/** Waits on the clock of the session; returns the failure that interrupted the wait, if any. */
async function sleep(ms: number, { session, call }: CallContext): Promise<Failure | undefined> {
  try {
    await session.clock.sleep(ms, call.signal)
    return undefined
  } catch (error) {
    return failureOf(error, call.signal)
  }
}
