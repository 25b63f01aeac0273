// The verdict on a session, from its calls, its tasks and its workspace.
import { ApiError } from '../contract/core/error.ts'
import type { Observers } from '../contract/core/observation.ts'
import type { TaskStep } from '../contract/core/trace.ts'
import type { SessionVerdict, Verification } from '../contract/core/verification.ts'
import { AGENT_STEP, AGENT_TASK, type TaskRecord } from '../contract/workspace/task-record.ts'
import { isActive } from '../contract/workspace/task-state.ts'
import type { TraceEvidence } from '../db/trace-evidence.ts'
import { nextTurn } from '../lib/bare-socket.ts'
import { realClock } from '../lib/clock.ts'
import { monotonicMs } from '../lib/monotonic.ts'
import type { TaskReaders } from '../observers/task-readers.ts'
import type { Session, Sessions } from '../sessions/sessions.ts'
import { earlierNotices } from '../verdict/notices.ts'
import type { UnreadTask } from '../verdict/tasks.ts'
import { verify } from '../verdict/verify.ts'
import type { ControlDeps, JudgeOptions } from './types.ts'

interface LookDeps
  extends Pick<ControlDeps, 'about' | 'runs' | 'fixtures' | 'strict' | 'unknownPaths' | 'readers' | 'workspaceCalls'> {
  /** Descriptions of the calls that reached no session. */
  refused(): readonly string[]
}

/** Judges a session by the calls of a list. */
export const lookWith =
  ({ about, runs, fixtures, strict, unknownPaths, readers, workspaceCalls, refused }: LookDeps) =>
  (
    session: Session,
    calls: CallList,
    { ended, expect = [] }: Pick<JudgeOptions, 'ended' | 'expect'> = {},
  ): SessionVerdict => {
    const run = runs.current(session)
    return verify({
      session: session.name,
      run,
      runs: runs.played(session),
      calls: asTheyAre(calls.since(run?.calls ?? 0), session),
      workspace: workspaceCalls.of(session),
      unread: unreadTasks(session, readers),
      underWay: session.underWay,
      dropped: session.traces.dropped(run?.calls ?? 0),
      // With several instances, it may have had calls elsewhere, which are unknown here.
      gap: session.slot.gap && { instance: about.instance.name, why: session.slot.gap },
      unknownPaths: unknownPaths.of(session.name),
      refused: refused(),
      fixtures: [...fixtures.given(session.name), ...fixtures.files.fixtures].map(({ name }) => name),
      expect,
      end: ended,
      strict,
    })
  }

/**
 * Judges sessions: each request for a verdict is one call, which waits as long as it says. It throws `ApiError` 429 if
 * too many wait.
 */
export function createJudge(
  deps: Pick<ControlDeps, 'sessions' | 'observers' | 'earlier'>,
  look: ReturnType<typeof lookWith>,
) {
  const { sessions, observers, earlier } = deps
  const watches = createCallWatches(observers)
  return async (found: Session, { signal: left, wait, ...options }: JudgeOptions): Promise<Verification> => {
    const signal = left ? AbortSignal.any([left, observers.ended]) : observers.ended
    const { current, end } = stayIn(found, sessions, signal)
    // A client that has ended sends no more calls.
    const isDone = ({ ok, pending, tasks }: SessionVerdict) =>
      pending === 0 && (options.ended !== undefined || (ok && tasks.running === 0))
    /** The report of the first check that is done, otherwise of the last one. It checks again after each change. */
    const lookUntilDone = async (): Promise<SessionVerdict> => {
      if (wait === 0) return look(current(), current().traces, options)
      if (watches.waiting >= MAX_WAITING) throw tooMany()
      const watch = watches.watch(current, signal)
      try {
        const until = monotonicMs() + wait
        for (;;) {
          const report = look(current(), watch, options)
          const remaining = until - monotonicMs()
          if (isDone(report) || remaining <= 0 || signal.aborted) return report
          await watch.next(remaining)
        }
      } finally {
        watch.stop()
      }
    }
    const last = await lookUntilDone().finally(end)
    const { session, ok, findings } = last
    const before = earlier.of(session)
    const notices = [...last.notices, ...earlierNotices(before, earlier.forgotten(session))]
    observers.notify({ type: 'session-verified', session, ok, findings })
    return { ...last, notices, earlier: [...before] }
  }
}

// The current state of agent tasks for verdicts: the trace of a turn is complete only at its end.

/** The calls; those that are turns of tasks with the current steps of the tasks. */
function asTheyAre(found: Iterable<TraceEvidence>, session: Session): TraceEvidence[] {
  const calls = [...found]
  // Most sessions have no tasks, so that their records need not be opened.
  if (!calls.some(({ trace }) => trace.task)) return calls
  const { records } = session
  const tasks = records.keyed(AGENT_TASK).map(({ body }) => body as TaskRecord)
  const working = new Map(tasks.map((task) => [task.turn.trace, task]))
  return calls.map((call) => {
    const { task: seen, faults } = call.trace
    if (!seen) return call
    const task = working.get(call.trace.id)
    // A task that was deleted while it ran has no end.
    if (!task) return isActive(seen.state) ? withTask(call, { ...seen, state: 'gone' }, faults) : call
    const { state, finish_reason, turn } = task
    const page = { kind: AGENT_STEP, workspace: task.workspace_id, parent: task._id }
    const journal = records.page(page).data.reverse() as TaskStep[]
    const steps = journal.filter((step) => step.turn === turn.number)
    const triggered = new Set([...faults, ...steps.flatMap((step) => step.faults ?? [])])
    return withTask(call, { ...seen, state, finish_reason, iterations: turn.iterations, steps }, [...triggered])
  })
}

const withTask = (
  call: TraceEvidence,
  task: NonNullable<TraceEvidence['trace']['task']>,
  faults: string[],
): TraceEvidence => ({ ...call, trace: { ...call.trace, task, faults } })

/** The turns whose end was not read, of tasks that still exist. */
const unreadTasks = (session: Session, readers: TaskReaders): UnreadTask[] =>
  readers.unread(session.slot).flatMap(({ task, workspace, trace, looks }) => {
    const found = session.records.get(AGENT_TASK, workspace, task)?.body as TaskRecord | undefined
    return found ? [{ trace, state: found.state, looks }] : []
  })

// The calls of a session for waiting clients: read once, then updated as they are saved or changed.

/** Calls by number. */
interface CallList {
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
function createCallWatches(observers: Observers) {
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
function stayIn(session: Session, sessions: Pick<Sessions, 'peek'>, signal: AbortSignal) {
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

/** Maximum number of waiting clients: each check goes over all calls of a session. */
const MAX_WAITING = 100
const tooMany = () => {
  const message = `${MAX_WAITING} requests are waiting already: send the request without 'wait', or retry later`
  return new ApiError(429, 'too_many_waits', message, { param: 'wait', headers: { 'retry-after': '1' } })
}
