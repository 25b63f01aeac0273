// Monotonic time, for measuring durations.

/**
 * Milliseconds since an arbitrary instant; only differences are meaningful.
 * @example
 * const from = monotonicMs()
 * monotonicMs() >= from // => true
 */
export const monotonicMs = (): number => performance.now()
