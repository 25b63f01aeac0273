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

/** The instant at which every virtual clock starts: 2025-01-01T00:00:00Z. */
export const VIRTUAL_START = Date.UTC(2025, 0, 1)

/** Event-loop turns without new waits after which a virtual clock takes it that nothing else can run. */
const IDLE_TURNS = 3

/** Later than every wait that ends. */
const NEVER = Number.MAX_SAFE_INTEGER

/** A wait of a virtual clock. */
interface VirtualWait {
  due: number
  wake(): void
  fail(reason: unknown): void
}

/** The waits of a virtual clock, the next due first; those that are due at once keep their order. */
function createWaits() {
  let waits: VirtualWait[] = []
  return {
    size: () => waits.length,
    /** Takes out the first wait, unless it is due after `horizon`. */
    next: (horizon: number) => ((waits[0]?.due ?? NEVER) > horizon ? undefined : waits.shift()),
    /** Resolves when its wait is woken; rejects with the signal's reason when that is aborted first. */
    until(due: number, signal?: AbortSignal): Promise<void> {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      if (signal?.aborted) reject(signal.reason)
      else {
        const stop = () => {
          waits = waits.filter((other) => other !== wait)
          reject(signal?.reason)
        }
        const settled = (settle: () => void) => {
          signal?.removeEventListener('abort', stop)
          settle()
        }
        const wait: VirtualWait = { due, wake: () => settled(resolve), fail: (reason) => settled(() => reject(reason)) }
        const later = waits.findIndex((other) => other.due > due)
        waits.splice(later < 0 ? waits.length : later, 0, wait)
        signal?.addEventListener('abort', stop, { once: true })
      }
      return promise
    },
    /** Makes all of them due so many ms later. */
    shift(ms: number) {
      for (const wait of waits) wait.due += ms
    },
    end(reason: unknown) {
      for (const wait of waits.splice(0)) wait.fail(reason)
    },
  }
}

/** Calls `idle` once nothing else can run: some turns of the event loop after the last news, and after all work outside the clock. */
function whenIdle(idle: () => void, isAwaited: () => boolean) {
  let turnsLeft = 0
  // Work outside the clock that is not done.
  let working = 0
  const turn = () => {
    // The end of the work watches again.
    if (working > 0) turnsLeft = 0
    else if (--turnsLeft > 0) setImmediate(turn)
    else idle()
  }
  const watch = () => {
    if (turnsLeft <= 0) setImmediate(turn)
    turnsLeft = IDLE_TURNS
  }
  return {
    watch,
    async work<T>(work: Promise<T>): Promise<T> {
      working++
      try {
        return await work
      } finally {
        if (--working === 0 && isAwaited()) watch()
      }
    },
  }
}

/** A clock that stands still until nothing else can run, then jumps to the next due wait; equal due times keep their order. */
export function virtualClock(start = VIRTUAL_START): VirtualClock {
  let now = start
  let jumped = 0
  let followed = 0
  // Waits that are due later are left alone: the instant up to which a frozen clock may go.
  let horizon = NEVER
  const waits = createWaits()
  let over: { reason: unknown } | undefined

  const jump = () => {
    const next = waits.next(horizon)
    if (!next) return
    jumped += Math.max(0, next.due - now)
    now = Math.max(now, next.due)
    next.wake()
    if (waits.size() > 0) watch()
  }
  const { watch, work } = whenIdle(jump, () => waits.size() > 0)
  const sleep = (ms: number, signal?: AbortSignal) => {
    if (over) return Promise.reject(over.reason)
    const slept = waits.until(now + Math.max(0, ms), signal)
    watch()
    return slept
  }
  const advance = (ms: number) => {
    if (horizon < NEVER) horizon = Math.max(horizon, now + ms)
    return sleep(ms)
  }
  return {
    kind: 'virtual',
    now: () => Math.min(LAST_INSTANT, Math.floor(now)),
    sleep,
    work,
    get frozen() {
      return horizon < NEVER
    },
    get waiting() {
      return waits.size()
    },
    get jumped() {
      return Math.max(0, jumped - followed)
    },
    freeze() {
      horizon = now
    },
    resume() {
      horizon = NEVER
      watch()
    },
    advance,
    follow(ms) {
      followed += ms
      return advance(ms)
    },
    set(to) {
      waits.shift(to - now)
      if (horizon < NEVER) horizon += to - now
      now = to
    },
    end(reason) {
      over = { reason }
      waits.end(reason)
    },
  }
}
