// Chance that repeats: everything that a fuzz run does is a function of its seed.

/** A source of chance. */
export interface Chance {
  /** In [0, 1). */
  next(): number
  /** A whole number in [0, below). */
  below(limit: number): number
  /** True in one of so many cases. */
  oneIn(many: number): boolean
  pick<T>(items: readonly T[]): T
}

/** Chance from a seed (mulberry32). */
export function chanceOf(seed: number): Chance {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return {
    next,
    below,
    oneIn: (many) => below(many) === 0,
    pick: <T>(items: readonly T[]) => items[below(items.length)] as T,
  }
}
