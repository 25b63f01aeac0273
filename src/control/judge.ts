// The verdict on a session, from its calls, its tasks and its workspace.
import type { TaskStep } from '../contract/core/trace.ts'
import type { SessionVerdict, Verification } from '../contract/core/verification.ts'
import { AGENT_STEP, AGENT_TASK, type TaskRecord } from '../contract/workspace/task-record.ts'
import { isActive } from '../contract/workspace/task-state.ts'
import type { TraceEvidence } from '../db/trace-evidence.ts'
import type { TaskReaders } from '../observers/task-readers.ts'
import type { Session } from '../sessions/sessions.ts'
import { earlierNotices } from '../verdict/notices.ts'
import type { UnreadTask } from '../verdict/tasks.ts'
import { verify } from '../verdict/verify.ts'
import { type CallList, createCallWatches, lookUntilDone, stayIn } from './call-watch.ts'
import type { ControlDeps, JudgeOptions } from './types.ts'

type LookDeps = Pick<
  ControlDeps,
  'about' | 'runs' | 'fixtures' | 'strict' | 'unknownPaths' | 'readers' | 'workspaceCalls'
>

/** Judges a session by the calls of a list. */
export const lookWith =
  ({ about, runs, fixtures, strict, unknownPaths, readers, workspaceCalls }: LookDeps) =>
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
      fixtures: [...fixtures.given(session.name), ...fixtures.files.fixtures].map(({ name }) => name),
      expect,
      end: ended,
      strict,
    })
  }

/** Judges sessions: each request for a verdict is one call, which waits as long as it says. */
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
    const waiting = { session: current, watches, signal, wait, isDone }
    const last = await lookUntilDone((calls) => look(current(), calls, options), waiting).finally(end)
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
