// A change of a task that does not come from its own loop.
import type { TaskEvents } from './events.ts'
import type { AgentTaskRecord } from './manifest.ts'
import { type TaskChange, type TaskPlace, taskOf, writeChange } from './store.ts'

/** Commits a change of a task, made of it as it is then, and says that it has changed; nothing happens when there is no change. */
export type TaskChanger = (
  place: TaskPlace,
  id: string,
  change: (task: AgentTaskRecord) => TaskChange | undefined,
) => Promise<AgentTaskRecord | undefined>

/** Changes tasks, and tells those who listen. */
export const changeTask =
  (events: TaskEvents): TaskChanger =>
  async (place, id, change) => {
    const { session } = place
    const changed = await session.transact(() => {
      const before = taskOf(place, id)
      const made = change(before)
      return made && { ...writeChange(place, before, made), steps: made.steps ?? [] }
    })
    if (changed) events.notify(session, { type: 'changed', ...changed })
    return changed?.task
  }
