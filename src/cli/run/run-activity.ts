// What the client of a run does: whether it only waits, and whether it hangs.

import type { ClientTimeout } from '../../contract/core/finding.ts'
import type { TraceRecord } from '../../contract/core/trace.ts'
import type { Understudy } from '../../deps.ts'
import type { RunLimits } from '../../exploration/baseline.ts'
import type { Hang } from '../../exploration/types.ts'
import { timeoutOf } from '../../gateway/record/client-mark.ts'
import { sha256 } from '../../lib/ids.ts'
import { withFetch, wrapConnection } from './wrapped.ts'

/** A client waits for a response if there was none for so long. */
const SILENT_MS = 100
/** A client backs off if it has done nothing for so long after a failed call. */
const BACK_OFF_MS = 250
/** The SDKs of OpenAI and Anthropic back off for up to 8 s. */
const MAX_BACK_OFF_MS = 10_000
/** The next back-off may be twice as long as the last one, with some jitter. */
const BACK_OFF_GROWTH = 2.5

/** A call in progress. */
interface OpenCall {
  /** Since when the client has waited for data; undefined while data is sent. */
  silentSince: number | undefined
  timeout: ClientTimeout | undefined
}

/** The activity of a run's client, by instants of the machine's clock in ms. */
export class RunActivity {
  readonly #now: () => number
  readonly #began: number
  #lastAt: number
  #longestPause = 0
  readonly #open = new Set<OpenCall>()
  /** Whether the last call that ended failed, and the wait that the client was asked for. */
  #failed: { retryAfter: number } | undefined
  #longestBackOff = 0
  readonly #requests = new Map<string, number>()
  #repeats = 0

  /** @param now the machine's clock */
  constructor(now: () => number) {
    this.#now = now
    this.#began = now()
    this.#lastAt = this.#began
  }

  /** Milliseconds of the longest time without activity, to the present. */
  get longestPauseMs(): number {
    return Math.max(this.#longestPause, this.#now() - this.#lastAt)
  }

  /**
   * Whether the client only waits: for responses that do not come, or before it repeats a failed call. That is decided
   * by its calls alone, so that it is the same on every system.
   */
  get isWaiting(): boolean {
    const now = this.#now()
    if (this.#open.size === 0) return this.#failed !== undefined && now - this.#lastAt >= BACK_OFF_MS
    return [...this.#open].every(({ silentSince }) => silentSince !== undefined && now - silentSince >= SILENT_MS)
  }

  /** Whether the run hangs, and why. */
  hangs({ silenceMs, timeoutMs, totalMs, repeats }: RunLimits): Hang | undefined {
    const now = this.#now()
    const silentMs = now - this.#lastAt
    const about = { silentMs, repeats: this.#repeats, isOpen: this.#open.size > 0 }
    if (this.#repeats > repeats) return { ...about, kind: 'endless' }
    if (now - this.#began > totalMs) return { ...about, kind: 'long' }
    if (silentMs <= silenceMs) return undefined
    const timeout = this.#longestTimeout()
    if (timeout && timeout.ms > timeoutMs) return { ...about, kind: 'silent', timeout }
    const allowed = this.#open.size > 0 ? silenceMs + (timeout?.ms ?? 0) : this.#allowedPause(silenceMs, timeoutMs)
    return silentMs > allowed ? { ...about, kind: 'silent' } : undefined
  }

  /** Something happened. */
  note(): void {
    const now = this.#now()
    const pause = now - this.#lastAt
    this.#longestPause = Math.max(this.#longestPause, pause)
    if (this.#failed && this.#open.size === 0) this.#longestBackOff = Math.max(this.#longestBackOff, pause)
    this.#lastAt = now
  }

  /** A call begins. */
  begins(path: string, body: Uint8Array, timeout: ClientTimeout | undefined): OpenCall {
    this.note()
    this.#failed = undefined
    const key = `${path} ${sha256(body)}`
    const count = (this.#requests.get(key) ?? 0) + 1
    this.#requests.set(key, count)
    this.#repeats = Math.max(this.#repeats, count)
    const call: OpenCall = { silentSince: this.#now(), timeout }
    this.#open.add(call)
    return call
  }

  /** The client waits for data of a call. */
  waits(call: OpenCall): void {
    call.silentSince = this.#now()
  }

  /** It has received some. */
  receives(call: OpenCall): void {
    this.note()
    call.silentSince = undefined
    // The default of an SDK may be for the start of a response alone, as in JavaScript: a stream that stalls then hangs.
    if (call.timeout?.assumed) call.timeout = undefined
  }

  /** A call has ended. */
  ends(call: OpenCall, trace: TraceRecord | undefined): void {
    this.note()
    this.#open.delete(call)
    const failed = trace?.outcome !== 'succeeded' || trace.faults.length > 0
    this.#failed = failed ? { retryAfter: trace?.retry_after_ms ?? 0 } : undefined
  }

  #longestTimeout(): ClientTimeout | undefined {
    let longest: ClientTimeout | undefined
    for (const { timeout } of this.#open) if (timeout && timeout.ms > (longest?.ms ?? 0)) longest = timeout
    return longest
  }

  #allowedPause(silenceMs: number, timeoutMs: number): number {
    if (!this.#failed) return silenceMs
    const backOff = Math.max(MAX_BACK_OFF_MS, this.#longestBackOff * BACK_OFF_GROWTH)
    return Math.max(silenceMs, backOff) + Math.min(this.#failed.retryAfter, timeoutMs)
  }
}

/** Wraps the program so that the activity of its clients is noted. */
export const withActivity = (understudy: Understudy, activity: RunActivity): Understudy =>
  withFetch(understudy, async (request, hold) => {
    let call: OpenCall | undefined
    const active = wrapConnection(hold, {
      async waitsFor<T>(next: Promise<T>): Promise<T> {
        const waiting = call
        if (waiting) activity.waits(waiting)
        try {
          return await (hold?.waitsFor?.(next) ?? next)
        } finally {
          if (waiting) activity.receives(waiting)
        }
      },
      begins(path, body) {
        call = activity.begins(path, body, timeoutOf(request.headers))
        return hold?.begins?.(path, body)
      },
      ends(trace) {
        hold?.ends?.(trace)
        if (call) activity.ends(call, trace)
      },
    })
    activity.note()
    try {
      return await understudy.app.fetch(request, active)
    } finally {
      activity.note()
    }
  })
