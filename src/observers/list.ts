// The list of observers of calls and sessions, for verify, live lists and exports.
import type { CountedObservation, Observation, Observer, Observers } from '../contract/core/observation.ts'
import { lazy } from '../lib/lazy.ts'
import { monotonicMs } from '../lib/monotonic.ts'
import { once } from '../lib/once.ts'

const counting = lazy<typeof import('./call-counts.ts')>(() => require('./call-counts.ts'))
/** Maximum number of calls that wait to be counted: the counting code is not loaded at start. */
const FIRST_CALLS = 64

/** An empty list. A failing observer is reported, and affects neither the call nor the others. */
export function createObservers(report: (error: unknown) => void): Observers {
  // Replaced, never changed: adding or removing an observer during a notification affects no other.
  let observers: readonly Observer[] = []
  let first: CountedObservation[] | undefined = []
  const made = once(() => {
    const counts = counting().createCallCounts()
    for (const one of first ?? []) counts.add(one)
    first = undefined
    return counts
  })
  const count = (observation: CountedObservation) => {
    if (first && first.length < FIRST_CALLS) first.push(observation)
    else made().add(observation)
  }
  const ending = new AbortController()
  return {
    counts: made,
    ended: ending.signal,
    end: () => ending.abort(),
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
      if (observation.type === 'trace-saved' || observation.type === 'session-verified') count(observation)
      if (observers.length === 0) return
      // The observation was created for this call, so it is completed and not copied.
      const timed: Observation = Object.assign(observation, { at: monotonicMs() })
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
