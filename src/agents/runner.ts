// The loop of a task: one step after another, each committed before the next, until the turn ends or waits for its client.
import { ApiError, bugError } from '../contract/error.ts'
import { type Deadline, startDeadline } from '../lib/deadline.ts'
import type { SessionSlot } from '../sessions/session.ts'
import type { Session } from '../sessions/sessions.ts'
import type { AgentTaskRecord } from './manifest.ts'
import { askModel } from './model-step.ts'
import { type NextStep, nextStep } from './next-step.ts'
import { findTask } from './store.ts'
import { throughTaskFaults } from './task-faults.ts'
import { teamCallsOf } from './team-limits.ts'
import { runTools, standingOf } from './tool-step.ts'
import { journalStep, type Turn, type TurnDeps, turnOf } from './turn.ts'
import { TaskGone, TurnEnded, timeUp } from './turn-end.ts'
import { finishTurn, type TurnOutcome } from './turn-finish.ts'

/** Runs tasks. */
export interface Runner {
  /** Goes on with an active task, unless it is running; resolves when it runs no more. */
  run(session: Session, task: AgentTaskRecord): Promise<void>
  /** Ends what runs of tasks that are there no more, since their agents were deleted, and who follows them. */
  sweep(session: Session): void
  /** Ends a task that is running; resolves when that is committed, false when it is not running. */
  end(session: Session, id: string, why: TurnEnded): Promise<boolean>
}

interface RunningTask {
  workspace: string
  controller: AbortController
  over: Promise<void>
  /** The session in which somebody has woken it meanwhile: perhaps a later generation than the one that it runs in. */
  again: Session | undefined
}

/** A runner; `ended` is told of each turn that ended. */
export function createRunner(deps: TurnDeps, ended: (turn: Turn) => void): Runner {
  const slots = new WeakMap<SessionSlot, Map<string, RunningTask>>()
  const runningIn = (slot: SessionSlot) => {
    const found = slots.get(slot) ?? new Map<string, RunningTask>()
    slots.set(slot, found)
    return found
  }
  const runner: Runner = {
    run(session, task) {
      const running = runningIn(session.slot)
      const known = running.get(task._id)
      if (known) {
        known.again = session
        return known.over
      }
      const controller = new AbortController()
      const over = work(session, task, { deps, controller, ended }).finally(() => {
        running.delete(task._id)
        // What woke it came when its turn had just ended.
        const { again } = entry
        if (!again || again.ended.aborted) return
        const now = findTask({ session: again, workspace: task.workspace_id }, task._id)
        if (now && now.active !== null) void runner.run(again, now)
      })
      const entry: RunningTask = { workspace: task.workspace_id, controller, over, again: undefined }
      running.set(task._id, entry)
      return over
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
      await found.over
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
    // What ends with its session or its agent has nowhere to be written; the session's next generation goes on with it.
    if (error instanceof TaskGone) deps.events.notify(session, { type: 'gone', task: turn.task })
    else if (!session.ended.aborted) deps.gateway.report(error)
  } finally {
    deadline.stop()
    activity.end()
    for (const { arrive } of turn.late) void arrive()
  }
}

/** Takes steps to the end of the turn, which is committed whatever it is. */
async function steps(turn: Turn, deadline: Deadline): Promise<void> {
  const { session, signal, deps } = turn
  try {
    if (turn.task.state === 'submitted') await turn.commit(() => ({ task: { state: 'working' } }))
    for (;;) {
      signal.throwIfAborted()
      turn.refresh()
      const next = nextOf(turn)
      if (next.do === 'ask') await iterate(turn, deadline)
      else if (next.do === 'run') await runTools(turn, next.calls)
      else if (await finishTurn(turn, () => endOf(turn))) return
    }
  } catch (error) {
    const why = signal.aborted ? signal.reason : error
    if (session.ended.aborted || error instanceof TaskGone) throw error
    if (why instanceof TaskGone) throw why
    if (why instanceof TurnEnded) return void (await finishTurn(turn, () => ({ state: why.state, reason: why.reason })))
    const known = why instanceof ApiError ? why : bugError()
    if (known !== why) deps.gateway.report(why)
    const { message, code, status } = known
    await finishTurn(turn, () => ({ state: 'failed', reason: 'error', error: { message, code, status } }))
  }
}

/** An iteration, which a fault may keep from ever coming to its end; the turn's limit of time stands still while it is held up. */
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
    turn.commit(() => ({ steps: [step] })).catch(() => {})
  }
  const moment = { at: 'task', iteration, key: `${iterations}:iteration` } as const
  return throughTaskFaults(turn, { ...moment, signal, onTriggered }, () => askModel(turn))
}

/** The next step of a task as it was read last. */
function nextOf(turn: Turn): NextStep {
  const { turn: use, manifest } = turn.task
  const history = turn.history.map(({ message }) => message)
  const used = { ...use, team_calls: teamCallsOf(turn.task, turn.place), limits: manifest.settings }
  return nextStep(history, used, (call) => standingOf(turn, call))
}

/** How a turn ends, if it still does. */
function endOf(turn: Turn): TurnOutcome | undefined {
  const next = nextOf(turn)
  return next.do === 'end' ? next : undefined
}
