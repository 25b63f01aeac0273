// Turns vocabularies of the tokenizer package into flat files that the program can use as they lie in memory: building the
// package's own maps takes about 300 ms and 70 MB at start, reading one file about 2 ms and 4 MB (layout: lib/tokens.ts).
import cl100k from 'gpt-tokenizer/bpeRanks/cl100k_base'
import o200k from 'gpt-tokenizer/bpeRanks/o200k_base'
import { entryOf, firstPlaceOf, hashBytes, TABLE_SLOTS } from '../lib/token-hash.ts'

/** Every table by the path of its file. Texts are only ever encoded with the first, so the second needs no slots. */
export const tokenTables = (): Record<string, Uint8Array> => ({
  'dist/o200k.bin': tokenTable(o200k, TABLE_SLOTS),
  'dist/cl100k.bin': tokenTable(cl100k, 0),
})

/** Token count, slot count, end offset of every token, hash slots (lib/token-hash.ts), then all token bytes. */
function tokenTable(ranks: typeof o200k, slots: number): Uint8Array {
  const encoder = new TextEncoder()
  const tokens = ranks.map((token) => (typeof token === 'string' ? encoder.encode(token) : new Uint8Array(token)))
  const total = tokens.reduce((sum, token) => sum + token.length, 0)
  const header = new Uint32Array(2 + tokens.length + slots)
  const bytes = new Uint8Array(total)
  header[0] = tokens.length
  header[1] = slots
  let end = 0
  for (const [rank, token] of tokens.entries()) {
    bytes.set(token, end)
    end += token.length
    header[2 + rank] = end
    if (slots === 0) continue
    const hash = hashBytes(token, 0, token.length)
    let slot = firstPlaceOf(hash)
    while (header[2 + tokens.length + slot]) slot = (slot + 1) % TABLE_SLOTS
    header[2 + tokens.length + slot] = entryOf(hash, rank)
  }
  return new Uint8Array(Buffer.concat([new Uint8Array(header.buffer), bytes]))
}
