// Splits long work on the main thread into slices, so that other calls are answered in between.
import { nextTurn } from './bare-socket.ts'

const SLICE_MS = 10
/** In bytes or characters. */
const LARGE = 500_000

/** A function that reports whether the slice that starts now is over. */
export function sliceEnd(): () => boolean {
  const until = performance.now() + SLICE_MS
  return () => performance.now() >= until
}

/**
 * Runs a function for each item, and yields to the event loop between slices.
 * @example
 * const seen: number[] = []
 * await inSlices([1, 2], (item) => seen.push(item))
 * seen // => [1, 2]
 */
export async function inSlices<Item>(items: Iterable<Item>, run: (item: Item) => void): Promise<void> {
  await firstInSlices(items, (item) => void run(item))
}

/**
 * Takes turns at work of some milliseconds: one per turn of the event loop, in the order of the requests, so that
 * hundreds at once do not delay other calls.
 */
export function oneByOne(): () => Promise<void> {
  let last = Promise.resolve()
  return () => (last = last.then(nextTurn))
}

/**
 * The first result for one of the items, computed in slices.
 * @throws the signal's reason if that aborts
 */
export async function firstInSlices<Item, Found>(
  items: Iterable<Item>,
  find: (item: Item) => Found | undefined,
  signal?: AbortSignal,
): Promise<Found | undefined> {
  let until = performance.now() + SLICE_MS
  for (const item of items) {
    const found = find(item)
    if (found !== undefined) return found
    if (performance.now() < until) continue
    await nextTurn()
    signal?.throwIfAborted()
    until = performance.now() + SLICE_MS
  }
  return undefined
}

/** Whether a request is so large that each step over it is a slice of its own. */
export const isLarge = ({ length }: { length: number }): boolean => length > LARGE
