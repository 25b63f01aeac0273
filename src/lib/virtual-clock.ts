// A clock whose time passes in no time: it jumps from wait to wait when nothing else can run.
import { LAST_INSTANT, type VirtualClock } from './clock.ts'

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

/** Where a virtual clock stands, and how far it may go by itself. */
function createHand(start: number) {
  let now = start
  // Waits that are due later are left alone: the instant up to which a frozen clock may go.
  let horizon = NEVER
  return {
    now: () => now,
    horizon: () => horizon,
    frozen: () => horizon < NEVER,
    freeze() {
      horizon = now
    },
    resume() {
      horizon = NEVER
    },
    /** Lets a frozen clock go on for so many ms. */
    allow(ms: number) {
      if (horizon < NEVER) horizon = Math.max(horizon, now + ms)
    },
    /** Goes on to an instant, unless that is over; says how many ms have passed. */
    goTo(due: number): number {
      const before = now
      now = Math.max(now, due)
      return now - before
    },
    /** Says another time; how far it may go stays as it is. */
    set(to: number) {
      if (horizon < NEVER) horizon += to - now
      now = to
    },
  }
}

/** A clock that stands still until nothing else can run, then jumps to the next due wait; equal due times keep their order. */
export function virtualClock(start = VIRTUAL_START): VirtualClock {
  const hand = createHand(start)
  const waits = createWaits()
  let jumped = 0
  let followed = 0
  let over: { reason: unknown } | undefined

  const jump = () => {
    const next = waits.next(hand.horizon())
    if (!next) return
    jumped += hand.goTo(next.due)
    next.wake()
    if (waits.size() > 0) watch()
  }
  const { watch, work } = whenIdle(jump, () => waits.size() > 0)
  const sleep = (ms: number, signal?: AbortSignal) => {
    if (over) return Promise.reject(over.reason)
    const slept = waits.until(hand.now() + Math.max(0, ms), signal)
    watch()
    return slept
  }
  const advance = (ms: number) => {
    hand.allow(ms)
    return sleep(ms)
  }
  return {
    kind: 'virtual',
    now: () => Math.min(LAST_INSTANT, Math.floor(hand.now())),
    sleep,
    work,
    get frozen() {
      return hand.frozen()
    },
    get waiting() {
      return waits.size()
    },
    get jumped() {
      return Math.max(0, jumped - followed)
    },
    freeze: hand.freeze,
    resume() {
      hand.resume()
      watch()
    },
    advance,
    follow(ms) {
      followed += ms
      return advance(ms)
    },
    set(to) {
      waits.shift(to - hand.now())
      hand.set(to)
    },
    end(reason) {
      over = { reason }
      waits.end(reason)
    },
  }
}
