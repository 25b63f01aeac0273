// The loop of a task: one step after another, each committed before the next, until the turn ends or waits for its
// client.
import { ApiError, bugError } from '../../contract/core/error.ts'
import { type Deadline, startDeadline, unlessAborted } from '../../lib/deadline.ts'
import type { SessionHandle } from '../../sessions/session.ts'
import type { Session } from '../../sessions/sessions.ts'
import { type CommitParts, commit, wakeParent } from '../store/commit.ts'
import { countTeamCalls } from '../store/limits.ts'
import type { AgentTaskRecord } from '../store/manifest.ts'
import type { ToolCallPart } from '../store/messages.ts'
import { findTask, type TaskChange } from '../store/store.ts'
import { type CallUnderWay, comesLate } from './in-flight.ts'
import { modelCall } from './model-step.ts'
import { nextStep, type TurnOutcome } from './next-step.ts'
import { throughTaskFaults } from './task-faults.ts'
import { resultChange, toolCall } from './tool-step.ts'
import { journalStep, refresh, TaskGone, type Turn, type TurnChange, type TurnDeps, turnOf } from './turn.ts'
import { endChange, TurnEnded, timeUp } from './turn-end.ts'

/** Runs tasks. */
export interface Runner {
  /** Continues an active task, unless it is running. Resolves when it stops running. */
  run(session: Session, task: AgentTaskRecord): Promise<void>
  /** Ends running tasks that were deleted with their agents, and their followers. */
  sweep(session: Session): void
  /** Ends a running task. Resolves when that is committed, with false if it is not running. */
  end(session: Session, id: string, why: TurnEnded): Promise<boolean>
}

interface RunningTask {
  workspace: string
  controller: AbortController
  finished: Promise<void>
  /** The session in which it was woken meanwhile, perhaps a later generation than the current one. */
  again: Session | undefined
}

/** A runner. `ended` is called for each turn that ends. */
export function createRunner(deps: TurnDeps, ended: (turn: Turn) => void): Runner {
  const tasksByHandle = new WeakMap<SessionHandle, Map<string, RunningTask>>()
  const runningIn = (handle: SessionHandle) => {
    const found = tasksByHandle.get(handle) ?? new Map<string, RunningTask>()
    tasksByHandle.set(handle, found)
    return found
  }
  const runner: Runner = {
    run(session, task) {
      const running = runningIn(session.slot)
      const known = running.get(task._id)
      if (known) {
        known.again = session
        return known.finished
      }
      const controller = new AbortController()
      const finished = work(session, task, { deps, controller, ended }).finally(() => {
        running.delete(task._id)
        // It was woken just after its turn ended.
        const { again } = entry
        if (!again || again.ended.aborted) return
        const now = findTask({ session: again, workspace: task.workspace_id }, task._id)
        if (now && now.active !== null) void runner.run(again, now)
      })
      const entry: RunningTask = { workspace: task.workspace_id, controller, finished, again: undefined }
      running.set(task._id, entry)
      return finished
    },
    sweep(session) {
      for (const [id, { workspace, controller }] of runningIn(session.slot))
        if (!findTask({ session, workspace }, id)) controller.abort(new TaskGone('the task is gone'))
      deps.events.sweep(session)
    },
    async end(session, id, why) {
      const found = runningIn(session.slot).get(id)
      if (!found) return false
      found.controller.abort(why)
      await found.finished
      return true
    },
  }
  return runner
}

interface Work {
  deps: TurnDeps
  controller: AbortController
  ended: (turn: Turn) => void
}

async function work(session: Session, task: AgentTaskRecord, { deps, controller, ended }: Work): Promise<void> {
  const activity = session.begin(controller)
  const seconds = task.manifest.settings.max_execution_time
  const deadline = startDeadline(session.clock, Math.max(0, seconds * 1000 - task.turn.spent_ms), {
    outer: activity.signal,
    reason: () => timeUp(seconds),
  })
  const turn = turnOf(session, task, { deps, signal: deadline.signal })
  try {
    await steps(turn, deadline)
    ended(turn)
  } catch (error) {
    // A task that ends with its session or its agent cannot be stored; the session's next generation continues it.
    if (error instanceof TaskGone) deps.events.notify(session, { type: 'gone', task: turn.task })
    else if (!session.ended.aborted) deps.gateway.report(error)
  } finally {
    deadline.stop()
    activity.end()
    for (const { arrive } of turn.late) arrive((change) => commitLate(turn, change)).catch(deps.gateway.report)
  }
}

/** Runs steps until the end of the turn, and commits the end whatever it is. */
async function steps(turn: Turn, deadline: Deadline): Promise<void> {
  const { session, signal, deps } = turn
  try {
    if (turn.task.state === 'submitted') await commitStep(turn, () => ({ task: { state: 'working' } }))
    for (;;) {
      signal.throwIfAborted()
      refresh(turn)
      const next = nextStep(turn)
      if (next.do === 'ask') await iterate(turn, deadline)
      else if (next.do === 'run') await runTools(turn, next.calls)
      else if (await finish(turn, () => endOf(turn))) return
    }
  } catch (error) {
    const why = signal.aborted ? signal.reason : error
    if (session.ended.aborted || error instanceof TaskGone) throw error
    if (why instanceof TaskGone) throw why
    if (why instanceof TurnEnded) return void (await finish(turn, () => ({ state: why.state, reason: why.reason })))
    const apiError = why instanceof ApiError ? why : bugError()
    if (apiError !== why) deps.gateway.report(why)
    const { message, code, status } = apiError
    await finish(turn, () => ({ state: 'failed', reason: 'error', error: { message, code, status } }))
  }
}

