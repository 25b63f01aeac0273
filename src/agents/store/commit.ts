// The one way to change a task: as it is then, in one transaction, and reported to everyone once that is committed.

import type { TraceRecord } from '../../contract/core/trace.ts'
import { isActive } from '../../contract/workspace/agent-task.ts'
import type { MessageRecord } from '../../contract/workspace/task-record.ts'
import { agents } from '../../resources/agents.ts'
import type { Session } from '../../sessions/sessions.ts'
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
  type TurnBasis,
  taskNotFound,
  type WholeTask,
  type WrittenTask,
  writeChange,
} from './store.ts'
import { replaceTurnTrace } from './turn-trace.ts'

/** What a change of a task goes with. */
export interface CommitParts {
  /** Hears of the change, and of the turn that it begins or ends. */
  events: TaskEvents
  /**
   * The task to be changed, given what is stored; undefined when nothing is to be changed after all. A task that is missing is a 404
   * when left out. Belongs to the transaction, as all of this does: what it throws undoes it.
   */
  guard?(found: AgentTaskRecord | undefined): AgentTaskRecord | undefined
  /** What else is written. */
  also?(written: WrittenTask, before: AgentTaskRecord): void
  /** What the turn works with, where that is known. */
  basis?: TurnBasis
  /** All messages of the task, where `also` keeps them up to date. */
  history?: readonly MessageRecord[]
}

/**
 * Commits a change, which is made of the task as it is then; gives the task, or undefined when there is no change. A task that is
 * no longer active has cost what it has cost, and its trace gets its last form.
 * @param id undefined for a task that `guard` makes
 * @throws ApiError 404 when there is no such task, and what `guard` and `change` throw
 */
export async function commit(
  place: TaskPlace,
  id: string | undefined,
  change: (task: AgentTaskRecord) => TaskChange | undefined,
  { events, guard = thereIs(id), also, basis, history }: CommitParts,
): Promise<AgentTaskRecord | undefined> {
  const { session } = place
  const committed = await session.transact(() => {
    const before = guard(id === undefined ? undefined : findTask(place, id, basis))
    const made = before && change(before)
    if (!made) return undefined
    const { state, totals } = { ...before, ...made.task }
    const over = !isActive(state)
    const paid = over ? { task: { ...made.task, totals: { ...totals, billed: totals.cost } } } : {}
    const written = writeChange(place, before, { ...made, ...paid })
    also?.(written, before)
    if (over) charge(session, before, totals.cost - totals.billed)
    const trace =
      over && endTrace(place, before, { task: written.task, history: history ?? messagesOf(place, before._id) })
    return { ...written, steps: made.steps ?? [], trace, begins: before.turn.number !== written.task.turn.number }
  })
  if (!committed) return undefined
  const { trace, begins, ...changed } = committed
  if (begins) events.begun(session, changed.task)
  events.notify(session, { type: 'changed', ...changed })
  if (trace) events.ended(session, changed.task, trace)
  return changed.task
}

const thereIs =
  (id = '') =>
  (found: AgentTaskRecord | undefined): AgentTaskRecord => {
    if (!found) throw taskNotFound(id)
    return found
  }

/** The last form of the trace of a turn that is over: now, or since the task was changed last. */
function endTrace(place: TaskPlace, { active, updated }: AgentTaskRecord, whole: WholeTask): TraceRecord {
  const { session } = place
  const ended = active === null ? Date.parse(updated) : session.clock.now()
  return replaceTurnTrace(session, whole, { journal: journalOf(place, whole.task._id), ended })
}

/** Adds to what an agent has cost in all its tasks, in USD. */
function charge(session: Session, { workspace_id, agent_id }: AgentTaskRecord, cost: number): void {
  const found = cost > 0 ? session.records.get(agents.kind, workspace_id, agent_id)?.body : undefined
  if (!found) return
  const body = { ...found, total_cost: Number(found.total_cost ?? 0) + cost }
  session.records.update(agent_id, { key: String(found.key), body })
}

/** Whether a sub-task keeps the one that it works for waiting. */
const keepsWaiting = (child: AgentTaskRecord | undefined): boolean =>
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
