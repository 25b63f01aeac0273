// Long work that must be done here is cut up: between its slices other calls are answered.
import { nextTurn } from './bare-socket.ts'

const SLICE_MS = 10
/** In bytes or characters. */
const LARGE = 500_000

/** Says whether the slice that begins now is over. */
export function sliceEnd(): () => boolean {
  const until = performance.now() + SLICE_MS
  return () => performance.now() >= until
}

/**
 * Does something with each item, and gives the event loop back between slices.
 * @example
 * const seen: number[] = []
 * await inSlices([1, 2], (item) => seen.push(item))
 * seen // => [1, 2]
 */
export async function inSlices<Item>(items: Iterable<Item>, run: (item: Item) => void): Promise<void> {
  let until = performance.now() + SLICE_MS
  for (const item of items) {
    run(item)
    if (performance.now() < until) continue
    await nextTurn()
    until = performance.now() + SLICE_MS
  }
}

/**
 * Turns at work that takes some milliseconds: one in each turn of the event loop, in the order in which they are asked for, so that
 * hundreds that come at once do not hold up what others ask for.
 */
export function oneByOne(): () => Promise<void> {
  let last = Promise.resolve()
  return () => (last = last.then(nextTurn))
}

/** What is found first for one of the items, looked for in slices; throws the signal's reason when that is aborted. */
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
