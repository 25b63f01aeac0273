// A change of a task that does not come from its own loop.
import type { TraceRecord } from '../contract/trace.ts'
import type { TaskEvents } from './events.ts'
import type { AgentTaskRecord } from './manifest.ts'
import { type TaskChange, type TaskPlace, taskOf, writeChange } from './store.ts'

/** A change from outside, and the trace that is put in another form with it. */
interface OuterChange extends TaskChange {
  saves?(task: AgentTaskRecord): TraceRecord
}

/** Commits a change of a task, made of it as it is then, and says that it has changed; nothing happens when there is no change. */
export type TaskChanger = (
  place: TaskPlace,
  id: string,
  change: (task: AgentTaskRecord) => OuterChange | undefined,
) => Promise<AgentTaskRecord | undefined>

/** Changes tasks, and tells those who listen. */
export const changeTask =
  (events: TaskEvents): TaskChanger =>
  async (place, id, change) => {
    const { session } = place
    const changed = await session.transact(() => {
      const before = taskOf(place, id)
      const made = change(before)
      if (!made) return undefined
      const written = { ...writeChange(place, before, made), steps: made.steps ?? [] }
      return { written, saved: made.saves?.(written.task) }
    })
    if (!changed) return undefined
    const { written, saved } = changed
    events.notify(session, { type: 'changed', ...written })
    if (saved) events.ended(session, written.task, saved)
    return written.task
  }
