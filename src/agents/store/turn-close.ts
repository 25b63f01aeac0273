// What the end of a turn changes elsewhere: the cost of its agent, its trace, and the task that waits for it.
import type { TraceRecord } from '../../contract/core/trace.ts'
import { agents } from '../../resources/agents.ts'
import type { Session } from '../../sessions/sessions.ts'
import { limitText } from './limits.ts'
import type { AgentTaskRecord } from './manifest.ts'
import { openCalls } from './messages.ts'
import { findTask, journalOf, messagesOf, type TaskPlace, type WholeTask, writeChange } from './store.ts'
import { replaceTurnTrace } from './turn-trace.ts'

/**
 * Charges the agent for a turn that ended, and stores its final trace: it ended now, or when the task was last changed.
 * Call it inside a transaction.
 */
export function closeTurn(place: TaskPlace, before: AgentTaskRecord, whole: WholeTask): TraceRecord {
  const { session } = place
  const { active, updated, totals } = before
  charge(session, before, whole.task.totals.cost - totals.billed)
  const ended = active === null ? Date.parse(updated) : session.clock.now()
  return replaceTurnTrace(session, whole, { journal: journalOf(place, whole.task._id), ended })
}

/** Adds to the total cost of an agent's tasks, in USD. */
function charge(session: Session, { workspace_id, agent_id }: AgentTaskRecord, cost: number): void {
  const found = cost > 0 ? session.records.get(agents.kind, workspace_id, agent_id)?.body : undefined
  if (!found) return
  const body = { ...found, total_cost: Number(found.total_cost ?? 0) + cost }
  session.records.update(agent_id, { key: String(found.key), body })
}

/** Whether a sub-task blocks its parent. */
const keepsWaiting = (child: AgentTaskRecord | undefined): boolean =>
  child !== undefined &&
  (child.active !== null ||
    (child.state === 'input-required' && limitText(child.finish_reason, child.manifest.settings) === undefined))

/**
 * Wakes the parent of a task, in the transaction that ends the task; or the task itself if its sub-task has ended
 * meanwhile.
 */
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
