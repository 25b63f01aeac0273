// What a task does next: a function of what is committed alone, so that a task that was killed goes on as if nothing had been.
import type { TaskMessage, TaskPart, TaskState } from '../contract/agent-task.ts'
import type { TaskReason } from '../contract/task-record.ts'
import { openCalls } from './messages.ts'
import { MOST_TEAM_CALLS } from './team-limits.ts'

type ToolCallPart = Extract<TaskPart, { kind: 'tool_call' }>

/** What can be done with a call of a tool. */
export type CallStanding = 'run' | 'client' | 'approval' | 'sub_task'

/** The next step of a task. */
export type NextStep =
  | { do: 'ask' }
  | { do: 'run'; calls: ToolCallPart[] }
  | { do: 'end'; state: TaskState; reason: TaskReason; open: ToolCallPart[] }

/** What bounds a turn, and how much of it is used. */
export interface TurnUse {
  iterations: number
  spent_ms: number
  cost: number
  /** Of a sub-task: how often models were asked by all who work for the same task. */
  team_calls: number
  limits: { max_iterations: number; max_execution_time: number; max_cost: number }
}

/** What is waited for when nothing can be run, by what the calls need. */
const WAITS: Record<Exclude<CallStanding, 'run'>, TaskReason> = {
  approval: 'approval',
  client: 'tool_calls',
  sub_task: 'sub_task',
}

/** The next step after a history; `standing` says what can be done with a call that has no result. */
export function nextStep(
  history: readonly TaskMessage[],
  use: TurnUse,
  standing: (call: ToolCallPart) => CallStanding,
): NextStep {
  const open = openCalls(history)
  const standings = open.map(standing)
  const calls = open.filter((_, index) => standings[index] === 'run')
  if (calls.length > 0) return { do: 'run', calls }
  for (const need of ['approval', 'client', 'sub_task'] as const)
    if (standings.includes(need)) return { do: 'end', state: 'input-required', reason: WAITS[need], open }
  if (history.at(-1)?.role === 'agent') return { do: 'end', state: 'completed', reason: 'stop', open: [] }
  const reason = limitOf(use)
  return reason ? { do: 'end', state: 'input-required', reason, open: [] } : { do: 'ask' }
}

/** The limit that a turn has come to. */
function limitOf({ iterations, spent_ms, cost, team_calls, limits }: TurnUse): TaskReason | undefined {
  if (iterations >= limits.max_iterations) return 'max_iterations'
  if (spent_ms >= limits.max_execution_time * 1000) return 'max_time'
  if (team_calls >= MOST_TEAM_CALLS) return 'max_team_calls'
  return limits.max_cost > 0 && cost >= limits.max_cost ? 'max_cost' : undefined
}
