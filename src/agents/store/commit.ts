// The only way to change a task: from its current state, in one transaction, and reported to all listeners after the
// commit.

import type { MessageRecord } from '../../contract/workspace/task-record.ts'
import { isActive } from '../../contract/workspace/task-state.ts'
import type { TaskEvents } from './events.ts'
import type { AgentTaskRecord } from './manifest.ts'
import { messagesOf, type TaskChange, type TaskPlace, type WrittenTask, writeChange } from './store.ts'
import { closeTurn } from './turn-close.ts'

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
