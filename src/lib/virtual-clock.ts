// A clock that skips from wait to wait when nothing else can run. Only latency takes real time.
import { createSilences, LAST_INSTANT, type VirtualClock, withSkippedLatency } from './clock.ts'
import { createLatencies } from './latencies.ts'

/** The instant at which every virtual clock starts: 2025-01-01T00:00:00Z. */
export const VIRTUAL_START = Date.UTC(2025, 0, 1)

/** Turns of the event loop without new waits after which nothing else can be running. */
const IDLE_TURNS = 3

/** The latest instant of a clock. Waits that are due later end here. */
const NEVER = Number.MAX_SAFE_INTEGER

/** A wait of a virtual clock. */
interface VirtualWait {
  due: number
  wake(): void
  fail(reason: unknown): void
}

/** The waits of a virtual clock, the next due first. Waits that are due at the same time keep their order. */
function createWaits() {
  let waits: VirtualWait[] = []
  return {
    size: () => waits.length,
    /** Removes the first wait, unless it is due after `horizon`. */
    next: (horizon: number) => ((waits[0]?.due ?? NEVER) > horizon ? undefined : waits.shift()),
    /** Resolves when its wait is woken. Rejects with the signal's reason if that is aborted first. */
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
    /** Postpones all of them by so many ms. */
    shift(ms: number) {
      for (const wait of waits) wait.due += ms
    },
    end(reason: unknown) {
      for (const wait of waits.splice(0)) wait.fail(reason)
    },
  }
}

/**
 * Calls `idle` when nothing else can run: some turns of the event loop after the last activity, and after all work
 * outside the clock.
 */
function whenIdle(idle: () => void, isAwaited: () => boolean) {
  let turnsLeft = 0
  // Running work outside the clock.
  let working = 0
  const turn = () => {
    // The end of the work starts the count again.
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

/** The position of a virtual clock, and how far it may advance by itself. */
function createHand(start: number) {
  let now = start
  // Its start, if it had always shown the current time.
  let origin = start
  // The instant up to which a frozen clock may advance. Waits that are due later stay.
  let horizon = NEVER
  // The instant up to which it was advanced explicitly, beyond latencies that have not ended too.
  let advancedTo = start
  return {
    now: () => now,
    passed: () => now - origin,
    /** How far it may advance by itself while a latency ends at `bound`. */
    horizon: (bound: number) => Math.min(horizon, Math.max(bound, advancedTo)),
    frozen: () => horizon < NEVER,
    freeze() {
      horizon = now
    },
    resume() {
      horizon = NEVER
    },
    /** Allows it to advance by so many ms, even if it is frozen. */
    allow(ms: number) {
      advancedTo = Math.max(advancedTo, now + ms)
      if (horizon < NEVER) horizon = Math.max(horizon, now + ms)
    },
    /** Advances to an instant, unless it is in the past. Returns the number of ms. */
    goTo(due: number): number {
      const before = now
      now = Math.max(now, due)
      return now - before
    },
    /** Sets another time. How far it may advance stays the same. */
    set(to: number) {
      if (horizon < NEVER) horizon += to - now
      advancedTo += to - now
      origin += to - now
      now = to
    },
  }
}

/** Moves a clock from wait to wait, and to the ends of latencies, while nothing else can run. */
function createSteps(hand: ReturnType<typeof createHand>) {
  const waits = createWaits()
  let jumped = 0
  // The instant up to which a client has really waited.
  let waited = hand.now()
  const goTo = (instant: number) => (hand.frozen() ? 0 : hand.goTo(instant))
  /** Ends what is due next. */
  const step = () => {
    const ended = latencies.next()
    // A wait that is due before the end of a latency ends first.
    const next = waits.next(Math.min(ended?.due ?? NEVER, hand.horizon(ended?.due ?? latencies.bound())))
    if (next) {
      const passed = hand.goTo(next.due)
      jumped += Math.max(0, Math.min(passed, hand.now() - waited))
      next.wake()
    } else if (ended) {
      goTo(ended.due)
      ended.wake()
    } else return
    if (isAwaited()) watch()
  }
  const latencies = createLatencies({
    now: hand.now,
    canceled: goTo,
    changed: () => isAwaited() && watch(),
  })
  const isAwaited = () => waits.size() > 0 || latencies.anyOver()
  const { watch, work } = whenIdle(step, isAwaited)
  return {
    waits,
    latencies,
    watch,
    work,
    jumped: () => jumped,
    /** A client has waited so many ms: advancing by them is no skip, whatever else ends meanwhile. */
    follow(ms: number) {
      waited = Math.max(waited, hand.now() + ms)
    },
    size: () => waits.size() + latencies.size(),
    /** Sets another time without letting any pass. */
    set(to: number) {
      const by = to - hand.now()
      waits.shift(by)
      latencies.shift(by)
      waited += by
      hand.set(to)
    },
    end(reason: unknown) {
      waits.end(reason)
      latencies.end(reason)
    },
  }
}

/**
 * A clock that stands still until nothing else can run, then skips to the next due wait. Equal due times keep their
 * order.
 */
export function virtualClock(start = VIRTUAL_START): VirtualClock {
  const hand = createHand(start)
  const steps = createSteps(hand)
  const { waits, latencies, watch, work, jumped } = steps
  const silences = createSilences()
  let skipsLatency = false
  let ended: { reason: unknown } | undefined

  const sleep = (ms: number, signal?: AbortSignal) => {
    if (ended) return Promise.reject(ended.reason)
    const slept = waits.until(Math.min(NEVER, hand.now() + Math.max(0, ms)), signal)
    watch()
    return slept
  }
  const latency = (ms: number, signal?: AbortSignal) => {
    if (ended) return Promise.reject(ended.reason)
    return skipsLatency
      ? withSkippedLatency({ sleep, until: silences.until }, ms, signal)
      : latencies.begin(Math.max(0, ms), signal)
  }
  const advance = (ms: number) => {
    hand.allow(ms)
    return sleep(ms)
  }
  return {
    kind: 'virtual',
    now: () => Math.min(LAST_INSTANT, Math.floor(hand.now())),
    passed: () => Math.floor(hand.passed()),
    sleep,
    latency,
    work,
    get frozen() {
      return hand.frozen()
    },
    get waiting() {
      return steps.size()
    },
    get endless() {
      return latencies.endless() + silences.endless
    },
    get skipsLatency() {
      return skipsLatency
    },
    get jumped() {
      return jumped()
    },
    skipLatency(skip) {
      skipsLatency = skip
    },
    freeze: hand.freeze,
    resume() {
      hand.resume()
      watch()
    },
    advance,
    follow(ms) {
      steps.follow(ms)
      return advance(ms)
    },
    set: steps.set,
    end(reason) {
      ended = { reason }
      steps.end(reason)
    },
  }
}
