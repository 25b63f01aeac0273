// Randomness is a function of its purpose, never a stream: the order of parallel calls cannot change a result.

/**
 * A number in [0, 1) that depends only on the seed and the keys.
 * @example
 * chance(1, 'jitter', 2) === chance(1, 'jitter', 2) // => true
 * chance(1, 'jitter', 2) === chance(1, 'jitter', 3) // => false
 */
export function chance(seed: number, ...keys: (string | number)[]): number {
  return Number(Bun.hash(JSON.stringify(keys), BigInt(seed)) >> 11n) / 2 ** 53
}
