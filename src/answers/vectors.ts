// The vectors of texts, by which chunks are found; those of long texts are computed in workers.

import { embed } from '../lib/embedding.ts'
import { batchesOf, runBatches } from '../workers/batches.ts'
import { packTexts } from '../workers/packed-texts.ts'
import type { JobOwner } from '../workers/pool.ts'
import { inWorker } from './in-worker.ts'

/** Dimensions of a vector. */
export const DIMENSIONS = 256
/** Characters whose vectors are computed on the main thread. */
const MADE_HERE = 20_000
/** Characters of texts whose vectors are computed at once. */
const BATCH = 40_000

/**
 * The vector of each text.
 * @throws the signal's reason if its owner disconnects
 */
export async function vectorsOf(texts: readonly string[], owner: JobOwner): Promise<Float32Array[]> {
  const length = texts.reduce((sum, text) => sum + text.length, 0)
  if (length <= MADE_HERE) return texts.map((text) => embed(text, DIMENSIONS))
  const batches = batchesOf([...texts], { size: ({ length }) => length, most: BATCH })
  const made = await runBatches(batches, owner.signal, async (some) => {
    const vectors = await inWorker('vectorsOf', { ...packTexts(some), dimensions: DIMENSIONS }, owner)
    return some.map((_, index) => vectors.subarray(index * DIMENSIONS, (index + 1) * DIMENSIONS))
  })
  return made.flat()
}
