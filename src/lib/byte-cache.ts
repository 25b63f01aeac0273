// What is remembered to save work, bounded in bytes: the least recently used goes first.

/** Values by key, bounded in bytes. */
export interface ByteCache<Value> {
  get(key: string): Value | undefined
  /** `bytes` is about what the value takes; what is larger than half of the bound is not kept at all. */
  set(key: string, value: Value, bytes: number): void
  delete(key: string): void
  /** How much is kept now, and may be at most. */
  size(): CacheSize
}

/** How much a cache keeps, in bytes. */
export interface CacheSize {
  entries: number
  bytes: number
  limit: number
}

/** Caches taken together. */
export const addSizes = (sizes: readonly CacheSize[]): CacheSize =>
  sizes.reduce(
    (sum, { entries, bytes, limit }) => ({
      entries: sum.entries + entries,
      bytes: sum.bytes + bytes,
      limit: sum.limit + limit,
    }),
    { entries: 0, bytes: 0, limit: 0 },
  )

/** An entry beside its key and its value, about. */
const OVERHEAD = 100

/**
 * A cache of at most `limit` bytes. It has two halves: what is used moves to the young one, and when that is full, the old one
 * is dropped as a whole. So a look-up moves nothing about, and what goes has not been used for the longest time.
 * @example
 * const cache = byteCache(1000)
 * cache.set('a', 1, 10)
 * cache.get('a') // => 1
 * cache.get('b') // => undefined
 */
export function byteCache<Value>(limit: number): ByteCache<Value> {
  type Entries = Map<string, { value: Value; bytes: number }>
  let young: Entries = new Map()
  let old: Entries = new Map()
  let youngBytes = 0
  let oldBytes = 0

  const add = (key: string, entry: { value: Value; bytes: number }) => {
    if (youngBytes + entry.bytes > limit / 2) {
      old = young
      oldBytes = youngBytes
      young = new Map()
      youngBytes = 0
    }
    young.set(key, entry)
    youngBytes += entry.bytes
  }
  const remove = (key: string) => {
    youngBytes -= young.get(key)?.bytes ?? 0
    oldBytes -= old.get(key)?.bytes ?? 0
    young.delete(key)
    old.delete(key)
  }
  return {
    get(key) {
      const found = young.get(key)
      if (found) return found.value
      const earlier = old.get(key)
      if (!earlier) return undefined
      remove(key)
      add(key, earlier)
      return earlier.value
    },
    set(key, value, bytes) {
      remove(key)
      const total = bytes + key.length * 2 + OVERHEAD
      if (total <= limit / 2) add(key, { value, bytes: total })
    },
    delete: remove,
    size: () => ({ entries: young.size + old.size, bytes: youngBytes + oldBytes, limit }),
  }
}
