// The hash function of the token table: the build writes the table with it, lib/tokens.ts reads it.

/** Bits of a slot's number, and of a token's id. */
const ID_BITS = 18
/** Slots of the open-addressing table: a power of two, about 76 % full. */
export const TABLE_SLOTS = 2 ** ID_BITS

/** FNV-1a of `bytes[start, end)`, folded. */
export function hashBytes(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193)
  return (hash ^ (hash >>> 15)) >>> 0
}

/** The slot of a hash, where the search for it begins. */
export const firstPlaceOf = (hash: number): number => hash & (TABLE_SLOTS - 1)

/** The bits of a hash that its slot does not tell; a slot contains them so that other tokens are passed without a look at their bytes. */
export const restOf = (hash: number): number => hash >>> ID_BITS

/** The entry of a token in its slot. It is never 0, which an empty slot contains. */
export const entryOf = (hash: number, id: number): number => ((restOf(hash) << ID_BITS) | (id + 1)) >>> 0

/** The id of the token of an entry. */
export const idIn = (entry: number): number => (entry & (TABLE_SLOTS - 1)) - 1
