// The current state of agent tasks for verdicts: the trace of a turn is complete only at its end.

import type { TaskStep } from '../contract/core/trace.ts'
import { isActive } from '../contract/workspace/agent-task.ts'
import { AGENT_STEP, AGENT_TASK, type TaskRecord } from '../contract/workspace/task-record.ts'
import type { TraceEvidence } from '../db/trace-evidence.ts'
import type { TaskReaders } from '../observers/task-readers.ts'
import type { Session } from '../sessions/session.ts'
import type { UnreadTask } from '../verdict/tasks.ts'

/** The calls; those that are turns of tasks with the current steps of the tasks. */
export function asTheyAre(calls: Iterable<TraceEvidence>, { records }: Session): TraceEvidence[] {
  const tasks = records.keyed(AGENT_TASK).map(({ body }) => body as TaskRecord)
  const working = new Map(tasks.map((task) => [task.turn.trace, task]))
  return [...calls].map((call) => {
    const { task: seen, faults } = call.trace
    if (!seen) return call
    const task = working.get(call.trace.id)
    // A task that was deleted while it ran has no end.
    if (!task) return isActive(seen.state) ? withTask(call, { ...seen, state: 'gone' }, faults) : call
    const { state, finish_reason, turn } = task
    const page = { kind: AGENT_STEP, workspace: task.workspace_id, parent: task._id }
    const journal = records.page(page).data.reverse() as TaskStep[]
    const steps = journal.filter((step) => step.turn === turn.number)
    const triggered = new Set([...faults, ...steps.flatMap((step) => step.faults ?? [])])
    return withTask(call, { ...seen, state, finish_reason, iterations: turn.iterations, steps }, [...triggered])
  })
}

const withTask = (
  call: TraceEvidence,
  task: NonNullable<TraceEvidence['trace']['task']>,
  faults: string[],
): TraceEvidence => ({ ...call, trace: { ...call.trace, task, faults } })

/** The turns whose end was not read, of tasks that still exist. */
export const unreadTasks = ({ records, slot }: Session, readers: TaskReaders): UnreadTask[] =>
  readers.unread(slot).flatMap(({ task, workspace, trace, looks }) => {
    const found = records.get(AGENT_TASK, workspace, task)?.body as TaskRecord | undefined
    return found ? [{ trace, state: found.state, looks }] : []
  })
