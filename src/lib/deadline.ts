// A limit on silence: aborts when nothing has happened for so long on a clock.
import type { Clock } from './clock.ts'

/** A running limit. */
export interface Deadline {
  /** Aborted when the time is up or the outer signal is. */
  readonly signal: AbortSignal
  /** Something happened: the time begins anew. */
  restart(): void
  stop(): void
}

/** Starts a limit of `ms` milliseconds; `reason` makes what the signal is aborted with. */
export function startDeadline(
  clock: Clock,
  ms: number,
  { outer, reason }: { outer: AbortSignal; reason: () => Error },
): Deadline {
  const controller = new AbortController()
  const stopped = new AbortController()
  let since = clock.now()
  const stop = () => {
    stopped.abort()
    outer.removeEventListener('abort', pass)
  }
  const pass = () => {
    controller.abort(outer.reason)
    stop()
  }
  // One wait at a time: a restart only moves the instant, so that a stream of many events costs nothing more.
  const watch = async () => {
    for (let left = ms; left > 0; left = since + ms - clock.now()) await clock.sleep(left, stopped.signal)
    controller.abort(reason())
    stop()
  }
  watch().catch(() => {})
  if (outer.aborted) pass()
  else outer.addEventListener('abort', pass)
  return {
    signal: controller.signal,
    restart() {
      since = clock.now()
    },
    stop,
  }
}
