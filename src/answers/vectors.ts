// Vectors of texts; those of many or long texts are computed in workers in batches, so that other calls and jobs run in
// between.
import { type EncodedVectors, embed, type VectorEncoding } from '../lib/embedding.ts'
import { batchesOf, runBatches } from '../workers/batches.ts'
import { packTexts } from '../workers/packed-texts.ts'
import type { JobOwner } from '../workers/pool.ts'
import { inWorker } from './in-worker.ts'

/** Dimensions of the vectors by which chunks are found. */
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

/** A vector in the encoding of a response, and as JSON. */
export interface VectorItem {
  embedding: number[] | string
  json: string
}

/** Characters of texts whose vectors take a few hundredths of a second. */
const EMBEDDED = 20_000
/** The fixed cost of a vector, in characters. */
const EACH = 100
const sizeOf = ({ length }: string) => length + EACH

/** Whether the vectors of these texts take so long that they are computed in a worker. */
export const isLongWork = (texts: readonly string[]): boolean =>
  texts.reduce((sum, text) => sum + sizeOf(text), 0) > EMBEDDED

/**
 * The vector of each text, in order.
 * @throws the signal's reason if it aborts; the rest is then skipped
 */
export async function embedInWorker(
  texts: readonly string[],
  { signal, ...how }: { dimensions: number; encoding: VectorEncoding; signal: AbortSignal },
): Promise<VectorItem[]> {
  const batches = batchesOf(texts, { size: sizeOf, most: EMBEDDED })
  const embedded = async (batch: readonly string[]) =>
    itemsOf(await inWorker('embedTexts', { ...packTexts(batch), ...how }, { signal }))
  return (await runBatches(batches, signal, embedded)).flat()
}

/** The numbers come in one array, which is copied between the threads faster than many. */
function itemsOf({ json, numbers }: EncodedVectors): VectorItem[] {
  const length = numbers.length / json.length
  return json.map((text, index) => ({
    json: text,
    embedding: length > 0 ? Array.from(numbers.subarray(index * length, (index + 1) * length)) : JSON.parse(text),
  }))
}
