// early-retry: the client retried before the time that `Retry-After` gave.

import { groupBy } from '../../lib/group-by.ts'
import { durationText } from '../../lib/units.ts'
import { type ClientCall, honorsWait, isBound, natureOf, pauseBetween, stepsOf, stretchesOf } from '../client-call.ts'
import type { Behavior, FindingDefinition, FindingDraft } from './define.ts'

/** Minimum early calls in a row, if the calls do not declare that they are retries. */
const STEPS_IN_A_ROW = 4

/** Reports retries before the time that `Retry-After` gave (RFC 9110, 10.2.3). */
export const earlyRetry: FindingDefinition = {
  kind: 'early-retry',
  find: (behavior) => [...pairedEarly(behavior), ...backTooEarly(behavior), ...loopsIn(behavior)],
}

const pairedEarly = ({ pairing }: Behavior): FindingDraft[] =>
  groupBy(pairing.early, ({ first }) => first.operation).map((pairs) =>
    draft(
      pairs.map(({ first, again }) => [first, again]),
      'error',
    ),
  )

/** Declared retries that return to the first API key or model before its wait is over. */
function backTooEarly({ pairing }: Behavior): FindingDraft[] {
  const steps = pairing.chains.flatMap((chain) =>
    chain.flatMap((again, index): Step[] => {
      const last = chain[index - 1]
      if (!last || isBound(last, again)) return []
      const first = chain.slice(0, index - 1).findLast((one) => natureOf(one) === 'retryable' && isBound(one, again))
      // Undeclared equal calls may come from several clients, each with its own limit.
      return first && pairing.declared.has(again) && !honorsWait(first, again) ? [[first, again]] : []
    }),
  )
  return groupBy(steps, ([first]) => first.operation).map((same) => draft(same, 'error'))
}

/** Loops that ignore all waits. Single early calls may be separate requests here. */
function loopsIn({ runs, pairing }: Behavior): FindingDraft[] {
  const repeated = new Set(pairing.pairs.map(({ first }) => first))
  const ignores = (first: ClientCall, again: ClientCall) =>
    !repeated.has(first) && natureOf(first) === 'retryable' && !honorsWait(first, again)
  return runs
    .flatMap((run) => stretchesOf(run, ignores))
    .filter(({ length }) => length > STEPS_IN_A_ROW)
    .map((loop) => draft(stepsOf(loop), 'warning'))
}

/** How early a call was retried; both times in ms. */
export const earlyText = ({ requested, waited }: { requested: number; waited: number }): string =>
  `retried after ${exactly(waited)}; Retry-After asked for ${exactly(requested)}`

/** A duration without rounding, so that a slightly short wait does not look long enough. */
const exactly = (ms: number): string => (ms % 100 === 0 ? durationText(ms) : `${ms} ms`)

type Step = readonly [first: ClientCall, again: ClientCall]
function draft(steps: readonly Step[], severity: 'error' | 'warning'): FindingDraft {
  const waits = steps.map(([first, again]) => ({
    requested: first.wait ?? 0,
    waited: Math.max(0, Math.round(pauseBetween(first, again))),
  }))
  const shortfall = ({ requested, waited }: (typeof waits)[number]) => requested - waited
  const [worst = { requested: 0, waited: 0 }] = waits.toSorted((one, other) => shortfall(other) - shortfall(one))
  const often = steps.length === 1 ? '' : `; ${steps.length} early retries`
  return {
    severity,
    message: `${earlyText(worst)}${often}`,
    calls: steps.flat(),
    count: steps.length,
    figures: { retry_after_ms: worst.requested, called_again_after_ms: worst.waited },
  }
}
