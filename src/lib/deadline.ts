// A limit on silence: aborts when nothing has happened for so long on a clock.
import type { Clock } from './clock.ts'

/** A running limit. */
export interface Deadline {
  /** Aborted when the time is up or the outer signal is. */
  readonly signal: AbortSignal
  /** Something happened: the time begins anew, and runs. */
  restart(): void
  /** Nobody waits for anything: the time stands still until it begins anew. */
  hold(): void
  stop(): void
}

/** What a promise gives; rejects with the signal's reason when that is aborted first and the work does not listen to it. */
export async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  // What listens may end in its own way, and has this turn of the event loop to do so.
  const stop = () => void setImmediate(() => reject(signal.reason))
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
    // Nobody listens any more to the one that comes second.
    for (const one of [work, aborted]) one.catch(() => {})
  }
}

/** Starts a limit of `ms` milliseconds; `reason` makes what the signal is aborted with. */
export function startDeadline(
  clock: Clock,
  ms: number,
  { outer, reason }: { outer: AbortSignal; reason: () => Error },
): Deadline {
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
  // One wait at a time: a restart only moves the instant, so that a stream of many events costs nothing more.
  const watch = async () => {
    for (let left = ms; left > 0; left = since + ms - clock.passed()) {
      await clock.sleep(left, stopped.signal)
      if (paused) await new Promise<void>((resolve) => (wake = resolve))
      if (stopped.signal.aborted) return
    }
    controller.abort(reason())
    stop()
  }
  watch().catch(() => {})
  if (outer.aborted) pass()
  else outer.addEventListener('abort', pass)
  return {
    signal: controller.signal,
    restart() {
      since = clock.passed()
      paused = false
      wake?.()
    },
    hold() {
      paused = true
    },
    stop,
  }
}
