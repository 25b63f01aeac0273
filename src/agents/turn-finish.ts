// The end of a turn: its state, what becomes of calls without a result, the last form of its trace, all in one commit.
import type { TaskState } from '../contract/agent-task.ts'
import type { TaskReason } from '../contract/task-record.ts'
import type { TraceRecord } from '../contract/trace.ts'
import { agents } from '../resources/agents.ts'
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
  const waited = new Set(open.map(({ tool_call_id }) => tool_call_id))
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
      charge(turn)
      wakeParent(place, task)
    },
  )
  if (trace) turn.deps.events.ended(session, turn.task, trace)
}

/** Adds to what the agent has cost in all. */
function charge({ session, task: { totals, workspace_id, agent_id } }: Turn): void {
  const cost = totals.cost - totals.billed
  const found = cost > 0 ? session.records.get(agents.kind, workspace_id, agent_id)?.body : undefined
  if (!found) return
  const body = { ...found, total_cost: Number(found.total_cost ?? 0) + cost }
  session.records.update(agent_id, { key: String(found.key), body })
}
