// Who waits for whom: a task whose sub-task waits for its client waits with it, and is woken by its end.
import type { AgentTaskRecord } from './manifest.ts'
import { openCalls } from './messages.ts'
import { findTask, messagesOf, type TaskPlace, writeChange } from './store.ts'
import { limitText } from './turn-end.ts'

/** Whether a sub-task keeps the one that it works for waiting. */
export const keepsWaiting = (child: AgentTaskRecord | undefined): boolean =>
  child !== undefined &&
  (child.active !== null ||
    (child.state === 'input-required' && limitText(child.finish_reason, child.manifest.settings) === undefined))

/** Wakes the task that a task has worked for, in the transaction that ends it; the task itself when what it waits for has come meanwhile. */
export function wakeParent(place: TaskPlace, task: AgentTaskRecord): void {
  const parent = task.parent && !keepsWaiting(task) ? findTask(place, task.parent.task) : undefined
  for (const one of [task, parent])
    if (one && isDue(place, one)) writeChange(place, one, { task: { state: 'working', finish_reason: null } })
}

/** Whether a task waits for a sub-task that has ended. */
function isDue(place: TaskPlace, { _id, state, children }: AgentTaskRecord): boolean {
  if (state !== 'input-required' || Object.keys(children).length === 0) return false
  const open = openCalls(messagesOf(place, _id).map(({ message }) => message))
  return open.some(({ tool_call_id }) => {
    const child = children[tool_call_id]
    return child !== undefined && !keepsWaiting(findTask(place, child))
  })
}
