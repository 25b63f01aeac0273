// Counts and splits long texts in workers, part by part, before they are needed, so that other calls and jobs run in
// between. If the client disconnects, the rest is skipped.
import type { CountTokens } from '../contract/core/operation.ts'
import { inSlices } from '../lib/slices.ts'
import { splitByWords } from '../lib/token-parts.ts'
import { batchesOf, runBatches } from '../workers/batches.ts'
import type { SplitText } from '../workers/jobs.ts'
import { packTexts } from '../workers/packed-texts.ts'
import { inWorker } from './in-worker.ts'
import {
  cacheTokenChunks,
  hasCount,
  hasTokenChunks,
  isVeryLong,
  rememberCount,
  splitPlan,
  type TextChunk,
} from './text-answer.ts'

/** Texts of up to so many characters in total are processed on the main thread, which takes some milliseconds. */
const COUNTED_HERE = 50_000
/** Characters that a worker counts in some hundredths of a second. */
const PART = 200_000

/** Whether a value contains so much text that processing all of it takes long. */
export const isLong = (value: object): boolean => textLength(value) > COUNTED_HERE

/**
 * Counts in workers the texts that `run` counts, so that their counts are cached when it runs again with `countCached`.
 * @param run receives a counter that only collects the texts and always returns 0
 * @throws the reason of `signal` if that aborts first
 */
export async function precountTokens(run: (count: CountTokens) => void, signal: AbortSignal): Promise<void> {
  const collected = new Set<string>()
  run((text) => {
    collected.add(text)
    return 0
  })
  const texts = [...collected].filter((text) => !hasCount(text))
  const parts = texts.flatMap((text, owner) => splitByWords(text, PART).map((part) => ({ owner, part })))
  const batches = batchesOf(parts, { size: ({ part }) => part.length, most: PART })
  const sums = new Uint32Array(texts.length)
  await runBatches(batches, signal, async (batch) => {
    const numbers = await inWorker('countTokens', packTexts(batch.map(({ part }) => part)), { signal })
    for (const [index, { owner }] of batch.entries()) sums[owner] = (sums[owner] ?? 0) + (numbers[index] ?? 0)
  })
  await inSlices(texts.entries(), ([index, text]) => rememberCount(text, sums[index] ?? 0))
}

const isRead = (text: string): boolean => !text.startsWith('data:')

/** The total length of the texts in a value, without base64 data; stops when the limit is reached. */
function textLength(value: unknown): number {
  if (typeof value === 'string') return isRead(value) ? value.length : 0
  if (typeof value !== 'object' || value === null) return 0
  let total = 0
  if (Array.isArray(value)) {
    for (const inner of value) if ((total += textLength(inner)) > COUNTED_HERE) break
    return total
  }
  // Every call passes here, and listing the values takes long.
  for (const key in value) if ((total += textLength((value as Record<string, unknown>)[key])) > COUNTED_HERE) break
  return total
}

/**
 * Splits the long top-level texts of a script in advance, unless the caller disconnects; undefined if there is none.
 */
export function presplitText(script: object, asker: { readonly signal: AbortSignal }): Promise<void> | undefined {
  let long: string[] | undefined
  for (const name in script) {
    const text = (script as Record<string, unknown>)[name]
    if (typeof text !== 'string' || !isVeryLong(text) || hasTokenChunks(text)) continue
    long ??= []
    long.push(text)
  }
  return long && splitAll(long, asker.signal)
}

async function splitAll(texts: readonly string[], signal: AbortSignal): Promise<void> {
  await Promise.all(texts.map((text) => splitLong(text, signal)))
}

const NONE = new Uint32Array()

async function splitLong(text: string, signal: AbortSignal): Promise<void> {
  const { parts, each } = splitPlan(text)
  const split = await runBatches(parts, signal, (part) => inWorker('splitTokens', { text: part, each }, { signal }))
  const found: TextChunk[] = []
  await inSlices(parts.entries(), ([index, part]) => {
    for (const piece of chunksIn(part, split[index])) found.push(piece)
  })
  cacheTokenChunks(text, found)
}

function* chunksIn(text: string, { ends, tokens }: SplitText = { ends: NONE, tokens: NONE }): Generator<TextChunk> {
  let begin = 0
  for (let piece = 0; piece < ends.length; piece++) {
    const end = ends[piece] ?? begin
    yield { text: text.slice(begin, end), tokens: tokens[piece] ?? 0 }
    begin = end
  }
}
