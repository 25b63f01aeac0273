// A bound on how long somebody outside is waited for, in real time.
import { MAX_TIMER_MS } from './clock.ts'

/** Somebody who is waited for. */
class Wait {
  /** When that is over, in ms of `performance.now()`. */
  readonly due: number
  readonly #late: () => Error
  readonly #reject: (error: Error) => void

  constructor(ms: number, late: () => Error, reject: (error: Error) => void) {
    this.due = performance.now() + ms
    this.#late = late
    this.#reject = reject
  }

  end(): void {
    this.#reject(this.#late())
  }
}

/** Nearly everybody comes in time, so one timer serves all: it is set for the first who was due when it was set. */
const waiting = new Set<Wait>()
let timer: { due: number; stop(): void } | undefined

function watch(due: number): void {
  if (timer && timer.due <= due) return
  timer?.stop()
  const left = Math.max(0, due - performance.now())
  const handle = setTimeout(endThoseDue, Math.min(left, MAX_TIMER_MS))
  // Who waits has something else that keeps the process going: a connection.
  handle.unref()
  timer = { due, stop: () => clearTimeout(handle) }
}

function endThoseDue(): void {
  timer = undefined
  const now = performance.now()
  let next = Number.POSITIVE_INFINITY
  for (const wait of waiting) {
    if (wait.due > now) {
      next = Math.min(next, wait.due)
      continue
    }
    waiting.delete(wait)
    wait.end()
  }
  if (waiting.size > 0) watch(next)
}

/** What is said of who did not do what was waited for. */
export interface TimeoutErrors {
  late(): Error
  /** In place of what it was rejected with. */
  failed?(): Error
}

/** The promise, or a rejection with what `late` makes when it has not settled after `ms` milliseconds. */
export function within<T>(promise: Promise<T>, ms: number, { late, failed }: TimeoutErrors): Promise<T> {
  const { promise: settled, resolve, reject } = Promise.withResolvers<T>()
  const wait = new Wait(ms, late, reject)
  waiting.add(wait)
  watch(wait.due)
  promise.then(
    (value) => {
      waiting.delete(wait)
      resolve(value)
    },
    (error) => {
      waiting.delete(wait)
      reject(failed ? failed() : error)
    },
  )
  return settled
}
