// Vectors of many or long texts, made in workers batch by batch: other calls and other jobs come in between.
import type { EncodedVectors, VectorEncoding } from '../lib/embedding.ts'
import { runJob } from '../lib/worker/pool.ts'

/** A vector as an answer has it, and as JSON. */
export interface VectorItem {
  embedding: number[] | string
  json: string
}

/** Characters of texts whose vectors take a few hundredths of a second. */
const BATCH = 20_000
/** What a vector takes however short its text is, in characters. */
const EACH = 100
/** Batches that are in work at the same time: one more job finds its turn after one of them. */
const LANES = 2

/** Whether the vectors of these texts take so long that they are made apart. */
export const isLongWork = (texts: readonly string[]): boolean =>
  texts.reduce((sum, text) => sum + text.length + EACH, 0) > BATCH

/** The vector of each text, in their order. */
export async function embedApart(
  texts: readonly string[],
  how: { dimensions: number; encoding: VectorEncoding },
): Promise<VectorItem[]> {
  const waiting = batchesOf(texts).entries()
  const done: VectorItem[][] = []
  const lane = async () => {
    for (const [place, batch] of waiting) done[place] = itemsOf(await runJob('embedTexts', { texts: batch, ...how }))
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  return done.flat()
}

function batchesOf(texts: readonly string[]): string[][] {
  const batches: string[][] = []
  let size = Number.POSITIVE_INFINITY
  for (const text of texts) {
    size += text.length + EACH
    if (size > BATCH) {
      batches.push([])
      size = text.length + EACH
    }
    batches.at(-1)?.push(text)
  }
  return batches
}

/** The numbers come in one array, which is copied between the threads faster than many. */
function itemsOf({ json, numbers }: EncodedVectors): VectorItem[] {
  const length = numbers.length / json.length
  return json.map((text, index) => ({
    json: text,
    embedding: length > 0 ? Array.from(numbers.subarray(index * length, (index + 1) * length)) : JSON.parse(text),
  }))
}
