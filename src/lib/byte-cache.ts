// Caches that are limited in bytes and drop the least recently used entries first.

/** The size of a cache, in bytes. */
export interface CacheSize {
  entries: number
  bytes: number
  limit: number
}

/** The sum of the sizes of several caches. */
export const addSizes = (sizes: readonly CacheSize[]): CacheSize =>
  sizes.reduce(
    (sum, { entries, bytes, limit }) => ({
      entries: sum.entries + entries,
      bytes: sum.bytes + bytes,
      limit: sum.limit + limit,
    }),
    { entries: 0, bytes: 0, limit: 0 },
  )

/** Approximate size of an entry without its key and value. */
const OVERHEAD = 100

/**
 * A cache of at most `limit` bytes. It has two halves: used entries move to the young one, and when that is full, the
 * old one is dropped as a whole. So a lookup is cheap, and the dropped entries are those that were not used for the
 * longest time.
 * @example
 * const cache = byteCache(1000)
 * cache.set('a', 1, 10)
 * cache.get('a') // => 1
 * cache.get('b') // => undefined
 */
export function byteCache<Value>(limit: number) {
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
    get(key: string): Value | undefined {
      const found = young.get(key)
      if (found) return found.value
      const earlier = old.get(key)
      if (!earlier) return undefined
      remove(key)
      add(key, earlier)
      return earlier.value
    },
    /** `bytes` is the approximate size of the value. An entry larger than half of the limit is not stored. */
    set(key: string, value: Value, bytes: number): void {
      remove(key)
      const total = bytes + key.length * 2 + OVERHEAD
      if (total <= limit / 2) add(key, { value, bytes: total })
    },
    delete: remove,
    /** Current size and limit. */
    size: (): CacheSize => ({ entries: young.size + old.size, bytes: youngBytes + oldBytes, limit }),
  }
}

/** Values by key, limited in bytes. */
export type ByteCache<Value> = ReturnType<typeof byteCache<Value>>
