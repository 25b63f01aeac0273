// Calls that a client made one after the other and for the same: what a loop looks like from outside.
import { groupBy } from '../lib/group-by.ts'
import { type ClientCall, isAfter, pauseBetween } from './client-call.ts'

/**
 * Runs of calls for the same, each after the answer of the one before. Calls on one connection are in such an order for
 * certain; those on connections of their own, or none, only as long as no two of them overlap.
 */
export const runsOf = (calls: readonly ClientCall[]): ClientCall[][] =>
  groupBy(calls, ({ operation, request }) => `${operation} ${request}`)
    .filter(({ length }) => length > 1)
    .flatMap(lanesOf)
    .flatMap((lane) => stretchesOf(lane, (first, again) => isAfter(again, first)))
    .filter(({ length }) => length > 1)

function lanesOf(calls: readonly ClientCall[]): ClientCall[][] {
  const uses = new Map<string, number>()
  for (const { mark } of calls) {
    if (mark.connection !== null) uses.set(mark.connection, (uses.get(mark.connection) ?? 0) + 1)
  }
  return groupBy(calls, ({ mark: { connection } }) =>
    connection !== null && (uses.get(connection) ?? 0) > 1 ? connection : '',
  )
}

/** Parts of a run between calls whose step to the next does not pass the test. */
export function stretchesOf(
  run: readonly ClientCall[],
  passes: (first: ClientCall, again: ClientCall) => boolean,
): ClientCall[][] {
  const stretches: ClientCall[][] = []
  let stretch: ClientCall[] = []
  for (const call of run) {
    const last = stretch.at(-1)
    if (last && passes(last, call)) stretch.push(call)
    else {
      stretch = [call]
      stretches.push(stretch)
    }
  }
  return stretches
}

/** The middle one of some numbers, 0 of none. */
export const medianOf = (numbers: readonly number[]): number =>
  numbers.toSorted((one, other) => one - other)[numbers.length >> 1] ?? 0

/** The steps of a chain or a run: each call with the next. */
export const stepsOf = (calls: readonly ClientCall[]): [first: ClientCall, again: ClientCall][] =>
  calls.slice(1).flatMap((again, index) => {
    const first = calls[index]
    return first ? [[first, again]] : []
  })

/** The pauses between the calls of a chain or a run. */
export const pausesOf = (calls: readonly ClientCall[]): number[] =>
  stepsOf(calls).map(([first, again]) => Math.max(0, pauseBetween(first, again)))
