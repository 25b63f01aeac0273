// The list of those who observe calls and sessions: the seam on which verify, live lists and exports hang.
import type { Observer, Observers } from '../contract/observation.ts'
import { monotonicMs } from '../lib/monotonic.ts'

/** A list with nobody on it; an observer that fails is reported, and harms neither the call nor the others. */
export function createObservers(report: (error: unknown) => void): Observers {
  // Replaced, never changed: who joins or leaves while others are notified disturbs nobody.
  let observers: readonly Observer[] = []
  return {
    get active() {
      return observers.length > 0
    },
    add(observer) {
      const entry: Observer = (observation, call) => observer(observation, call)
      observers = [...observers, entry]
      return () => {
        observers = observers.filter((one) => one !== entry)
      }
    },
    notify(observation, call) {
      if (observers.length === 0) return
      const timed = { ...observation, at: monotonicMs() }
      for (const observer of observers) {
        try {
          observer(timed, call)
        } catch (error) {
          report(error)
        }
      }
    },
  }
}
