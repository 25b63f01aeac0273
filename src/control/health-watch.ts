// Whether a balancer watches this process, which must see that it drains before new sessions are refused.

/** Milliseconds in which a watching balancer has asked at least once. */
const INTERVAL_MS = 10_000

/** What was asked: `readyz` is what balancers ask, `health` is also asked by people and scripts. */
export type HealthQuestion = 'health' | 'readyz'

/** Counts who asks how this process is. */
export interface HealthWatch {
  /** Notes a question. */
  asked(question: HealthQuestion): void
  /** How many questions there have been. */
  readonly count: number
  /**
   * Whether a balancer asks: one recent question for readiness, or two for health. A single one for health comes from a
   * script that waited for the start.
   */
  isWatched(): boolean
}

/** A watch without any question yet; `now` is the machine's clock, in ms. */
export function createHealthWatch(now: () => number): HealthWatch {
  // The last question for readiness, and the last two of either kind.
  let [ready, before, last] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]
  let count = 0
  return {
    get count() {
      return count
    },
    asked(question) {
      count++
      before = last
      last = now()
      if (question === 'readyz') ready = last
    },
    isWatched: () => now() - Math.max(ready, before) <= INTERVAL_MS,
  }
}
