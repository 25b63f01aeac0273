// A clock whose time passes in no time: it jumps from wait to wait when nothing else can run. Latency alone takes real time.
import { createSilences, LAST_INSTANT, type VirtualClock, withSkippedLatency } from './clock.ts'
import { createLatencies } from './latencies.ts'

/** The instant at which every virtual clock starts: 2025-01-01T00:00:00Z. */
export const VIRTUAL_START = Date.UTC(2025, 0, 1)

/** Event-loop turns without new waits after which a virtual clock takes it that nothing else can run. */
const IDLE_TURNS = 3

/** The latest instant to which a clock goes: waits end here that would be due later. */
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
  // The instant at which it began, had it always shown the time that it shows now.
  let origin = start
  // Waits that are due later are left alone: the instant up to which a frozen clock may go.
  let horizon = NEVER
  // The instant up to which it was told to go, past latencies that have not ended too.
  let told = start
  return {
    now: () => now,
    passed: () => now - origin,
    /** How far it may go by itself while a latency ends at `bound`. */
    horizon: (bound: number) => Math.min(horizon, Math.max(bound, told)),
    frozen: () => horizon < NEVER,
    freeze() {
      horizon = now
    },
    resume() {
      horizon = NEVER
    },
    /** Lets it go on for so many ms, even when it is frozen. */
    allow(ms: number) {
      told = Math.max(told, now + ms)
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
      told += to - now
      origin += to - now
      now = to
    },
  }
}

/** Moves a clock from wait to wait, and to the ends of latencies, while nothing else can run. */
function createSteps(hand: ReturnType<typeof createHand>) {
  const waits = createWaits()
  let jumped = 0
  // The instant up to which somebody outside has really waited.
  let waited = hand.now()
  const goTo = (instant: number) => (hand.frozen() ? 0 : hand.goTo(instant))
  /** Ends what is due next. */
  const step = () => {
    const ended = latencies.next()
    // What is due before the end of a latency comes before it.
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
    left: goTo,
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
    /** Somebody outside has waited so many ms: to go on by them is no jump, whatever else ends meanwhile. */
    follow(ms: number) {
      waited = Math.max(waited, hand.now() + ms)
    },
    size: () => waits.size() + latencies.size(),
    /** Says another time, without letting any pass. */
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

/** A clock that stands still until nothing else can run, then jumps to the next due wait; equal due times keep their order. */
export function virtualClock(start = VIRTUAL_START): VirtualClock {
  const hand = createHand(start)
  const steps = createSteps(hand)
  const { waits, latencies, watch, work, jumped } = steps
  const silences = createSilences()
  let skipsLatency = false
  let over: { reason: unknown } | undefined

  const sleep = (ms: number, signal?: AbortSignal) => {
    if (over) return Promise.reject(over.reason)
    const slept = waits.until(Math.min(NEVER, hand.now() + Math.max(0, ms)), signal)
    watch()
    return slept
  }
  const latency = (ms: number, signal?: AbortSignal) => {
    if (over) return Promise.reject(over.reason)
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
      over = { reason }
      steps.end(reason)
    },
  }
}
