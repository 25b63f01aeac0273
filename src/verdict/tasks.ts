// Tasks of agents as they are counted, from the traces of their turns.

import type { TaskStep, TraceRecord } from '../contract/core/trace.ts'
import type { TaskCounts } from '../contract/core/verification.ts'
import { isActive } from '../contract/workspace/agent-task.ts'

/** A task with what its turns did. */
export interface CountedTask {
  /** Key of its agent. */
  agent: string
  state: string
  /** Whether it works for another task. */
  isSubTask: boolean
  steps: readonly TaskStep[]
}

/** The turn of a client whose end nobody has read. */
export interface UnreadTask {
  /** Id of the trace of its turn. */
  trace: string
  state: string
  /** How often it was looked at while it was at work. */
  looks: number
}

/** The tasks whose turns are among these calls, which are in the order in which they began. */
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

/** Model calls, those that failed included. */
export const iterationsOf = ({ steps }: CountedTask): number => steps.filter(({ kind }) => kind === 'model').length

/** Calls of tools, those that a sub-task answered and those without a result included, once they are over. */
export const toolStepsOf = ({ steps }: CountedTask): TaskStep[] =>
  steps.filter(({ kind }) => kind === 'tool' || kind === 'task')

/** How much of each there is. */
export function countTasks(tasks: readonly CountedTask[]): TaskCounts {
  const sum = (of: (task: CountedTask) => number) => tasks.reduce((total, task) => total + of(task), 0)
  const states: Record<string, number> = {}
  for (const { state, isSubTask } of tasks) if (!isSubTask) states[state] = (states[state] ?? 0) + 1
  return {
    states,
    running: tasks.filter(({ state }) => isActive(state)).length,
    iterations: sum(iterationsOf),
    tool_calls: sum((task) => toolStepsOf(task).length),
    sub_tasks: tasks.filter(({ isSubTask }) => isSubTask).length,
  }
}
