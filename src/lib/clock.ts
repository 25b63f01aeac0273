// Time comes in as an argument everywhere, so that an outage of ten minutes can be played in milliseconds.

/** Where every timestamp and every wait of a session comes from. */
export interface Clock {
  readonly kind: 'real' | 'virtual'
  /** Whole milliseconds since the Unix epoch. */
  now(): number
  /** Resolves after `ms` milliseconds of this clock; rejects with the signal's reason when that is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Work that is done outside the clock, such as drawing a picture or loading code: a virtual clock stands still until it is done. */
  work<T>(work: Promise<T>): Promise<T>
}

/** A clock that goes by itself. */
export interface RealClock extends Clock {
  readonly kind: 'real'
}

/** A clock that a test can hold and move. */
export interface VirtualClock extends Clock {
  readonly kind: 'virtual'
  /** Whether it stands still until it is moved. */
  readonly frozen: boolean
  /** How many waits have not ended. */
  readonly waiting: number
  /** Milliseconds that have passed by jumps since it began, without those that it was told to follow. */
  readonly jumped: number
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
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Does something every so many real milliseconds, without keeping the process alive; gives what stops it. */
export function everySoOften(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms)
  timer.unref()
  return () => clearInterval(timer)
}

/** The machine's own clock. */
export const realClock: RealClock = {
  kind: 'real',
  now: Date.now,
  sleep: (ms, signal) =>
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
        Math.min(ms, LONGEST_TIMER_MS),
      )
      signal?.addEventListener('abort', stop, { once: true })
    }),
  work: (work) => work,
}

/** Waits for ever: rejects with the signal's reason once that is aborted. No wait of a clock, since a virtual one would jump to its end. */
export const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) return reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
