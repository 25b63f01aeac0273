// The loop of a turn: one step after another, each committed before the next.
import { ApiError, bugError } from '../../contract/core/error.ts'
import type { Deadline } from '../../lib/deadline.ts'
import { commitStep, refresh } from './commit-step.ts'
import { askModel } from './model-step.ts'
import { nextStep } from './next-step.ts'
import { throughIterationFaults } from './task-faults.ts'
import { runTools } from './tool-step.ts'
import { TaskGone, type Turn } from './turn.ts'
import { endTurn, TurnEnded } from './turn-end.ts'

/** Runs steps until the end of the turn, and commits the end whatever it is. */
export async function takeSteps(turn: Turn, deadline: Deadline): Promise<void> {
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
