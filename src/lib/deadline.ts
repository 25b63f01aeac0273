// A limit on silence: aborts when nothing has happened for a time.
import type { Clock } from './clock.ts'

/**
 * The result of a promise. Rejects with the signal's reason if that aborts first, even if the work ignores the signal.
 */
export async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  // Work that listens to the signal may end in its own way during this turn of the event loop.
  const stop = () => void setImmediate(() => reject(signal.reason))
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
    // The one that settles second is ignored.
    for (const one of [work, aborted]) one.catch(() => {})
  }
}

/** Starts a limit of `ms` milliseconds. `reason` creates the reason of the abort. */
export function startDeadline(
  clock: Clock,
  ms: number,
  { outer, reason }: { outer: AbortSignal; reason: () => Error },
) {
  const controller = new AbortController()
  const stopped = new AbortController()
  let since = clock.passed()
  let paused = false
  let wake: (() => void) | undefined
  const stop = () => {
    stopped.abort()
    wake?.()
    outer.removeEventListener('abort', pass)
  }
  const pass = () => {
    controller.abort(outer.reason)
    stop()
  }
  const expire = () => {
    controller.abort(reason())
    stop()
  }
  // There is one timer at a time. A restart only moves the due time, so that a stream of many events costs nothing
  // more.
  const watch = async () => {
    for (let remaining = ms; remaining > 0; remaining = since + ms - clock.passed()) {
      await clock.sleep(remaining, stopped.signal)
      if (paused) await new Promise<void>((resolve) => (wake = resolve))
      if (stopped.signal.aborted) return
    }
    expire()
  }
  watch().catch(() => {})
  if (outer.aborted) pass()
  else outer.addEventListener('abort', pass)
  return {
    /** Aborts when the time is up or the outer signal aborts. */
    signal: controller.signal,
    /** Resets the time and lets it run. */
    restart(): void {
      since = clock.passed()
      paused = false
      wake?.()
    },
    /** Stops the time until the next `restart`. */
    hold(): void {
      paused = true
    },
    /** Ends the time now. */
    expire,
    /** How long the silence may last, in ms. */
    limit: ms,
    stop,
  }
}

/** A running limit. */
export type Deadline = ReturnType<typeof startDeadline>
