// The calls of a session for waiting clients: read once, then updated as they are saved or changed.
import { ApiError } from '../contract/core/error.ts'
import type { Observers } from '../contract/core/observation.ts'
import type { TraceEvidence } from '../db/trace-evidence.ts'
import { nextTurn } from '../lib/bare-socket.ts'
import { realClock } from '../lib/clock.ts'
import { monotonicMs } from '../lib/monotonic.ts'
import type { Session, Sessions } from '../sessions/sessions.ts'

/** Calls by number. */
export interface CallList {
  /** The calls after a number, in the order in which they started. */
  since(seq: number): Iterable<TraceEvidence>
}

/** The calls of one session, read once for all clients that wait on it. */
function shareCalls(name: string, observers: Observers) {
  let calls: Map<number, TraceEvidence> | undefined
  let from = 0
  const fresh = new Set<number>()
  const waiters = new Set<() => void>()
  const stop = observers.add((observation) => {
    if (observation.session !== name) return
    if ('seq' in observation) fresh.add(observation.seq)
    // Stored calls may have been deleted.
    else if (observation.type === 'session-changed') calls = undefined
    else if (observation.type !== 'call-lost') return
    for (const wake of waiters) wake()
  })
  return {
    since(session: Session, seq: number): Iterable<TraceEvidence> {
      if (!calls || from !== seq) {
        calls = new Map([...session.traces.since(seq)].map((call) => [call.seq, call]))
        from = seq
      }
      for (const number of fresh) {
        // The trace of an agent's turn was stored at its start, and has changed.
        const call = number > seq ? session.traces.bySeq(number) : undefined
        if (call) calls.set(number, call)
      }
      fresh.clear()
      return [...calls.values()].sort((one, other) => one.seq - other.seq)
    },
    /** Called when something was saved or changed. */
    waiters,
    stop,
  }
}

/** Keeps one list of calls for each session with waiting clients. */
export function createCallWatches(observers: Observers) {
  const shared = new Map<string, ReturnType<typeof shareCalls>>()
  let waiting = 0
  return {
    /** Number of waiting clients. */
    get waiting() {
      return waiting
    },
    /** Watches the calls of a session until it is stopped or the signal aborts. */
    watch(current: () => Session, signal: AbortSignal) {
      const { name } = current()
      const calls = shared.getOrInsertComputed(name, () => shareCalls(name, observers))
      let changed = false
      let wake: (() => void) | undefined
      const note = () => {
        changed = true
        wake?.()
      }
      calls.waiters.add(note)
      waiting++
      return {
        since: (seq: number) => calls.since(current(), seq),
        /** Resolves when something was saved or changed since the last call, or after `ms` of real time. */
        async next(ms: number): Promise<void> {
          const stopped = new AbortController()
          const until = AbortSignal.any([signal, stopped.signal])
          if (!changed) {
            const woken = new Promise<void>((resolve) => (wake = resolve))
            await Promise.race([woken, realClock.sleep(ms, until).catch(() => {})])
            stopped.abort()
          }
          // Calls that were saved together are read together.
          await nextTurn()
          changed = false
        },
        stop() {
          waiting--
          calls.waiters.delete(note)
          if (calls.waiters.size > 0) return
          calls.stop()
          shared.delete(name)
        },
      }
    },
  }
}

/**
 * Keeps the session of a name in use: it is neither unloaded nor dropped, but may be reset or created again meanwhile.
 */
export function stayIn(session: Session, sessions: Pick<Sessions, 'peek'>, signal: AbortSignal) {
  let last = session
  let activity = session.begin({ signal })
  return {
    current(): Session {
      const found = sessions.peek(session.name)
      if (found !== last) {
        activity.end()
        last = found
        activity = found.begin({ signal })
      }
      return last
    },
    end: () => activity.end(),
  }
}

/** Options of repeated checks. */
interface LookOptions<Report> {
  /** The current generation, which may change between checks. */
  session(): Session
  watches: ReturnType<typeof createCallWatches>
  /** Aborts when the client disconnects. */
  signal: AbortSignal
  /** Milliseconds of real time. */
  wait: number
  isDone(report: Report): boolean
}

/** Maximum number of waiting clients: each check goes over all calls of a session. */
const MAX_WAITING = 100
const tooMany = () => {
  const message = `${MAX_WAITING} requests are waiting already: send the request without 'wait', or retry later`
  return new ApiError(429, 'too_many_waits', message, { param: 'wait', headers: { 'retry-after': '1' } })
}

/**
 * The report of the first check that is done, otherwise of the last one. It checks again after each change.
 * @throws ApiError 429 if too many clients wait
 */
export async function lookUntilDone<Report>(
  look: (calls: CallList) => Report,
  { session, watches, signal, wait, isDone }: LookOptions<Report>,
): Promise<Report> {
  if (wait === 0) return look(session().traces)
  if (watches.waiting >= MAX_WAITING) throw tooMany()
  const watch = watches.watch(session, signal)
  try {
    const end = monotonicMs() + wait
    for (;;) {
      const report = look(watch)
      const remaining = end - monotonicMs()
      if (isDone(report) || remaining <= 0 || signal.aborted) return report
      await watch.next(remaining)
    }
  } finally {
    watch.stop()
  }
}
