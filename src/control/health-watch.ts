// Whether somebody asks again and again how this process is, as a balancer does that must be told before the process ends.

/** Two questions within so long are of somebody who goes on asking, in ms. */
const INTERVAL_MS = 10_000

/** Knows who asks for health. */
export interface HealthWatch {
  /** Somebody has asked. */
  asked(): void
  /** How often somebody has asked. */
  readonly count: number
  /** Whether somebody asks again and again: one question alone is of somebody who has waited for the start. */
  isWatched(): boolean
}

/** Knows of no question yet; `now` is the machine's clock, in ms. */
export function createHealthWatch(now: () => number): HealthWatch {
  let [before, last] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]
  let count = 0
  return {
    get count() {
      return count
    },
    asked() {
      count++
      before = last
      last = now()
    },
    isWatched: () => now() - before <= INTERVAL_MS,
  }
}
