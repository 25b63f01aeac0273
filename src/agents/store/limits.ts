// What tasks say of the limits that end their turns, and how much work one task may make for a team: how deep tasks work for each other, how many there are, and how often they ask models.
import type { TaskReason } from '../../contract/workspace/task-record.ts'
import type { AgentTaskRecord } from './manifest.ts'
import { findTask, type TaskPlace, writeChange } from './store.ts'

/** A team that calls itself in a circle comes to an end here. */
const MAX_DEPTH = 3
/** All tasks that work for one task, and for those, since its user spoke last. */
const MAX_SUB_TASKS = 20
/** All model calls of those tasks. */
export const MAX_TEAM_CALLS = 200

/** Why no further sub-task can be begun. */
export function subTaskLimit({ depth, root }: AgentTaskRecord, place: TaskPlace): string | undefined {
  if (depth >= MAX_DEPTH)
    return `tasks may work for each other ${MAX_DEPTH} deep, and this one is that deep: a team that calls itself in a circle ends here`
  const { descendants = 0, team_calls = 0 } = findTask(place, root) ?? {}
  if (descendants >= MAX_SUB_TASKS)
    return `${MAX_SUB_TASKS} tasks have worked for the first of these already, as many as may`
  return team_calls >= MAX_TEAM_CALLS ? teamCallsText : undefined
}

/** What is said where the team has asked models as often as it may. */
const teamCallsText = `the team has made ${MAX_TEAM_CALLS} model calls for one task, as many as it may`

/** How often the models of a team have been asked that a task belongs to; 0 for the task that the team works for, which has limits of its own. */
export const teamCallsOf = ({ _id, root }: AgentTaskRecord, place: TaskPlace): number =>
  root === _id ? 0 : (findTask(place, root)?.team_calls ?? 0)

/** Counts model calls of a sub-task with the task that all of its team work for; belongs inside a transaction. */
export function countTeamCalls({ _id, root }: AgentTaskRecord, made: number, place: TaskPlace): void {
  const first = root === _id || made === 0 ? undefined : findTask(place, root)
  if (first) writeChange(place, first, { task: { team_calls: first.team_calls + made } })
}

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
