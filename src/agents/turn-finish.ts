// The end of a turn: its state, what becomes of calls without a result, the last form of its trace, all in one commit.
import type { TaskState } from '../contract/agent-task.ts'
import type { TaskReason } from '../contract/task-record.ts'
import type { TraceRecord } from '../contract/trace.ts'
import { charge } from './charge.ts'
import type { AgentTaskRecord } from './manifest.ts'
import { openCalls, type ToolCallPart } from './messages.ts'
import type { TaskChange } from './store.ts'
import { standingOf } from './tool-step.ts'
import { journalStep, type Turn } from './turn.ts'
import { closing, noResult } from './turn-end.ts'
import { replaceTurnTrace } from './turn-trace.ts'
import { wakeParent } from './waiting.ts'

/** How a turn ends. */
export interface TurnOutcome {
  state: TaskState
  reason: TaskReason
  error?: AgentTaskRecord['error']
  /** The calls that are waited for; all others that are open are closed. */
  open?: readonly ToolCallPart[]
}

/**
 * Commits the end of a turn. `outcome` is asked in the transaction, of the task as it is then; false, and nothing is written, when there
 * is none: a decision about a call has come meanwhile, and the turn goes on.
 */
export async function finishTurn(turn: Turn, outcome: () => TurnOutcome | undefined): Promise<boolean> {
  const { session, place, history } = turn
  let trace: TraceRecord | undefined
  const finished = await turn.finish(
    () => {
      const ending = outcome()
      return ending && endOf(turn, ending)
    },
    (task, before) => {
      trace = replaceTurnTrace({ task, history }, place, session.clock.now())
      charge(session, before)
      wakeParent(place, task)
    },
  )
  if (trace) turn.deps.events.ended(session, turn.task, trace)
  return finished
}

/** What the end of a turn changes of its task. */
function endOf(turn: Turn, { state, reason, error = null, open = [] }: TurnOutcome): TaskChange {
  const { session, history, task } = turn
  const now = session.clock.now()
  // What is to come late closes its call itself.
  const waited = new Set([...open, ...turn.late].map(({ tool_call_id }) => tool_call_id))
  const unanswered = openCalls(history.map(({ message }) => message)).filter((call) => !waited.has(call.tool_call_id))
  const about = ({ tool_name: name, tool_call_id }: ToolCallPart) => ({
    name,
    tool_call_id,
    task: task.children[tool_call_id] ?? null,
  })
  const waits = open.map((call) => journalStep(turn, now, { ...about(call), kind: 'wait', outcome: 'waiting' }))
  const why = noResult(reason)
  const closed = unanswered.map((call) =>
    journalStep(turn, now, { ...about(call), kind: 'tool', outcome: 'failed', error: why }),
  )
  const pending = open.filter((call) => standingOf(turn, call) === 'approval').map(({ tool_call_id }) => tool_call_id)
  const totals = { ...task.totals, billed: task.totals.cost }
  return {
    task: { state, finish_reason: reason, error, pending, totals, ...(task.early && { early: undefined }) },
    messages: unanswered.map((call) => closing(call, why)),
    steps: [...waits, ...closed],
  }
}
