// A clock that skips from wait to wait when nothing else can run. Only latency takes real time.
import { createSilences, LAST_INSTANT, MAX_TIMER_MS, withSkippedLatency } from './clock.ts'
import { noteSilence } from './hang-reset.ts'

/** The instant at which every virtual clock starts: 2025-01-01T00:00:00Z. */
export const VIRTUAL_START = Date.UTC(2025, 0, 1)

/** Turns of the event loop without new waits after which nothing else can be running. */
const IDLE_TURNS = 3

/** The latest instant of a clock. Waits that are due later end here. */
const NEVER = Number.MAX_SAFE_INTEGER

/** Real time that a client waited before it disconnected is rounded to this, so that runs stay identical. */
const STEP_MS = 100
/** Maximum extra time of a latency, so that those that are due before it end before it. */
const SLACK_MS = 20

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

/** A latency that has not ended: it takes real time, and ends at an instant of the clock that only its start decides. */
interface Latency {
  /** The instants of the clock at which it started and will end; `Infinity` if only a signal ends it. */
  start: number
  due: number
  /** When it should end, by the machine's timer. */
  endsAt: number
  /** Whether its real time is over. */
  done: boolean
  /** Ends it, after the caller has moved the clock. */
  wake(): void
  fail(reason: unknown): void
}

/** Notifications of latencies to their clock. */
interface LatencyEvents {
  now(): number
  /** The real time of one is over, or its client disconnected: the clock may advance. */
  changed(): void
  /** One ended early, at an instant of the clock. */
  canceled(instant: number): void
}

/** The latencies of a clock. */
function createLatencies({ now, changed, canceled }: LatencyEvents) {
  const running = new Set<Latency>()
  // How late the timer of the last latency of a signal was: the next one is shorter by that.
  const late = new WeakMap<AbortSignal, number>()
  return {
    begin(ms: number, signal: AbortSignal | undefined): Promise<void> {
      if (signal?.aborted) return Promise.reject(signal.reason)
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const began = performance.now()
      const length = Math.max(0, ms - ((signal && late.get(signal)) ?? 0))
      const end = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', leave)
        running.delete(latency)
        changed()
      }
      const latency: Latency = {
        start: now(),
        due: now() + ms,
        endsAt: began + length,
        done: false,
        wake() {
          if (signal) late.set(signal, Math.max(0, performance.now() - latency.endsAt))
          end()
          resolve()
        },
        fail(reason) {
          end()
          reject(reason)
        },
      }
      const ring = () => {
        latency.done = true
        changed()
      }
      const leave = () => {
        const { start, due, fail } = latency
        noteSilence(signal?.reason, due - start)
        const waited = Math.round((performance.now() - began) / STEP_MS) * STEP_MS
        canceled(Math.min(due, start + waited))
        fail(signal?.reason)
      }
      const timer = length <= MAX_TIMER_MS ? setTimeout(ring, Math.ceil(length)) : undefined
      running.add(latency)
      signal?.addEventListener('abort', leave, { once: true })
      return promise
    },
    /** The one to end next. One that is due earlier, and whose real time is nearly over, is awaited. */
    next(): Latency | undefined {
      const all = [...running].sort((one, other) => one.due - other.due)
      const first = all.find(({ done: over }) => over)
      if (!first) return undefined
      const real = performance.now()
      const isNear = ({ done: over, due, endsAt }: Latency) => !over && due < first.due && endsAt - real < SLACK_MS
      return real < first.endsAt + SLACK_MS && all.some(isNear) ? undefined : first
    },
    size: () => running.size,
    /** Number of latencies without an end of their own. */
    endless: () => [...running].filter(({ due }) => due === Number.POSITIVE_INFINITY).length,
    /** Whether the real time of any is over. */
    anyOver: () => running.values().some(({ done: over }) => over),
    /** The instant up to which the clock may advance by itself meanwhile. */
    bound: () => running.values().reduce((least, { due }) => Math.min(least, due), Number.POSITIVE_INFINITY),
    /** Moves all of them with the clock. */
    shift(ms: number) {
      for (const latency of running) {
        latency.start += ms
        latency.due += ms
      }
    },
    end(reason: unknown) {
      for (const latency of [...running]) latency.fail(reason)
    },
  }
}

/**
 * A clock that stands still until nothing else can run, then skips to the next due wait. Equal due times keep their
 * order. A test can freeze and move it.
 */
