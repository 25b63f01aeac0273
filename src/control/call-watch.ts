// The calls of a session for somebody who waits: read once, then added to as they are saved or have changed.
import { ApiError } from '../contract/core/error.ts'
import type { Observers } from '../contract/core/observation.ts'
import type { TraceEvidence } from '../db/trace-evidence.ts'
import { nextTurn } from '../lib/bare-socket.ts'
import { realClock } from '../lib/clock.ts'
import { monotonicMs } from '../lib/monotonic.ts'
import type { Session, Sessions } from '../sessions/sessions.ts'

/** Calls by number. */
export interface CallList {
  /** The calls after one, in the order in which they began. */
  since(seq: number): Iterable<TraceEvidence>
}
/** Calls as they come. */
interface CallWatch extends CallList {
  /** Resolves when something has been saved or changed since it was last called, or the time (real, in ms) is up. */
  next(ms: number): Promise<void>
  stop(): void
}

/** The calls of one session, read once for all who wait on it. */
interface SharedCalls {
  since(session: Session, seq: number): Iterable<TraceEvidence>
  /** Told when something has been saved or changed. */
  waiters: Set<() => void>
  stop(): void
}

function shareCalls(name: string, observers: Observers): SharedCalls {
  let calls: Map<number, TraceEvidence> | undefined
  let from = 0
  const fresh = new Set<number>()
  const waiters = new Set<() => void>()
  const stop = observers.add((observation) => {
    if (observation.session !== name) return
    if ('seq' in observation) fresh.add(observation.seq)
    // What was stored may be gone.
    else if (observation.type === 'session-changed') calls = undefined
    else if (observation.type !== 'call-lost') return
    for (const wake of waiters) wake()
  })
  return {
    since(session, seq) {
      if (!calls || from !== seq) {
        calls = new Map([...session.traces.since(seq)].map((call) => [call.seq, call]))
        from = seq
      }
      for (const number of fresh) {
        // That of a turn of an agent was stored when it began, and is another now.
        const call = number > seq ? session.traces.bySeq(number) : undefined
        if (call) calls.set(number, call)
      }
      fresh.clear()
      return [...calls.values()].sort((one, other) => one.seq - other.seq)
    },
    waiters,
    stop,
  }
}

/** Who waits for calls, in all sessions. */
export interface CallWatches {
  /** How many wait. */
  readonly waiting: number
  /** Watches the calls of a session until it is stopped or the signal is aborted. */
  watch(current: () => Session, signal: AbortSignal): CallWatch
}

/** Keeps the calls of the sessions that somebody waits on, one list a session. */
export function createCallWatches(observers: Observers): CallWatches {
  const shared = new Map<string, SharedCalls>()
  let waiting = 0
  return {
    get waiting() {
      return waiting
    },
    watch(current, signal) {
      const { name } = current()
      const calls = shared.get(name) ?? shareCalls(name, observers)
      shared.set(name, calls)
      let changed = false
      let wake: (() => void) | undefined
      const note = () => {
        changed = true
        wake?.()
      }
      calls.waiters.add(note)
      waiting++
      return {
        since: (seq) => calls.since(current(), seq),
        async next(ms) {
          const stopped = new AbortController()
          const until = AbortSignal.any([signal, stopped.signal])
          if (!changed) {
            const woken = new Promise<void>((resolve) => (wake = resolve))
            await Promise.race([woken, realClock.sleep(ms, until).catch(() => {})])
            stopped.abort()
          }
          // Calls that were saved together are looked at together.
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

/** The session of a name for somebody who is there: it neither sleeps nor is dropped, and may be reset or made anew meanwhile. */
export function stayIn(
  session: Session,
  sessions: Pick<Sessions, 'peek'>,
  signal: AbortSignal,
): { current(): Session; end(): void } {
  let last = session
  let activity = session.begin({ signal })
  return {
    current() {
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

/** What a look at the calls is repeated with. */
export interface LookOptions<Report> {
  /** The generation in force: there may be another one at each look. */
  session(): Session
  watches: CallWatches
  /** Aborted when nobody waits any more. */
  signal: AbortSignal
  /** Milliseconds of real time. */
  wait: number
  isDone(report: Report): boolean
}

/** Each look goes over all calls of a session, so more than tests run at once are not let in. */
const MAX_WAITING = 100
const tooMany = () =>
  new ApiError(
    429,
    'too_many_waits',
    `${MAX_WAITING} requests are waiting already: send the request without 'wait', or retry later`,
    {
      param: 'wait',
      headers: { 'retry-after': '1' },
    },
  )

/** The report of the first look that is done, else of the last one: it looks again when something has happened. */
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
      const left = end - monotonicMs()
      if (isDone(report) || left <= 0 || signal.aborted) return report
      await watch.next(left)
    }
  } finally {
    watch.stop()
  }
}
