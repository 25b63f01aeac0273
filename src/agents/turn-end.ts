// What ends a turn from outside: it aborts whatever is under way.
import type { TaskState } from '../contract/agent-task.ts'
import { ApiError } from '../contract/error.ts'
import type { TaskReason } from '../contract/task-record.ts'
import { teamCallsText } from './team-limits.ts'

/** A turn is ended while it works; the calls that it was making end with it. */
export class TurnEnded extends ApiError {
  readonly state: TaskState
  readonly reason: TaskReason

  constructor(state: TaskState, reason: TaskReason, message: string) {
    super(409, reason === 'canceled' ? 'task_canceled' : 'turn_ended', message)
    this.state = state
    this.reason = reason
  }
}

export const canceled = (): TurnEnded => new TurnEnded('canceled', 'canceled', 'the task was canceled')
export const timeUp = (seconds: number): TurnEnded =>
  new TurnEnded('input-required', 'max_time', `the turn has taken its max_execution_time of ${seconds} s`)

/** The task is not there any more: its agent was deleted, or it was. */
export class TaskGone extends Error {}

/** What a task says of the limit that it has come to; undefined of other reasons. */
export function limitText(
  reason: TaskReason | null,
  {
    max_iterations,
    max_execution_time,
    max_cost,
  }: Record<'max_iterations' | 'max_execution_time' | 'max_cost', number>,
): string | undefined {
  switch (reason) {
    case 'max_iterations':
      return `Stopped after ${max_iterations} iterations, as many as max_iterations allows.`
    case 'max_time':
      return `Stopped after ${max_execution_time} s, as long as max_execution_time allows.`
    case 'max_cost':
      return `Stopped since it has cost ${max_cost} USD, as much as max_cost allows.`
    case 'max_team_calls':
      return `Stopped since ${teamCallsText}.`
    default:
      return undefined
  }
}

/** What the model reads of a call whose result never came. */
export const noResult = (reason: TaskReason): string =>
  reason === 'canceled' ? 'the task was canceled before there was a result' : 'the turn ended before there was a result'

/** The message that closes a call with an error. */
export const closing = ({ tool_call_id }: { tool_call_id: string }, error: string) => ({
  role: 'tool' as const,
  parts: [{ kind: 'tool_result' as const, tool_call_id, result: { error } }],
})
