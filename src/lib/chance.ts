// Chance is a function of what it is for, never a stream: the order of parallel calls cannot change anybody's luck.

/**
 * A number in [0, 1) that depends on the seed and the keys alone.
 * @example
 * chance(1, 'jitter', 2) === chance(1, 'jitter', 2) // => true
 * chance(1, 'jitter', 2) === chance(1, 'jitter', 3) // => false
 */
export function chance(seed: number, ...keys: (string | number)[]): number {
  return Number(Bun.hash(JSON.stringify(keys), BigInt(seed)) >> 11n) / 2 ** 53
}
