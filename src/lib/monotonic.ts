// Time that never jumps, for how long something really took.

/**
 * Milliseconds since some instant; only differences mean anything.
 * @example
 * const from = monotonicMs()
 * monotonicMs() >= from // => true
 */
export const monotonicMs = (): number => performance.now()
