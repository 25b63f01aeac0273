// Long work for workers, split into batches: other jobs get their turn after each, and abandoned work stops.

/** Batches that run at the same time: another job gets its turn after one of them. */
const LANES = 2

/** Items in batches of about the same size. */
export function batchesOf<Item>(
  items: readonly Item[],
  { size: sizeOf, most }: { size(item: Item): number; most: number },
): Item[][] {
  const batches: Item[][] = []
  let remaining = 0
  for (const item of items) {
    const size = sizeOf(item)
    if (batches.length === 0 || remaining < size) {
      batches.push([])
      remaining = most
    }
    batches.at(-1)?.push(item)
    remaining -= size
  }
  return batches
}

/**
 * The results of all batches, in order.
 * @throws the signal's reason if it aborts, without starting a further one
 */
export async function runBatches<Batch, Done>(
  batches: readonly Batch[],
  signal: AbortSignal,
  run: (batch: Batch) => Promise<Done>,
): Promise<Done[]> {
  const waiting = batches.entries()
  const done: Done[] = []
  let failed = false
  const lane = async () => {
    for (const [index, batch] of waiting) {
      if (failed) return
      signal.throwIfAborted()
      try {
        done[index] = await run(batch)
      } catch (error) {
        failed = true
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  return done
}
