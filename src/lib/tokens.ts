// Byte-pair encoding with flat tables made by build/token-table.ts: nothing is parsed at start, and a table is read on
// first use. Texts are encoded only in the o200k vocabulary; tokens of the older one can be decoded.
// test/unit/tokens.test.ts compares both with the tokenizer package.
import { O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants'
import { byteCache } from './byte-cache.ts'
import { type PagedAsset, pagedAsset } from './paged-asset.ts'
import { firstPlaceOf, hashBytes, idIn, restOf, TABLE_SLOTS } from './token-hash.ts'

/** Number of tokens in each vocabulary: ids are below it. */
export const VOCABULARIES = { o200k: 199_998, cl100k: 100_256 } as const
/** Name of a token vocabulary. */
export type Vocabulary = keyof typeof VOCABULARIES

/** Each part is valid only where it was requested. */
interface Table {
  need: PagedAsset['need']
  /** End offset in `bytes` of every token, by rank. */
  ends: Uint32Array
  /** Open-addressing hash table of ranks (lib/token-hash.ts); 0 is an empty slot. */
  slots: Uint32Array
  bytes: Uint8Array
  /** Offset of the slots in the file; that of `ends` is 8. */
  slotsAt: number
  bytesAt: number
}

/** Offset of the ends in the file. */
const ENDS_AT = 8
const tables: Partial<Record<Vocabulary, Table>> = {}
const tableOf = (vocabulary: Vocabulary): Table => (tables[vocabulary] ??= load(vocabulary))

function load(vocabulary: Vocabulary): Table {
  const { bytes: file, need } = pagedAsset(`dist/${vocabulary}.bin`)
  const aligned = file.byteOffset % 4 === 0 ? file : file.slice()
  const { buffer, byteOffset: at } = aligned
  need(0, ENDS_AT)
  const [count = 0, slotCount = 0] = new Uint32Array(buffer, at, 2)
  const slotsAt = ENDS_AT + count * 4
  const bytesAt = slotsAt + slotCount * 4
  return {
    need,
    ends: new Uint32Array(buffer, at + ENDS_AT, count),
    slots: new Uint32Array(buffer, at + slotsAt, slotCount),
    bytes: aligned.subarray(bytesAt),
    slotsAt,
    bytesAt,
  }
}

/** The offset of a token's first byte. The bytes are then valid, as is the end. */
function startOf({ need, ends, bytesAt }: Table, id: number): number {
  need(ENDS_AT + Math.max(0, id - 1) * 4, ENDS_AT + (id + 1) * 4)
  const start = id === 0 ? 0 : (ends[id - 1] ?? 0)
  need(bytesAt + start, bytesAt + (ends[id] ?? 0))
  return start
}

/** Rank of the token whose bytes are `bytes[start, end)`, or -1. */
function rankOf(table: Table, bytes: Uint8Array, start: number, end: number): number {
  const { need, ends, slots, bytes: all, slotsAt } = table
  const hash = hashBytes(bytes, start, end)
  for (let slot = firstPlaceOf(hash); ; slot = (slot + 1) % TABLE_SLOTS) {
    need(slotsAt + slot * 4, slotsAt + slot * 4 + 4)
    const entry = slots[slot] ?? 0
    if (entry === 0) return -1
    if (restOf(entry) !== restOf(hash)) continue
    const rank = idIn(entry)
    const from = startOf(table, rank)
    if ((ends[rank] ?? 0) - from !== end - start) continue
    let same = 0
    while (same < end - start && all[from + same] === bytes[start + same]) same++
    if (same === end - start) return rank
  }
}

/**
 * Byte-pair merging of one piece: repeatedly joins the neighboring pair with the lowest rank until no pair is a token.
 */
function mergePiece(tokens: Table, bytes: Uint8Array): number[] {
  const whole = rankOf(tokens, bytes, 0, bytes.length)
  if (whole >= 0) return [whole]
  const starts = Array.from({ length: bytes.length + 1 }, (_, index) => index)
  const pairRank = (index: number) => {
    const end = starts[index + 2]
    if (end === undefined) return Number.POSITIVE_INFINITY
    const rank = rankOf(tokens, bytes, starts[index] ?? 0, end)
    return rank < 0 ? Number.POSITIVE_INFINITY : rank
  }
  const ranks = starts.map((_, index) => pairRank(index))
  for (;;) {
    let best = 0
    for (let index = 1; index < ranks.length; index++) if ((ranks[index] ?? 0) < (ranks[best] ?? 0)) best = index
    if (ranks[best] === Number.POSITIVE_INFINITY) break
    starts.splice(best + 1, 1)
    ranks.splice(best + 1, 1)
    ranks[best] = pairRank(best)
    if (best > 0) ranks[best - 1] = pairRank(best - 1)
  }
  return starts.slice(0, -1).map((start, index) => rankOf(tokens, bytes, start, starts[index + 1] ?? start))
}

const encoder = new TextEncoder()
/**
 * Token ids by piece, at most 16 MiB. Words repeat, and a piece of seven letters takes 4 us to merge, a lookup 0.1 us.
 */
const pieces = byteCache<number[]>(16 << 20)

/** The size of the cache of pieces. */
export const tokenChunkCacheSize = pieces.size
// A piece without a space or a letter can be very long (a base64 image in a text). Merged in slices, it costs linear
// time.
const MAX_PIECE_LENGTH = 256

/** Token ids of a text, in the o200k vocabulary. Special tokens in the text are plain text. */
export function encodeTokens(text: string): number[] {
  const tokens = tableOf('o200k')
  const ids: number[] = []
  for (const [piece] of text.matchAll(O200K_TOKEN_SPLIT_REGEX)) {
    let found = pieces.get(piece)
    if (!found) {
      const bytes = encoder.encode(piece)
      found = []
      for (let at = 0; at < bytes.length; at += MAX_PIECE_LENGTH) {
        for (const id of mergePiece(tokens, bytes.subarray(at, at + MAX_PIECE_LENGTH))) found.push(id)
      }
      if (piece.length <= MAX_PIECE_LENGTH) pieces.set(piece, found, found.length * 8)
    }
    for (const id of found) ids.push(id)
  }
  return ids
}

/** Number of tokens of a text. */
export const countTokens = (text: string): number => (text === '' ? 0 : encodeTokens(text).length)

// A byte order mark is an ordinary character of the text.
const textDecoder = () => new TextDecoder('utf-8', { ignoreBOM: true })

/** Bytes of one token. */
const bytesOf = (table: Table, id: number): Uint8Array => table.bytes.subarray(startOf(table, id), table.ends[id])

/** The text of token ids, each below the size of the vocabulary. Invalid UTF-8 becomes replacement characters. */
export function decodeTokens(ids: readonly number[], vocabulary: Vocabulary = 'o200k'): string {
  const table = tableOf(vocabulary)
  const { bytes: all, ends } = table
  let length = 0
  for (const id of ids) {
    const start = startOf(table, id)
    length += (ends[id] ?? 0) - start
  }
  const bytes = new Uint8Array(length)
  let at = 0
  // Most tokens have few bytes, which are copied faster one by one.
  for (const id of ids) {
    const end = ends[id] ?? 0
    for (let from = id === 0 ? 0 : (ends[id - 1] ?? 0); from < end; from++) bytes[at++] = all[from] ?? 0
  }
  return textDecoder().decode(bytes)
}

/**
 * The text cut at token boundaries, with the number of tokens of each piece: at least `each`. Tokens that share one
 * character stay together, so that every piece can be sent by itself.
 */
export function splitTokens(text: string, each = 1): { text: string; tokens: number }[] {
  const tokens = tableOf('o200k')
  const decoder = textDecoder()
  const split: { text: string; tokens: number }[] = []
  let begun = ''
  let waiting = 0
  for (const id of encodeTokens(text)) {
    const decoded = decoder.decode(bytesOf(tokens, id), { stream: true })
    begun += decoded
    waiting++
    if (decoded === '' || waiting < each) continue
    split.push({ text: begun, tokens: waiting })
    begun = ''
    waiting = 0
  }
  const last = split.at(-1)
  if (begun !== '') split.push({ text: begun, tokens: waiting })
  else if (waiting > 0 && last) last.tokens += waiting
  return split
}
