// The ends of turns: by their own outcome, or from outside, which aborts all calls in progress.

import { ApiError } from '../../contract/core/error.ts'
import type { TaskStep } from '../../contract/core/trace.ts'
import type { TaskReason } from '../../contract/workspace/task-record.ts'
import type { TaskState } from '../../contract/workspace/task-state.ts'
import { wakeParent } from '../store/commit.ts'
import { openCalls, type ToolCallPart } from '../store/messages.ts'
import type { TaskChange } from '../store/store.ts'
import { journalStep } from '../store/turn-trace.ts'
import { nextStep, type TurnOutcome } from './next-step.ts'
import { commitStep, type Turn } from './turn.ts'

/** A turn was ended while running; its calls end with it. */
export class TurnEnded extends ApiError {
  readonly state: TaskState
  readonly reason: TaskReason

  constructor(state: TaskState, reason: TaskReason, message: string) {
    super(409, reason === 'canceled' ? 'task_canceled' : 'turn_ended', message)
    this.state = state
    this.reason = reason
  }
}

/** The end of a turn whose task was canceled. */
export const canceled = (): TurnEnded => new TurnEnded('canceled', 'canceled', 'the task was canceled')
/** The end of a turn that reached its `max_execution_time`, in seconds. The task waits for input. */
export const timeUp = (seconds: number): TurnEnded =>
  new TurnEnded('input-required', 'max_time', `the turn has taken its max_execution_time of ${seconds} s`)

/** The message to the model about a call without a result. */
export const noResult = (reason: TaskReason): string =>
  reason === 'canceled' ? 'the task was canceled before there was a result' : 'the turn ended before there was a result'

/** The message that closes a call with an error. */
export const closing = ({ tool_call_id }: { tool_call_id: string }, error: string) => ({
  role: 'tool' as const,
  parts: [{ kind: 'tool_result' as const, tool_call_id, result: { error } }],
})

/** Closes tool calls with an error, for the model and for the journal. */
export const closedCalls = (
  at: Pick<Turn, 'task' | 'session'>,
  calls: readonly ToolCallPart[],
  error: string,
  about = (_: ToolCallPart): Partial<TaskStep> => ({}),
) => ({
  messages: calls.map((call) => closing(call, error)),
  steps: calls.map((call) => {
    const { tool_name: name, tool_call_id } = call
    const failed = { kind: 'tool', name, tool_call_id, outcome: 'failed', error } as const
    return journalStep(at, at.session.clock.now(), { ...about(call), ...failed })
  }),
})

/** The change of a task by the end of its turn. */
function endChange(turn: Turn, { state, reason, error = null, open = [], pending = [] }: TurnOutcome): TaskChange {
  const { session, history, task } = turn
  // A late call closes itself.
  const waited = new Set([...open, ...turn.late].map(({ tool_call_id }) => tool_call_id))
  const unanswered = openCalls(history.map(({ message }) => message)).filter((call) => !waited.has(call.tool_call_id))
  const about = ({ tool_name: name, tool_call_id }: ToolCallPart) => ({
    name,
    tool_call_id,
    task: task.children[tool_call_id] ?? null,
  })
  const now = session.clock.now()
  const waits = open.map((call) => journalStep(turn, now, { ...about(call), kind: 'wait', outcome: 'waiting' }))
  const { messages, steps } = closedCalls(turn, unanswered, noResult(reason), about)
  return {
    task: { state, finish_reason: reason, error, pending, ...(task.early && { early: undefined }) },
    messages,
    steps: [...waits, ...steps],
  }
}

/**
 * Commits the end of a turn, even if its signal is aborted. Without an outcome, it ends as its state at the commit says:
 * if a decision arrived meanwhile, nothing is written, false is returned, and the turn continues.
 */
export function endTurn(turn: Turn, outcome?: TurnOutcome): Promise<boolean> {
  const change = () => {
    const ending = outcome ?? nextStep(turn)
    return 'state' in ending ? endChange(turn, ending) : undefined
  }
  return commitStep(turn, change, { guard() {}, also: ({ task }) => wakeParent(turn.place, task) })
}
