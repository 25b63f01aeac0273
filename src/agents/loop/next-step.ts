// The next step of a task: a function of the committed state alone, so that a killed process continues seamlessly.

import type { TaskReason } from '../../contract/workspace/task-record.ts'
import type { TaskState } from '../../contract/workspace/task-state.ts'
import { MAX_TEAM_CALLS, teamCallsOf } from '../store/limits.ts'
import type { AgentFunction, AgentTaskRecord } from '../store/manifest.ts'
import { openCalls, type ToolCallPart } from '../store/messages.ts'
import type { Turn } from './turn.ts'

/** What is needed for a tool call. */
type CallStanding = 'run' | 'client' | 'approval' | 'sub_task'

/** How a turn ends. */
export interface TurnOutcome {
  state: TaskState
  reason: TaskReason
  error?: AgentTaskRecord['error']
  /** The awaited calls; all other open ones are closed. */
  open?: readonly ToolCallPart[]
  /** The ids of those that wait for approval. */
  pending?: string[]
}

/** The next step of a task. */
type NextStep = { do: 'ask' } | { do: 'run'; calls: ToolCallPart[] } | ({ do: 'end' } & TurnOutcome)

/** The finish reason when nothing can run, by what the calls need. */
const WAITS: Record<Exclude<CallStanding, 'run'>, TaskReason> = {
  approval: 'approval',
  client: 'tool_calls',
  sub_task: 'sub_task',
}

/** The next step of a task in its last read state. */
export function nextStep(turn: Turn): NextStep {
  const { task, place } = turn
  const history = turn.history.map(({ message }) => message)
  const open = openCalls(history)
  const standings = open.map((call) => standingOf(turn, call))
  const calls = open.filter((_, index) => standings[index] === 'run')
  if (calls.length > 0) return { do: 'run', calls }
  for (const need of ['approval', 'client', 'sub_task'] as const)
    if (standings.includes(need)) {
      const waiting = open.filter((_, index) => standings[index] === 'approval')
      const pending = waiting.map(({ tool_call_id }) => tool_call_id)
      return { do: 'end', state: 'input-required', reason: WAITS[need], open, pending }
    }
  if (history.at(-1)?.role === 'agent') return { do: 'end', state: 'completed', reason: 'stop' }
  const reason = limitOf(task, teamCallsOf(task, place))
  return reason ? { do: 'end', state: 'input-required', reason } : { do: 'ask' }
}

/** What is needed for a call without a result. */
function standingOf({ task, offered, waiting, session }: Turn, call: ToolCallPart): CallStanding {
  const tool = offered.get(call.tool_name)
  // The model receives an error if there is no such tool.
  if (!tool) return 'run'
  const needed = session.approvals !== 'auto' && needsApproval(task.manifest.settings.tool_approval_required, tool)
  if (needed && !task.approved.includes(call.tool_call_id)) return 'approval'
  if (!tool.kind.run) return 'client'
  return waiting.has(call.tool_call_id) ? 'sub_task' : 'run'
}

const needsApproval = (required: 'all' | 'respect_tool' | 'none', { entry }: AgentFunction): boolean =>
  required === 'all' || (required === 'respect_tool' && entry.requires_approval)

/** The limit that a turn has reached; `teamCalls` is the number of model calls of the whole team. */
function limitOf({ turn, manifest: { settings: limits } }: AgentTaskRecord, teamCalls: number): TaskReason | undefined {
  const { iterations, spent_ms, cost } = turn
  if (iterations >= limits.max_iterations) return 'max_iterations'
  if (spent_ms >= limits.max_execution_time * 1000) return 'max_time'
  if (teamCalls >= MAX_TEAM_CALLS) return 'max_team_calls'
  return limits.max_cost > 0 && cost >= limits.max_cost ? 'max_cost' : undefined
}
