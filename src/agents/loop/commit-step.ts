// How the steps of a turn read its task, and how their changes are committed.
import { type CommitParts, commit } from '../store/commit.ts'
import { countTeamCalls } from '../store/limits.ts'
import type { AgentTaskRecord } from '../store/manifest.ts'
import { findTask, messagesOf, type TaskChange } from '../store/store.ts'
import { TaskGone, type Turn } from './turn.ts'

/**
 * Reads the current state of a turn's task: decisions about tool calls arrive at any time.
 * @throws TaskGone
 */
export function refresh(turn: Turn): AgentTaskRecord {
  const found = findTask(turn.place, turn.task._id, turn.task)
  if (!found) throw new TaskGone('the task is gone')
  if (turn.isStale || found.counts.messages !== turn.history.length)
    turn.history.splice(0, turn.history.length, ...messagesOf(turn.place, found._id))
  turn.isStale = false
  turn.task = found
  return found
}

/**
 * Commits a step. Returns false without writing if there is no change. Rejects with what `guard` throws: the
 * signal's reason if the turn is over.
 */
export async function commitStep(
  turn: Turn,
  change: (task: AgentTaskRecord) => TaskChange | undefined,
  { guard, also }: Pick<CommitParts, 'also'> & { guard(): void } = { guard: () => turn.signal.throwIfAborted() },
): Promise<boolean> {
  const { place, history, deps } = turn
  const timed = (task: AgentTaskRecord) => {
    const made = change(task)
    return (
      made && { ...made, task: { ...made.task, turn: { ...task.turn, ...made.task?.turn, spent_ms: turn.spent() } } }
    )
  }
  const written = await commit(place, timed, {
    ...{ events: deps.events, history },
    read() {
      guard()
      return refresh(turn)
    },
    also(stored, before) {
      const { task, messages } = stored
      countTeamCalls(task, task.totals.iterations - before.totals.iterations, place)
      turn.task = task
      history.push(...messages)
      also?.(stored, before)
    },
  }).catch((error) => {
    turn.isStale = true
    throw error
  })
  return written !== undefined
}