/** How a turn ends, if it can still end. */
function endOf(turn: Turn): TurnOutcome | undefined {
  const next = nextStep(turn)
  return next.do === 'end' ? next : undefined
}

interface StepParts {
  /** Throws if the turn is over, so that nothing is written. */
  guard(): void
  also?: CommitParts['also']
}

/**
 * Commits a step. Returns false without writing if there is no change. Rejects with the signal's reason if the turn is
 * over.
 */
async function commitStep(
  turn: Turn,
  change: (task: AgentTaskRecord) => TaskChange | undefined,
  { guard, also }: StepParts = { guard: () => turn.signal.throwIfAborted() },
): Promise<boolean> {
  const { place, history, deps } = turn
  const timed = (task: AgentTaskRecord) => {
    const made = change(task)
    return (
      made && { ...made, task: { ...made.task, turn: { ...task.turn, ...made.task?.turn, spent_ms: turn.spent() } } }
    )
  }
  const written = await commit(place, turn.task._id, timed, {
    ...{ events: deps.events, basis: turn.task, history },
    guard(found) {
      guard()
      return refresh(turn, found)
    },
    also(stored, before) {
      const { task, messages } = stored
      countTeamCalls(task, task.totals.iterations - before.totals.iterations, place)
      turn.task = task
      history.push(...messages)
      also?.(stored, before)
    },
  }).catch((error) => {
    turn.isStale = true
    throw error
  })
  return written !== undefined
}

/**
 * Commits the end of a turn, even if its signal is aborted. `outcome` is called in the transaction; without an outcome,
 * because a decision arrived meanwhile, nothing is written, false is returned, and the turn continues.
 */
function finish(turn: Turn, outcome: () => TurnOutcome | undefined): Promise<boolean> {
  const change = () => {
    const ending = outcome()
    return ending && endChange(turn, ending)
  }
  return commitStep(turn, change, { guard() {}, also: ({ task }) => wakeParent(turn.place, task) })
}

/**
 * Commits the late result of a canceled task's call; nothing if the task was continued, which closed the call, or
 * deleted.
 */
async function commitLate({ deps, place, task: { _id, turn } }: Turn, change: TurnChange): Promise<void> {
  const { events } = deps
  const guard: CommitParts['guard'] = (found) =>
    found?.state === 'canceled' && found.turn.number === turn.number ? found : undefined
  await commit(place, _id, change, { events, guard })
}

/** Runs an iteration, which a fault may block forever. The turn's time limit stops while it is blocked. */
function iterate(turn: Turn, deadline: Deadline): Promise<void> {
  const { session, task, signal } = turn
  const { iterations } = task.turn
  const iteration = iterations + 1
  const onTriggered = (rule: string) => {
    deadline.hold()
    const step = journalStep(turn, session.clock.now(), {
      ...{ kind: 'wait', name: 'nothing', outcome: 'waiting' },
      iteration,
      faults: [rule],
    })
    // A turn that has ended meanwhile has nothing to note.
    commitStep(turn, () => ({ steps: [step] })).catch(() => {})
  }
  const moment = { at: 'task', iteration, key: `${iterations}:iteration` } as const
  return throughTaskFaults(turn, { ...moment, signal, onTriggered }, () => ask(turn))
}

/** Makes a call of a turn. Rejects with the reason of the turn's signal if that aborts first. */
async function answerOf<Answer>(turn: Turn, call: CallUnderWay<Answer>): Promise<Answer> {
  const { signal } = turn
  const own = new AbortController()
  const work = call.make(own.signal)
  const leave = () => {
    if (!comesLate(turn, call, { own, work })) own.abort(signal.reason)
  }
  signal.addEventListener('abort', leave, { once: true })
  try {
    return await unlessAborted(signal, work)
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

/** Requests the next message of the model. A failure is noted in the journal before it ends the turn. */
async function ask(turn: Turn): Promise<void> {
  const call = modelCall(turn)
  try {
    await commitStep(turn, call.change(await answerOf(turn, call)))
  } catch (error) {
    if (turn.signal.aborted || !(error instanceof ApiError)) throw error
    await commitStep(turn, call.failed(error))
    throw error
  }
}

/** Runs all calls of one message at once, and commits each result as soon as those before it are committed. */
async function runTools(turn: Turn, calls: readonly ToolCallPart[]): Promise<void> {
  const { session, deps } = turn
  let next = 0
  const running = calls.map(async (part, index) => {
    const { tool_call_id } = part
    const kept = turn.task.early?.[tool_call_id]
    if (kept) return kept
    const call = toolCall(turn, part)
    deps.events.notify(session, { type: 'tool-started', task: turn.task, call: part })
    const { used, ...outcome } = await answerOf(turn, call)
    // A call whose result is stored is not made again, even by a later process.
    if (index > next && !('pending' in outcome.result))
      await commitStep(turn, ({ early }) => ({ task: { early: { ...early, [tool_call_id]: outcome } }, used }))
    return { used, ...outcome }
  })
  // Calls after a failure are ignored.
  for (const one of running) one.catch(() => {})
  for (const [index, part] of calls.entries()) {
    const outcome = await running[index]
    if (!outcome) continue
    if ('pending' in outcome.result) turn.waiting.add(part.tool_call_id)
    else await commitStep(turn, resultChange(part, outcome))
    next = index + 1
  }
}
