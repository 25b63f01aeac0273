// Notes which task turns clients have started without reading their end, and which calls have started them. In memory:
// turns of an earlier process are unknown.
import type { SessionHandle } from '../sessions/session.ts'
import type { Session } from '../sessions/sessions.ts'

/** A turn that a client started, and whose end no client has read yet. */
interface UnreadTurn {
  task: string
  workspace: string
  /** Id of its trace. */
  trace: string
  /** How often the task was read while it was running. */
  looks: number
}

/** Which task ends clients have read. */
export type TaskReaders = ReturnType<typeof createTaskReaders>

/** Maximum number of turns per session: the latest ones. */
const MAX_UNREAD = 10_000

/** A new list of unread turns, at most 10,000 per session. */
export function createTaskReaders() {
  const handles = new WeakMap<SessionHandle, Map<string, UnreadTurn>>()
  return {
    /** A client has started a turn of a task, or has continued it. */
    begun(handle: SessionHandle, turn: Omit<UnreadTurn, 'looks'>): void {
      const turns = handles.getOrInsertComputed(handle, () => new Map())
      turns.delete(turn.task)
      turns.set(turn.task, { ...turn, looks: 0 })
      const [oldest] = turns.size > MAX_UNREAD ? turns.keys() : []
      if (oldest !== undefined) turns.delete(oldest)
    },
    /** A client has received the current state of a task. */
    shown(handle: SessionHandle, { id, active }: { id: string; active: boolean }): void {
      const turn = handles.get(handle)?.get(id)
      if (turn && active) turn.looks++
      else handles.get(handle)?.delete(id)
    },
    /** A client that was waiting for the end has disconnected, for whatever reason. */
    abandoned: (handle: SessionHandle, task: string) => void handles.get(handle)?.delete(task),
    unread: (handle: SessionHandle): readonly UnreadTurn[] => [...(handles.get(handle)?.values() ?? [])],
  }
}

/** The turn that a call started. */
export interface BegunTurn {
  session: Session
  /** The id of its trace. */
  trace: string
  /** When it started, in ms of the session's clock. */
  started: number
}

/** The turns that calls in progress have started, by the signal of their request. */
export type TurnCalls = WeakMap<AbortSignal, BegunTurn>
