// The end of a turn: its state, what becomes of calls without a result, the last form of its trace, all in one commit.
import type { TaskState } from '../contract/agent-task.ts'
import type { TaskReason } from '../contract/task-record.ts'
import type { TraceRecord } from '../contract/trace.ts'
import { charge } from './charge.ts'
import type { AgentTaskRecord } from './manifest.ts'
import { openCalls, type ToolCallPart } from './messages.ts'
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

/** Commits the end of a turn. */
export async function finishTurn(turn: Turn, { state, reason, error = null, open = [] }: TurnOutcome): Promise<void> {
  const { session, place, history } = turn
  const now = session.clock.now()
  // What is to come late closes its call itself.
  const waited = new Set([...open, ...turn.late].map(({ tool_call_id }) => tool_call_id))
  const unanswered = openCalls(history.map(({ message }) => message)).filter((call) => !waited.has(call.tool_call_id))
  const about = ({ tool_name: name, tool_call_id }: ToolCallPart) => ({
    name,
    tool_call_id,
    task: turn.task.children[tool_call_id] ?? null,
  })
  const waits = open.map((call) => journalStep(turn, now, { ...about(call), kind: 'wait', outcome: 'waiting' }))
  const why = noResult(reason)
  const closed = unanswered.map((call) =>
    journalStep(turn, now, { ...about(call), kind: 'tool', outcome: 'failed', error: why }),
  )
  const pending = open.filter((call) => standingOf(turn, call) === 'approval').map(({ tool_call_id }) => tool_call_id)
  let trace: TraceRecord | undefined
  await turn.finish(
    ({ totals }) => ({
      task: { state, finish_reason: reason, error, pending, totals: { ...totals, billed: totals.cost } },
      messages: unanswered.map((call) => closing(call, why)),
      steps: [...waits, ...closed],
    }),
    (task) => {
      trace = replaceTurnTrace({ task, history }, place, session.clock.now())
      charge(session, turn.task)
      wakeParent(place, task)
    },
  )
  if (trace) turn.deps.events.ended(session, turn.task, trace)
}
