// The hash function of the token table: the build writes the table with it, lib/tokens.ts reads it.

/** Slots of the open-addressing table: a power of two, about 40 % full. */
export const TABLE_SLOTS = 2 ** 19

/** FNV-1a of `bytes[start, end)`, folded to a slot number. */
export function hashBytes(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193)
  return (hash ^ (hash >>> 15)) & (TABLE_SLOTS - 1)
}
