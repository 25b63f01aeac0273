// Which tasks run: each until its turn ends or waits for its client, one step after another.
import { ApiError, bugError } from '../../contract/core/error.ts'
import { type Deadline, startDeadline } from '../../lib/deadline.ts'
import type { SessionHandle } from '../../sessions/session.ts'
import type { Session } from '../../sessions/sessions.ts'
import type { AgentTaskRecord } from '../store/manifest.ts'
import { findTask } from '../store/store.ts'
import { askModel } from './model-step.ts'
import { nextStep } from './next-step.ts'
import { throughIterationFaults } from './task-faults.ts'
import { runTools } from './tool-step.ts'
import { commitStep, refresh, TaskGone, type Turn, type TurnDeps, turnOf } from './turn.ts'
import { endTurn, TurnEnded, timeUp } from './turn-end.ts'

interface RunningTask {
  workspace: string
  controller: AbortController
  finished: Promise<void>
  /** The session in which it was woken meanwhile, perhaps a later generation than the current one. */
  again: Session | undefined
}

/** A runner. `ended` is called for each turn that ends. */
export function createRunner(deps: TurnDeps, ended: (turn: Turn) => void) {
  const tasksByHandle = new WeakMap<SessionHandle, Map<string, RunningTask>>()
  const runningIn = (handle: SessionHandle) => tasksByHandle.getOrInsertComputed(handle, () => new Map())
  const work = async (session: Session, task: AgentTaskRecord, controller: AbortController): Promise<void> => {
    const activity = session.begin(controller)
    const seconds = task.manifest.settings.max_execution_time
    const deadline = startDeadline(session.clock, Math.max(0, seconds * 1000 - task.turn.spent_ms), {
      outer: activity.signal,
      reason: () => timeUp(seconds),
    })
    const turn = turnOf(session, task, { deps, signal: deadline.signal })
    try {
      await takeSteps(turn, deadline)
      ended(turn)
    } catch (error) {
      // A task that ends with its session or its agent cannot be stored; the session's next generation continues it.
      if (error instanceof TaskGone) deps.events.notify(session, { type: 'gone', task: turn.task })
      else if (!session.ended.aborted) deps.gateway.report(error)
    } finally {
      deadline.stop()
      activity.end()
      for (const { arrive } of turn.late) arrive().catch(deps.gateway.report)
    }
  }
  const runner = {
    /** Continues an active task, unless it is running. Resolves when it stops running. */
    run(session: Session, task: AgentTaskRecord): Promise<void> {
      const running = runningIn(session.slot)
      const known = running.get(task._id)
      if (known) {
        known.again = session
        return known.finished
      }
      const controller = new AbortController()
      const finished = work(session, task, controller).finally(() => {
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
    /** Ends running tasks that were deleted with their agents, and their followers. */
    sweep(session: Session): void {
      for (const [id, { workspace, controller }] of runningIn(session.slot))
        if (!findTask({ session, workspace }, id)) controller.abort(new TaskGone('the task is gone'))
      deps.events.sweep(session)
    },
    /** Ends a running task. Resolves when that is committed, with false if it is not running. */
    async end(session: Session, id: string, why: TurnEnded): Promise<boolean> {
      const found = runningIn(session.slot).get(id)
      if (!found) return false
      found.controller.abort(why)
      await found.finished
      return true
    },
  }
  return runner
}

/** Runs tasks. */
export type Runner = ReturnType<typeof createRunner>

/** Runs steps until the end of the turn, and commits the end whatever it is. */
async function takeSteps(turn: Turn, deadline: Deadline): Promise<void> {
  const { session, signal, deps } = turn
  try {
    if (turn.task.state === 'submitted') await commitStep(turn, () => ({ task: { state: 'working' } }))
    for (;;) {
      signal.throwIfAborted()
      refresh(turn)
      const next = nextStep(turn)
      if (next.do === 'ask') await throughIterationFaults(turn, deadline, () => askModel(turn))
      else if (next.do === 'run') await runTools(turn, next.calls)
      else if (await endTurn(turn)) return
    }
  } catch (error) {
    const why = signal.aborted ? signal.reason : error
    if (session.ended.aborted || error instanceof TaskGone) throw error
    if (why instanceof TaskGone) throw why
    if (why instanceof TurnEnded) return void (await endTurn(turn, { state: why.state, reason: why.reason }))
    const apiError = why instanceof ApiError ? why : bugError()
    if (apiError !== why) deps.gateway.report(why)
    const { message, code, status } = apiError
    await endTurn(turn, { state: 'failed', reason: 'error', error: { message, code, status } })
  }
}
