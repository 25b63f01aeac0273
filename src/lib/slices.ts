// Long work that must be done here is cut up: between its slices other calls are answered.
import { nextTurn } from './bare-socket.ts'

const SLICE_MS = 10
/** In bytes or characters. */
const LARGE = 500_000

/** Does something with each item, and gives the event loop back between slices. */
export async function inSlices<Item>(items: Iterable<Item>, run: (item: Item) => void): Promise<void> {
  let until = performance.now() + SLICE_MS
  for (const item of items) {
    run(item)
    if (performance.now() < until) continue
    await nextTurn()
    until = performance.now() + SLICE_MS
  }
}

/** Whether a request is so large that each step over it is a slice of its own. */
export const isLarge = ({ length }: { length: number }): boolean => length > LARGE
