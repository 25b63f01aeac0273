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

/** The activity of a run's client. */
export type RunActivity = ReturnType<typeof runActivity>

/**
 * The activity of a run's client, by instants in ms.
 * @param clock the machine's clock
 */
export function runActivity(clock: () => number) {
  const began = clock()
  let lastAt = began
  let longestPause = 0
  const open = new Set<OpenCall>()
  /** Whether the last call that ended failed, and the wait that the client was asked for. */
  let failed: { retryAfter: number } | undefined
  let longestBackOff = 0
  const requests = new Map<string, number>()
  let repeats = 0
  const allowedPause = (silenceMs: number, timeoutMs: number): number => {
    if (!failed) return silenceMs
    const backOff = Math.max(MAX_BACK_OFF_MS, longestBackOff * BACK_OFF_GROWTH)
    return Math.max(silenceMs, backOff) + Math.min(failed.retryAfter, timeoutMs)
  }
  /** Something happened. */
  const note = () => {
    const now = clock()
    const pause = now - lastAt
    longestPause = Math.max(longestPause, pause)
    if (failed && open.size === 0) longestBackOff = Math.max(longestBackOff, pause)
    lastAt = now
  }
  return {
    note,
    /** Milliseconds of the longest time without activity, to the present. */
    get longestPauseMs(): number {
      return Math.max(longestPause, clock() - lastAt)
    },
    /**
     * Whether the client only waits: for responses that do not come, or before it repeats a failed call. That is decided
     * by its calls alone, so that it is the same on every system.
     */
    get isWaiting(): boolean {
      const now = clock()
      if (open.size === 0) return failed !== undefined && now - lastAt >= BACK_OFF_MS
      return [...open].every(({ silentSince }) => silentSince !== undefined && now - silentSince >= SILENT_MS)
    },
    /** Whether the run hangs, and why. */
    hangs({ silenceMs, timeoutMs, totalMs, repeats: most }: RunLimits): Hang | undefined {
      const now = clock()
      const silentMs = now - lastAt
      const about = { silentMs, repeats, isOpen: open.size > 0 }
      if (repeats > most) return { ...about, kind: 'endless' }
      if (now - began > totalMs) return { ...about, kind: 'long' }
      if (silentMs <= silenceMs) return undefined
      let timeout: ClientTimeout | undefined
      for (const call of open) if (call.timeout && call.timeout.ms > (timeout?.ms ?? 0)) timeout = call.timeout
      if (timeout && timeout.ms > timeoutMs) return { ...about, kind: 'silent', timeout }
      const allowed = open.size > 0 ? silenceMs + (timeout?.ms ?? 0) : allowedPause(silenceMs, timeoutMs)
      return silentMs > allowed ? { ...about, kind: 'silent' } : undefined
    },
    /** A call begins. */
    begins(path: string, body: Uint8Array, timeout: ClientTimeout | undefined): OpenCall {
      note()
      failed = undefined
      const key = `${path} ${sha256(body)}`
      const count = (requests.get(key) ?? 0) + 1
      requests.set(key, count)
      repeats = Math.max(repeats, count)
      const call: OpenCall = { silentSince: clock(), timeout }
      open.add(call)
      return call
    },
    /** The client waits for data of a call. */
    waits(call: OpenCall): void {
      call.silentSince = clock()
    },
    /** It has received some. */
    receives(call: OpenCall): void {
      note()
      call.silentSince = undefined
      // The default of an SDK may be for the start of a response alone, as in JavaScript: a stream that stalls then hangs.
      if (call.timeout?.assumed) call.timeout = undefined
    },
    /** A call has ended. */
    ends(call: OpenCall, trace: TraceRecord | undefined): void {
      note()
      open.delete(call)
      const isFailed = trace?.outcome !== 'succeeded' || trace.faults.length > 0
      failed = isFailed ? { retryAfter: trace?.retry_after_ms ?? 0 } : undefined
    },
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