export function virtualClock(start = VIRTUAL_START) {
  let now = start
  // Its start, if it had always shown the current time.
  let origin = start
  // The instant up to which a frozen clock may advance. Waits that are due later stay.
  let horizon = NEVER
  // The instant up to which it was advanced explicitly, beyond latencies that have not ended too.
  let advancedTo = start
  // The instant up to which a client has really waited.
  let waited = start
  let jumped = 0
  let skipsLatency = false
  let ended: { reason: unknown } | undefined
  const waits = createWaits()
  const silences = createSilences()
  const isFrozen = () => horizon < NEVER
  /** Goes to the end of a latency, unless it is frozen or that is in the past. */
  const goTo = (instant: number) => {
    if (!isFrozen()) now = Math.max(now, instant)
  }
  const latencies = createLatencies({
    now: () => now,
    canceled: goTo,
    changed: () => isAwaited() && watch(),
  })
  const isAwaited = () => waits.size() > 0 || latencies.anyOver()
  /** Ends what is due next. */
  const step = () => {
    const latency = latencies.next()
    // How far it may advance by itself while a latency has not ended.
    const bound = Math.min(horizon, Math.max(latency?.due ?? latencies.bound(), advancedTo))
    // A wait that is due before the end of a latency ends first.
    const next = waits.next(Math.min(latency?.due ?? NEVER, bound))
    if (next) {
      const before = now
      now = Math.max(now, next.due)
      jumped += Math.max(0, Math.min(now - before, now - waited))
      next.wake()
    } else if (latency) {
      goTo(latency.due)
      latency.wake()
    } else return
    if (isAwaited()) watch()
  }
  const { watch, work } = whenIdle(step, isAwaited)

  const sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
    if (ended) return Promise.reject(ended.reason)
    const slept = waits.until(Math.min(NEVER, now + Math.max(0, ms)), signal)
    watch()
    return slept
  }
  const latency = (ms: number, signal?: AbortSignal): Promise<void> => {
    if (ended) return Promise.reject(ended.reason)
    return skipsLatency
      ? withSkippedLatency({ sleep, until: silences.until }, ms, signal)
      : latencies.begin(Math.max(0, ms), signal)
  }
  /** Allows it to advance by so many ms, even if it is frozen, and waits for that. */
  const advance = (ms: number) => {
    advancedTo = Math.max(advancedTo, now + ms)
    if (isFrozen()) horizon = Math.max(horizon, now + ms)
    return sleep(ms)
  }
  return {
    kind: 'virtual' as const,
    now: () => Math.min(LAST_INSTANT, Math.floor(now)),
    passed: () => Math.floor(now - origin),
    sleep,
    latency,
    work,
    /** Whether it stands still until it is moved. */
    get frozen(): boolean {
      return isFrozen()
    },
    /** Number of waits and latencies that have not ended. */
    get waiting(): number {
      return waits.size() + latencies.size()
    },
    get endless(): number {
      return latencies.endless() + silences.endless
    },
    /** Whether latency is skipped like any other wait. */
    get skipsLatency(): boolean {
      return skipsLatency
    },
    /** Milliseconds that were skipped, without those that `follow` added. */
    get jumped(): number {
      return jumped
    },
    /** Sets whether latencies that start from now on are skipped. */
    skipLatency(skip: boolean): void {
      skipsLatency = skip
    },
    freeze(): void {
      horizon = now
    },
    /** Unfreezes it, so that it skips from wait to wait again. */
    resume(): void {
      horizon = NEVER
      watch()
    },
    /** Advances by `ms`, and ends every wait that is due on the way. Resolves when done. */
    advance,
    /** Advances by the milliseconds that a client really waited. */
    follow(ms: number): Promise<void> {
      // A client has waited so long: advancing by it is no skip, whatever else ends meanwhile.
      waited = Math.max(waited, now + ms)
      return advance(ms)
    },
    /** Sets the time (ms since the epoch). Waits keep their remaining time. */
    set(to: number): void {
      const by = to - now
      waits.shift(by)
      latencies.shift(by)
      waited += by
      // How far it may advance stays the same.
      if (isFrozen()) horizon += by
      advancedTo += by
      origin += by
      now = to
    },
    /** Ends the clock: all current and later waits reject with the reason. */
    end(reason: unknown): void {
      ended = { reason }
      waits.end(reason)
      latencies.end(reason)
    },
  }
}

/** A clock that a test can freeze and move. */
export type VirtualClock = ReturnType<typeof virtualClock>
