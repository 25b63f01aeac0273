// Turns the tokenizer package's vocabulary into one flat file that the program can use as it lies in memory: building the
// package's own maps takes about 300 ms and 70 MB at start, reading this file about 2 ms and 4 MB (layout: lib/tokens.ts).
import ranks from 'gpt-tokenizer/bpeRanks/o200k_base'
import { hashBytes, TABLE_SLOTS } from '../lib/token-hash.ts'

/** Bytes of `o200k.bin`: token count, byte total, end offset of every token, hash slots (rank + 1), then all token bytes. */
export function tokenTable(): Uint8Array {
  const encoder = new TextEncoder()
  const tokens = ranks.map((token) => (typeof token === 'string' ? encoder.encode(token) : new Uint8Array(token)))
  const total = tokens.reduce((sum, token) => sum + token.length, 0)
  const header = new Uint32Array(2 + tokens.length + TABLE_SLOTS)
  const bytes = new Uint8Array(total)
  header[0] = tokens.length
  header[1] = total
  let end = 0
  for (const [rank, token] of tokens.entries()) {
    bytes.set(token, end)
    end += token.length
    header[2 + rank] = end
    let slot = hashBytes(token, 0, token.length)
    while (header[2 + tokens.length + slot]) slot = (slot + 1) % TABLE_SLOTS
    header[2 + tokens.length + slot] = rank + 1
  }
  return new Uint8Array(Buffer.concat([new Uint8Array(header.buffer), bytes]))
}
