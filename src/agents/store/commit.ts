// The only way to change a task: from its current state, in one transaction, and reported to all listeners after the
// commit. The end of a turn also changes the cost of its agent, its trace, and the task that waits for it.

import type { TraceRecord } from '../../contract/core/trace.ts'
import type { MessageRecord } from '../../contract/workspace/task-record.ts'
import { isActive } from '../../contract/workspace/task-state.ts'
import { agents } from '../../resources/agents.ts'
import type { TaskEvents } from './events.ts'
import { limitText } from './limits.ts'
import type { AgentTaskRecord } from './manifest.ts'
import { openCalls } from './messages.ts'
import {
  findTask,
  journalOf,
  messagesOf,
  type TaskChange,
  type TaskPlace,
  type WholeTask,
  type WrittenTask,
  writeChange,
} from './store.ts'
import { replaceTurnTrace } from './turn-trace.ts'

/** The parts of a change. */
export interface CommitParts {
  /** Notified of the change, and of the turn that it starts or ends. */
  events: TaskEvents
  /**
   * The task to change, as it is stored, or a new one; undefined for no change. Runs in the transaction, as all of this
   * does: what it throws rolls it back.
   */
  read(): AgentTaskRecord | undefined
  /** Additional writes. */
  also?(written: WrittenTask, before: AgentTaskRecord): void
  /** All messages of the task, if `also` keeps them up to date. */
  history?: readonly MessageRecord[]
}

/**
 * Commits a change, computed from the current state. Returns the task, or undefined if there is no change. A task that
 * ends is charged, and its trace gets its final form.
 * @throws what `read` and `change` throw
 */
export async function commit(
  place: TaskPlace,
  change: (task: AgentTaskRecord) => TaskChange | undefined,
  { events, read, also, history }: CommitParts,
): Promise<AgentTaskRecord | undefined> {
  const { session } = place
  const committed = await session.transact(() => {
    const before = read()
    const made = before && change(before)
    if (!made) return undefined
    const { state, totals } = { ...before, ...made.task }
    const ended = !isActive(state)
    const paid = ended ? { task: { ...made.task, totals: { ...totals, billed: totals.cost } } } : {}
    const written = writeChange(place, before, { ...made, ...paid })
    also?.(written, before)
    const trace =
      ended && closeTurn(place, before, { task: written.task, history: history ?? messagesOf(place, before._id) })
    return { ...written, steps: made.steps ?? [], trace, begins: before.turn.number !== written.task.turn.number }
  })
  if (!committed) return undefined
  events.committed(session, committed)
  return committed.task
}

/**
 * Charges the agent for a turn that ended, and stores its final trace: it ended now, or when the task was last changed.
 * Call it inside a transaction.
 */
function closeTurn(place: TaskPlace, before: AgentTaskRecord, whole: WholeTask): TraceRecord {
  const { session } = place
  const { active, updated, totals, workspace_id, agent_id } = before
  const cost = whole.task.totals.cost - totals.billed
  const agent = cost > 0 ? session.records.get(agents.kind, workspace_id, agent_id)?.body : undefined
  if (agent) {
    const body = { ...agent, total_cost: Number(agent.total_cost ?? 0) + cost }
    session.records.update(agent_id, { key: String(agent.key), body })
  }
  const ended = active === null ? Date.parse(updated) : session.clock.now()
  return replaceTurnTrace(session, whole, { journal: journalOf(place, whole.task._id), ended })
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
