// Limits how long to wait for an outside party, in real time.
import { MAX_TIMER_MS } from './clock.ts'

/** One pending wait. */
interface Wait {
  /** When it is over, in ms of `performance.now()`. */
  due: number
  end(): void
}

/** Nearly all waits end in time, so one timer serves all: it is set for the first one that was due when it was set. */
const waiting = new Set<Wait>()
let timer: { due: number; stop(): void } | undefined

function watch(due: number): void {
  if (timer && timer.due <= due) return
  timer?.stop()
  const remaining = Math.max(0, due - performance.now())
  const handle = setTimeout(endThoseDue, Math.min(remaining, MAX_TIMER_MS))
  // Something else keeps the process running meanwhile: a connection.
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

/** The errors of a wait that fails. */
export interface TimeoutErrors {
  late(): Error
  /** Replaces the error of a rejected promise. */
  failed?(): Error
}

/** The result of the promise, or a rejection with `late()` if it has not settled after `ms` milliseconds. */
export function within<T>(promise: Promise<T>, ms: number, { late, failed }: TimeoutErrors): Promise<T> {
  const { promise: settled, resolve, reject } = Promise.withResolvers<T>()
  const wait: Wait = { due: performance.now() + ms, end: () => reject(late()) }
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
