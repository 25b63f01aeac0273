// The calls of a session for somebody who waits: read once, then added to as they are saved, and never parsed again.
import type { Observers } from '../contract/observation.ts'
import type { TraceEvidence } from '../db/trace-store.ts'
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

/** Watches the calls of a session until it is stopped or the signal is aborted. */
function watchCalls(current: () => Session, observers: Observers, signal: AbortSignal): CallWatch {
  const { name } = current()
  let calls: Map<number, TraceEvidence> | undefined
  let from = 0
  const fresh = new Set<number>()
  let changed = false
  let wake: (() => void) | undefined
  const leave = observers.add((observation) => {
    if (observation.session !== name) return
    if (observation.type === 'trace-saved') fresh.add(observation.seq)
    // What was stored may be gone.
    else if (observation.type === 'session-changed') calls = undefined
    else return
    changed = true
    wake?.()
  })
  return {
    since(seq) {
      const session = current()
      if (!calls || from !== seq) {
        calls = new Map([...session.traces.since(seq)].map((call) => [call.seq, call]))
        from = seq
      }
      for (const number of fresh) {
        const call = number > seq && !calls.has(number) ? session.traces.bySeq(number) : undefined
        if (call) calls.set(number, call)
      }
      fresh.clear()
      return [...calls.values()].sort((one, other) => one.seq - other.seq)
    },
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
    stop: leave,
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
  observers: Observers
  /** Aborted when nobody waits any more. */
  signal: AbortSignal
  /** Milliseconds of real time. */
  wait: number
  isDone(report: Report): boolean
}

/** The report of the first look that is done, else of the last one: it looks again when something has happened. */
export async function lookUntilDone<Report>(
  look: (calls: CallList) => Report,
  { session, observers, signal, wait, isDone }: LookOptions<Report>,
): Promise<Report> {
  if (wait === 0) return look(session().traces)
  const watch = watchCalls(session, observers, signal)
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
