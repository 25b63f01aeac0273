// Time comes in as an argument everywhere, so that an outage of ten minutes can be played in milliseconds.

import { noteSilence } from './hang-reset.ts'
import { monotonicMs } from './monotonic.ts'

/** Where every timestamp and every wait of a session comes from. */
export interface Clock {
  readonly kind: 'real' | 'virtual'
  /** Whole milliseconds since the Unix epoch. */
  now(): number
  /** Whole milliseconds that have passed since some instant: what goes on is measured by it, since nothing passes when a clock is set. */
  passed(): number
  /** Resolves after `ms` milliseconds of this clock; rejects with the signal's reason when that is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /**
   * Latency that a client feels: takes `ms` of real time, on every clock. A virtual clock then stands at its start plus exactly
   * `ms`, or later. `Infinity` is silence that only the signal ends. When the signal ends it early, it rejects with the signal's
   * reason, and a virtual clock counts the time that was really waited, to the nearest 100 ms.
   */
  latency(ms: number, signal?: AbortSignal): Promise<void>
  /** Work that is done outside the clock, such as drawing a picture or loading code: a virtual clock stands still until it is done. */
  work<T>(work: Promise<T>): Promise<T>
}

/** What becomes of latency on a virtual clock: it takes real time, or is skipped like other waits. */
export type LatencyMode = 'real' | 'skip'

/** How time passes in a session. */
export interface TimeSettings {
  clock: Clock['kind']
  latency: LatencyMode
}

/** Milliseconds since an instant that was stored; 0 when it is still to come, as after the clock was set back. */
export const sinceInstant = (clock: Pick<Clock, 'now'>, instant: number): number => Math.max(0, clock.now() - instant)

/** What is known of the silences on a clock. */
interface Silent {
  /** How many latencies have no end of their own: only the end of their calls ends them. */
  readonly endless: number
}

/** A clock that goes by itself. */
export interface RealClock extends Clock, Silent {
  readonly kind: 'real'
}

/** A clock that a test can hold and move. */
export interface VirtualClock extends Clock, Silent {
  readonly kind: 'virtual'
  /** Whether it stands still until it is moved. */
  readonly frozen: boolean
  /** How many waits and latencies have not ended. */
  readonly waiting: number
  /** Whether latency takes no real time either, but is jumped over like any other wait. */
  readonly skipsLatency: boolean
  /** Milliseconds that have passed by jumps since it began, without those that it was told to follow. */
  readonly jumped: number
  /** Says whether the latencies that begin from now on are skipped. */
  skipLatency(skip: boolean): void
  freeze(): void
  /** Lets it jump from wait to wait again. */
  resume(): void
  /** Lets so many milliseconds pass, with every wait that ends in them; resolves when they have passed. */
  advance(ms: number): Promise<void>
  /** Lets the milliseconds pass that somebody outside has really waited. */
  follow(ms: number): Promise<void>
  /** Changes the time (ms since the epoch) without letting any pass: waits keep what is left of them. */
  set(now: number): void
  /** Nobody uses it any more: what waits on it now or later rejects with the reason. */
  end(reason: unknown): void
}

/** The end of the year 9999, which dates and ids can still say: a virtual clock stops there, however long a wait is. */
export const LAST_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
/** A timer beyond it would end at once. */
/** The longest wait of a timer of the runtime, in ms. */
export const MAX_TIMER_MS = 2 ** 31 - 1

/** Does something every so many real milliseconds, without keeping the process alive; gives what stops it. */
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

/** Waits for ever, on no clock: rejects with the signal's reason once that is aborted. A client that waits as well waits with `latency`. */
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

const realSilences = createSilences()
async function realLatency(ms: number, signal?: AbortSignal): Promise<void> {
  if (ms === Number.POSITIVE_INFINITY) return realSilences.until(signal)
  try {
    await sleep(ms, signal)
  } catch (reason) {
    noteSilence(reason, ms)
    throw reason
  }
}

/**
 * The machine's own clock.
 * @example
 * realClock.kind // => 'real'
 * Number.isInteger(realClock.now()) // => true
 */
export const realClock: RealClock = {
  kind: 'real',
  now: Date.now,
  passed: () => Math.floor(monotonicMs()),
  sleep,
  latency: realLatency,
  get endless() {
    return realSilences.endless
  },
  work: (work) => work,
}

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
