// The limits that end turns, as messages, and the limits of a team's work: depth of sub-tasks, their number, and model
// calls.
import type { TaskReason } from '../../contract/workspace/task-record.ts'
import type { AgentTaskRecord } from './manifest.ts'
import { findTask, type TaskPlace, writeChange } from './store.ts'

/** Maximum depth of sub-tasks: a team whose agents call each other in a cycle stops here. */
const MAX_DEPTH = 3
/** Maximum number of descendants of a task since its last user message. */
const MAX_SUB_TASKS = 20
/** Maximum number of model calls of those tasks. */
export const MAX_TEAM_CALLS = 200

/** Why no further sub-task can be started. */
export function subTaskLimit({ depth, root }: AgentTaskRecord, place: TaskPlace): string | undefined {
  if (depth >= MAX_DEPTH)
    return `tasks may work for each other ${MAX_DEPTH} deep, and this one is that deep: a team that calls itself in a circle ends here`
  const { descendants = 0, team_calls = 0 } = findTask(place, root) ?? {}
  if (descendants >= MAX_SUB_TASKS)
    return `${MAX_SUB_TASKS} tasks have worked for the first of these already, as many as may`
  return team_calls >= MAX_TEAM_CALLS ? teamCallsText : undefined
}

/** The message when the team has reached the limit of model calls. */
const teamCallsText = `the team has made ${MAX_TEAM_CALLS} model calls for one task, as many as it may`

/** The number of model calls of a task's team; 0 for the root task, which has limits of its own. */
export const teamCallsOf = ({ _id, root }: AgentTaskRecord, place: TaskPlace): number =>
  root === _id ? 0 : (findTask(place, root)?.team_calls ?? 0)

/** Adds model calls of a sub-task to its root task. Call it inside a transaction. */
export function countTeamCalls({ _id, root }: AgentTaskRecord, made: number, place: TaskPlace): void {
  const first = root === _id || made === 0 ? undefined : findTask(place, root)
  if (first) writeChange(place, first, { task: { team_calls: first.team_calls + made } })
}

/** The message for the limit that a task reached; undefined for other reasons. */
export function limitText(
  reason: TaskReason | null,
  limits: Pick<AgentTaskRecord['manifest']['settings'], 'max_iterations' | 'max_execution_time' | 'max_cost'>,
): string | undefined {
  switch (reason) {
    case 'max_iterations':
      return `Stopped after ${limits.max_iterations} iterations, as many as max_iterations allows.`
    case 'max_time':
      return `Stopped after ${limits.max_execution_time} s, as long as max_execution_time allows.`
    case 'max_cost':
      return `Stopped since it has cost ${limits.max_cost} USD, as much as max_cost allows.`
    case 'max_team_calls':
      return `Stopped since ${teamCallsText}.`
    default:
      return undefined
  }
}
