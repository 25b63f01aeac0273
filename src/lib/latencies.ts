// The latencies of a virtual clock: each takes real time, and ends at an instant of the clock that only its start
// decides.

import { MAX_TIMER_MS } from './clock.ts'
import { noteSilence } from './hang-reset.ts'

/** Real time that a client waited before it disconnected is rounded to this, so that runs stay identical. */
const STEP_MS = 100
/** Maximum extra time of a latency, so that those that are due before it end before it. */
const SLACK_MS = 20

/** A latency that has not ended. */
interface Latency {
  /** The instants of the clock at which it started and will end; `Infinity` if only a signal ends it. */
  start: number
  due: number
  /** Ends it, after the caller has moved the clock. */
  wake(): void
}

/** Notifications of latencies to their clock. */
interface LatencyEvents {
  now(): number
  /** The real time of one is over, or its client disconnected: the clock may advance. */
  changed(): void
  /** One ended early, at an instant of the clock. */
  canceled(instant: number): void
}

/** Shared state of the latencies of a clock. */
interface LatencyParts extends LatencyEvents {
  running: Set<RunningLatency>
  /** How late the timer of the last latency of a signal was: the next one is shorter by that. */
  late: WeakMap<AbortSignal, number>
}

/** A latency from start to end. */
class RunningLatency implements Latency {
  start: number
  due: number
  /** When it should end, by the machine's timer. */
  readonly endsAt: number
  /** Whether its real time is over. */
  done = false
  readonly ended: Promise<void>
  readonly #began = performance.now()
  readonly #length: number
  readonly #timer: Timer | undefined
  readonly #signal: AbortSignal | undefined
  readonly #parts: LatencyParts
  readonly #settle: Pick<PromiseWithResolvers<void>, 'resolve' | 'reject'>

  constructor(ms: number, signal: AbortSignal | undefined, parts: LatencyParts) {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.ended = promise
    this.#settle = { resolve, reject }
    this.#signal = signal
    this.#parts = parts
    this.start = parts.now()
    this.due = this.start + ms
    this.#length = Math.max(0, ms - ((signal && parts.late.get(signal)) ?? 0))
    this.endsAt = this.#began + this.#length
    if (this.#length <= MAX_TIMER_MS) this.#timer = setTimeout(this.#ring, Math.ceil(this.#length))
    parts.running.add(this)
    signal?.addEventListener('abort', this.#leave, { once: true })
  }

  wake(): void {
    if (this.#signal) this.#parts.late.set(this.#signal, Math.max(0, performance.now() - this.endsAt))
    this.#end()
    this.#settle.resolve()
  }

  fail(reason: unknown): void {
    this.#end()
    this.#settle.reject(reason)
  }

  readonly #ring = () => {
    this.done = true
    this.#parts.changed()
  }

  readonly #leave = () => {
    noteSilence(this.#signal?.reason, this.due - this.start)
    const waited = Math.round((performance.now() - this.#began) / STEP_MS) * STEP_MS
    this.#parts.canceled(Math.min(this.due, this.start + waited))
    this.fail(this.#signal?.reason)
  }

  #end(): void {
    clearTimeout(this.#timer)
    this.#signal?.removeEventListener('abort', this.#leave)
    this.#parts.running.delete(this)
    this.#parts.changed()
  }
}

/** The latencies of a clock. */
export function createLatencies(events: LatencyEvents) {
  const running = new Set<RunningLatency>()
  const parts = { ...events, running, late: new WeakMap<AbortSignal, number>() }
  return {
    begin: (ms: number, signal: AbortSignal | undefined): Promise<void> =>
      signal?.aborted ? Promise.reject(signal.reason) : new RunningLatency(ms, signal, parts).ended,
    /** The one to end next. One that is due earlier, and whose real time is nearly over, is awaited. */
    next(): Latency | undefined {
      const all = [...running].sort((one, other) => one.due - other.due)
      const first = all.find(({ done: over }) => over)
      if (!first) return undefined
      const real = performance.now()
      const isNear = ({ done: over, due, endsAt }: RunningLatency) =>
        !over && due < first.due && endsAt - real < SLACK_MS
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
