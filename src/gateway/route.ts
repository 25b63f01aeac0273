// Takes a call to an answer: the targets of the plan in order, each with its retries.

import { chance } from '../lib/chance.ts'
import { attempt } from './attempt.ts'
import { failureOf } from './outcome.ts'
import type { Target } from './plan.ts'
import type { Outcome } from './recording.ts'
import { fallsBack, retries, retryDelay } from './retry.ts'
import type { CallContext } from './types.ts'

/** The first answer, else the last failure. At most (1 + retry count) x (1 + fallbacks) attempts are made. */
export async function route(callContext: CallContext, targets: readonly Target[]): Promise<Outcome> {
  let outcome: Outcome | undefined
  for (const target of targets) {
    outcome = await tryTarget(callContext, target)
    if (outcome.kind === 'answered' || !fallsBack(outcome)) break
  }
  if (!outcome) throw new Error('a plan has at least one target')
  return outcome
}

async function tryTarget(callContext: CallContext, target: Target): Promise<Outcome> {
  const { session, settings, recording } = callContext
  const { retry } = settings
  let waited = 0
  for (let number = 1; ; number++) {
    const why = number > 1 ? 'retry' : target.position > 0 ? 'fallback' : 'first'
    const outcome = await attempt(callContext, { target, number, why, waited })
    if (outcome.kind === 'answered' || !retry || number > retry.count || !retries(outcome, retry)) return outcome
    const luck = chance(session.seed, session.name, 'retry', recording.seq, target.position, number)
    waited = retryDelay(number, outcome.headers, { now: session.clock.now(), luck })
    try {
      await session.clock.sleep(waited, callContext.signal)
    } catch (error) {
      return failureOf(error, callContext.signal)
    }
  }
}
