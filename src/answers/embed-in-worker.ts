// Vectors of many or long texts, computed in workers in batches, so that other calls and jobs run in between.
import type { EncodedVectors, VectorEncoding } from '../lib/embedding.ts'
import { batchesOf, runBatches } from '../workers/batches.ts'
import { packTexts } from '../workers/packed-texts.ts'
import { inWorker } from './in-worker.ts'

/** A vector in the encoding of a response, and as JSON. */
export interface VectorItem {
  embedding: number[] | string
  json: string
}

/** Characters of texts whose vectors take a few hundredths of a second. */
const BATCH = 20_000
/** The fixed cost of a vector, in characters. */
const EACH = 100
const sizeOf = ({ length }: string) => length + EACH

/** Whether the vectors of these texts take so long that they are computed in a worker. */
export const isLongWork = (texts: readonly string[]): boolean =>
  texts.reduce((sum, text) => sum + sizeOf(text), 0) > BATCH

/**
 * The vector of each text, in order.
 * @throws the signal's reason if it aborts; the rest is then skipped
 */
export async function embedInWorker(
  texts: readonly string[],
  { signal, ...how }: { dimensions: number; encoding: VectorEncoding; signal: AbortSignal },
): Promise<VectorItem[]> {
  const batches = batchesOf(texts, { size: sizeOf, most: BATCH })
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
