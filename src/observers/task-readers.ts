// Which turns of tasks clients have begun whose end they have not read. Kept in memory: nobody knows of those of an earlier process.
import type { SessionHandle } from '../sessions/session.ts'

/** A turn that a client has begun, and whose end nobody has read yet. */
export interface UnreadTurn {
  task: string
  workspace: string
  /** Id of its trace. */
  trace: string
  /** How often the task was looked at while it was at work. */
  looks: number
}

/** What clients have seen of the tasks that they have begun. */
export interface TaskReaders {
  /** A client has begun a turn of a task, or has let it go on. */
  begun(slot: SessionHandle, turn: Omit<UnreadTurn, 'looks'>): void
  /** A client was shown a task as it is. */
  shown(slot: SessionHandle, task: { id: string; active: boolean }): void
  /** A client has hung up that was waiting for the end: why is its own affair. */
  left(slot: SessionHandle, task: string): void
  unread(slot: SessionHandle): readonly UnreadTurn[]
}

/** Of a client that reads nothing, only so many are known: those begun last. */
const MAX_UNREAD = 10_000

/** A new list of unread turns, at most 10,000 per session. */
export function createTaskReaders(): TaskReaders {
  const slots = new WeakMap<SessionHandle, Map<string, UnreadTurn>>()
  return {
    begun(slot, turn) {
      const turns = slots.get(slot) ?? new Map<string, UnreadTurn>()
      slots.set(slot, turns)
      turns.delete(turn.task)
      turns.set(turn.task, { ...turn, looks: 0 })
      const [oldest] = turns.size > MAX_UNREAD ? turns.keys() : []
      if (oldest !== undefined) turns.delete(oldest)
    },
    shown(slot, { id, active }) {
      const turn = slots.get(slot)?.get(id)
      if (turn && active) turn.looks++
      else slots.get(slot)?.delete(id)
    },
    left: (slot, task) => void slots.get(slot)?.delete(task),
    unread: (slot) => [...(slots.get(slot)?.values() ?? [])],
  }
}
