// Which tasks run: each until its turn ends or waits for its client.
import { startDeadline } from '../../lib/deadline.ts'
import type { SessionHandle } from '../../sessions/session.ts'
import type { Session } from '../../sessions/sessions.ts'
import type { AgentTaskRecord } from '../store/manifest.ts'
import { findTask } from '../store/store.ts'
import { takeSteps } from './steps.ts'
import { TaskGone, type Turn, type TurnDeps, turnOf } from './turn.ts'
import { type TurnEnded, timeUp } from './turn-end.ts'

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
