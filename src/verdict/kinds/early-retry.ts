// early-retry: the client called again before the wait was over that it had been told.

import { groupBy } from '../../lib/group-by.ts'
import { durationText } from '../../lib/units.ts'
import {
  type ClientCall,
  isBound,
  keptWait,
  natureOf,
  pauseBetween,
  runsOf,
  stepsOf,
  stretchesOf,
} from '../client-call.ts'
import type { Behaviour, FindingDefinition, FindingDraft } from './define.ts'

/** So many steps in a row are no chance, where nothing says that a call repeats the one before. */
const STEPS_IN_A_ROW = 4

/** Reports retries before the time that `Retry-After` gave (RFC 9110, 10.2.3). */
export const earlyRetry: FindingDefinition = {
  kind: 'early-retry',
  find: (behaviour) => [...pairedEarly(behaviour), ...backTooEarly(behaviour), ...rowsOf(behaviour)],
}

const pairedEarly = ({ pairing }: Behaviour): FindingDraft[] =>
  groupBy(pairing.early, ({ first }) => first.operation).map((pairs) =>
    draft(
      pairs.map(({ first, again }) => [first, again]),
      'error',
    ),
  )

/** Clients that turn to another API key or model, and say that they come back to the first one before its wait is over. */
function backTooEarly({ pairing }: Behaviour): FindingDraft[] {
  // Equal calls that say nothing may be of several clients, each of which meets the limit for itself.
  const declared = new Set(pairing.pairs.filter((pair) => pair.declared).map(({ again }) => again))
  const steps = pairing.chains.flatMap((chain) =>
    chain.flatMap((again, index): Step[] => {
      const last = chain[index - 1]
      if (!last || isBound(last, again)) return []
      const first = chain.slice(0, index - 1).findLast((one) => natureOf(one) === 'retryable' && isBound(one, again))
      return first && declared.has(again) && !keptWait(first, again) ? [[first, again]] : []
    }),
  )
  return groupBy(steps, ([first]) => first.operation).map((same) => draft(same, 'error'))
}

/** Loops that take no notice of any wait, where giving up is no fault and single calls may have nothing to do with each other. */
function rowsOf({ calls, pairing }: Behaviour): FindingDraft[] {
  const repeated = new Set(pairing.pairs.map(({ first }) => first))
  const ignores = (first: ClientCall, again: ClientCall) =>
    !repeated.has(first) && natureOf(first) === 'retryable' && !keptWait(first, again)
  return runsOf(calls)
    .flatMap((run) => stretchesOf(run, ignores))
    .filter(({ length }) => length > STEPS_IN_A_ROW)
    .map((row) => draft(stepsOf(row), 'warning'))
}

/** How early a call was retried; both times in ms. */
export const earlyText = ({ told, waited }: { told: number; waited: number }): string =>
  `retried after ${exactly(waited)}; Retry-After asked for ${exactly(told)}`

/** A duration that is not rounded, so that a wait that is slightly too short does not look long enough. */
const exactly = (ms: number): string => (ms % 100 === 0 ? durationText(ms) : `${ms} ms`)

type Step = readonly [first: ClientCall, again: ClientCall]
function draft(steps: readonly Step[], severity: 'error' | 'warning'): FindingDraft {
  const waits = steps.map(([first, again]) => ({
    told: first.wait ?? 0,
    waited: Math.max(0, Math.round(pauseBetween(first, again))),
  }))
  const worst = waits.reduce((one, other) => (other.told - other.waited > one.told - one.waited ? other : one), {
    told: 0,
    waited: 0,
  })
  const often = steps.length === 1 ? '' : `; ${steps.length} early retries`
  return {
    severity,
    message: `${earlyText(worst)}${often}`,
    calls: steps.flat(),
    count: steps.length,
    figures: { retry_after_ms: worst.told, called_again_after_ms: worst.waited },
  }
}
