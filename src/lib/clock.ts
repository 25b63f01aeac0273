// Time is an argument everywhere, so that an outage of ten minutes can be tested in milliseconds.

import { noteSilence } from './hang-reset.ts'
import { monotonicMs } from './monotonic.ts'

/** The source of all timestamps and waits of a session. */
export interface Clock {
  readonly kind: 'real' | 'virtual'
  /** Whole milliseconds since the Unix epoch. */
  now(): number
  /**
   * Whole milliseconds since an arbitrary instant. Use it to measure durations: setting the clock does not change it.
   */
  passed(): number
  /** Resolves after `ms` milliseconds of this clock. Rejects with the signal's reason if that is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /**
   * Latency that the client feels. It takes `ms` of real time on every clock; a virtual clock then is at its start plus
   * exactly `ms`, or later. `Infinity` is silence until the signal aborts. If the signal ends it early, it rejects with
   * the signal's reason, and a virtual clock advances by the real time that passed, to the nearest 100 ms.
   */
  latency(ms: number, signal?: AbortSignal): Promise<void>
  /**
   * Work outside the clock, such as drawing an image or loading code. A virtual clock stands still until it is done.
   */
  work<T>(work: Promise<T>): Promise<T>
}

/** Whether latency on a virtual clock takes real time, or is skipped like other waits. */
export type LatencyMode = 'real' | 'skip'

/** The time settings of a session. */
export interface TimeSettings {
  clock: Clock['kind']
  latency: LatencyMode
}

/** Milliseconds since a stored instant; 0 if it is in the future, as after the clock was set back. */
export const sinceInstant = (clock: Pick<Clock, 'now'>, instant: number): number => Math.max(0, clock.now() - instant)

/** Information about silent connections on a clock. */
interface Silent {
  /** Number of latencies without an end of their own, which only end with their calls. */
  readonly endless: number
}

/** The end of the year 9999, the last instant that dates and ids can represent. A virtual clock stops there. */
export const LAST_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
/** The longest timer that the runtime supports, in ms: a longer one would end at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1

/** Runs a function every `ms` real milliseconds without keeping the process alive. Returns a function that stops it. */
export function everySoOften(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms)
  timer.unref()
  return () => clearInterval(timer)
}

const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', stop)
        resolve()
      },
      Math.min(ms, MAX_TIMER_MS),
    )
    signal?.addEventListener('abort', stop, { once: true })
  })

/**
 * Waits forever, on no clock. Rejects with the signal's reason when that aborts. Use `latency` if a client waits too.
 */
export const untilAborted = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
  })

/** Silences without an end of their own. */
export function createSilences(): Silent & { until(signal: AbortSignal | undefined): Promise<never> } {
  let endless = 0
  return {
    get endless() {
      return endless
    },
    async until(signal) {
      endless++
      try {
        return await untilAborted(signal)
      } finally {
        endless--
      }
    },
  }
}

/** A clock that runs with real time and knows the silences of those who wait on it. */
export function createRealClock() {
  const silences = createSilences()
  return {
    kind: 'real',
    now: Date.now,
    passed: () => Math.floor(monotonicMs()),
    sleep,
    async latency(ms: number, signal?: AbortSignal): Promise<void> {
      if (ms === Number.POSITIVE_INFINITY) return silences.until(signal)
      try {
        await sleep(ms, signal)
      } catch (reason) {
        noteSilence(reason, ms)
        throw reason
      }
    },
    get endless() {
      return silences.endless
    },
    work: <T>(work: Promise<T>): Promise<T> => work,
  } satisfies Clock & Silent
}

/** A clock that runs with real time. */
export type RealClock = ReturnType<typeof createRealClock>

/**
 * The clock of the process. Each session on real time has one of its own, so that only its own silences are counted.
 * @example
 * realClock.kind // => 'real'
 * Number.isInteger(realClock.now()) // => true
 */
export const realClock: RealClock = createRealClock()

/** Latency that a virtual clock may jump over. Endless silence is no wait that it could jump to the end of. */
export const withSkippedLatency = (
  { sleep, until = untilAborted }: Pick<Clock, 'sleep'> & { until?: typeof untilAborted },
  ms: number,
  signal?: AbortSignal,
): Promise<void> => (ms === Number.POSITIVE_INFINITY ? until(signal) : sleep(ms, signal))

/** The clock for work that no client's connection waits for, such as the steps of an agent: it may jump over their latency. */
export function withoutLatency({ kind, now, passed, sleep, work }: Clock): Clock {
  return { kind, now, passed, sleep, work, latency: (ms, signal) => withSkippedLatency({ sleep }, ms, signal) }
}
