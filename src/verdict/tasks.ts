// Counts the tasks of agents from the traces of their turns.

import type { TaskStep, TraceRecord } from '../contract/core/trace.ts'
import type { TaskCounts } from '../contract/core/verification.ts'
import { isActive } from '../contract/workspace/task-state.ts'
import { sumOf } from '../lib/values.ts'

/** A task with the steps of all its turns. */
export interface CountedTask {
  /** Key of its agent. */
  agent: string
  state: string
  /** Whether another task started it. */
  isSubTask: boolean
  steps: readonly TaskStep[]
}

/** A turn whose final status the client has not read. */
export interface UnreadTask {
  /** Id of the trace of its turn. */
  trace: string
  state: string
  /** Number of polls while it was running. */
  looks: number
}

/** The tasks whose turns are among these calls, given in order of their start. */
export function tasksIn(traces: readonly TraceRecord[]): CountedTask[] {
  const tasks = new Map<string, CountedTask>()
  for (const { task } of traces) {
    if (!task) continue
    const { id, agent, state, parent, steps } = task
    const before = tasks.get(id)?.steps ?? []
    tasks.set(id, { agent, state, isSubTask: parent !== null, steps: [...before, ...steps] })
  }
  return [...tasks.values()]
}

/** Number of model calls, including failed ones. */
export const iterationsOf = ({ steps }: CountedTask): number => steps.filter(({ kind }) => kind === 'model').length

/** Completed tool calls, including those answered by a sub-task or without a result. */
export const toolStepsOf = ({ steps }: CountedTask): TaskStep[] =>
  steps.filter(({ kind }) => kind === 'tool' || kind === 'task')

/** Counts tasks, iterations, tool calls and sub-tasks. */
export function countTasks(tasks: readonly CountedTask[]): TaskCounts {
  const states: Record<string, number> = {}
  for (const { state, isSubTask } of tasks) if (!isSubTask) states[state] = (states[state] ?? 0) + 1
  return {
    states,
    running: tasks.filter(({ state }) => isActive(state)).length,
    iterations: sumOf(tasks, iterationsOf),
    tool_calls: sumOf(tasks, (task) => toolStepsOf(task).length),
    sub_tasks: tasks.filter(({ isSubTask }) => isSubTask).length,
  }
}
