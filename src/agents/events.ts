// Who waits for a task is told of each of its steps once that is committed; whoever comes late reads what is committed first.
import type { MessageRecord } from '../contract/task-record.ts'
import type { TaskStep } from '../contract/trace.ts'
import type { SessionSlot } from '../sessions/session.ts'
import type { AgentTaskRecord } from './manifest.ts'

/** One thing that has happened to a task. */
export type TaskEvent =
  /** A step is committed: the task as it is now, and what is new. */
  | { type: 'changed'; task: AgentTaskRecord; messages: readonly MessageRecord[]; steps: readonly TaskStep[] }
  /** A tool is being run. */
  | { type: 'tool-started'; task: AgentTaskRecord; tool: string; tool_call_id: string }

/** Is told of what happens, at once and in order; it must not wait. */
export type TaskListener = (event: TaskEvent) => void

/** Hands on what happens to tasks. */
export interface TaskEvents {
  /** Begins to listen to a task of a session; the function that comes back ends it. */
  subscribe(slot: SessionSlot, task: string, listener: TaskListener): () => void
  notify(slot: SessionSlot, event: TaskEvent): void
}

export function createTaskEvents(): TaskEvents {
  const slots = new WeakMap<SessionSlot, Map<string, Set<TaskListener>>>()
  return {
    subscribe(slot, task, listener) {
      const tasks = slots.get(slot) ?? new Map<string, Set<TaskListener>>()
      slots.set(slot, tasks)
      const listeners = tasks.get(task) ?? new Set()
      tasks.set(task, listeners)
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
        if (listeners.size === 0 && tasks.get(task) === listeners) tasks.delete(task)
      }
    },
    notify(slot, event) {
      for (const listener of [...(slots.get(slot)?.get(event.task._id) ?? [])]) listener(event)
    },
  }
}
