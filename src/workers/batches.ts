// Long work for workers, cut into batches: other jobs find their turn after each, and nobody does what nobody waits for.

/** Batches that are in work at the same time: one more job finds its turn after one of them. */
const LANES = 2

/** Items in batches of about the same size. */
export function batchesOf<Item>(
  items: readonly Item[],
  { size: sizeOf, most }: { size(item: Item): number; most: number },
): Item[][] {
  const batches: Item[][] = []
  let left = 0
  for (const item of items) {
    const size = sizeOf(item)
    if (batches.length === 0 || left < size) {
      batches.push([])
      left = most
    }
    batches.at(-1)?.push(item)
    left -= size
  }
  return batches
}

/**
 * What comes of each batch, in their order.
 * @throws the signal's reason when it is aborted, without beginning a further one
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
