// Detects whether a load balancer checks this process: it must see the shutdown before new sessions are rejected.

/** Milliseconds in which an active balancer sends at least one check. */
const INTERVAL_MS = 10_000

/** Counts health checks. */
export type HealthWatch = ReturnType<typeof createHealthWatch>

/** A watch without checks; `now` is the machine's clock, in ms. */
export function createHealthWatch(now: () => number) {
  // The last check of readiness, and the last two of either kind.
  let [ready, before, last] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]
  let count = 0
  return {
    /** Number of checks. */
    get count() {
      return count
    },
    /** Notes a check: `readyz` is for balancers, `health` also for people and scripts. */
    noteCheck(question: 'health' | 'readyz'): void {
      count++
      before = last
      last = now()
      if (question === 'readyz') ready = last
    },
    /**
     * Whether a balancer checks: one recent check of readiness, or two of health. A single one of health comes from a
     * script that waited for the start.
     */
    isWatched: (): boolean => now() - Math.max(ready, before) <= INTERVAL_MS,
  }
}
