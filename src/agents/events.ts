// Who waits for a task is told of each of its steps once that is committed; whoever comes late reads what is committed first.

import type { Observers } from '../contract/observation.ts'
import type { MessageRecord } from '../contract/task-record.ts'
import type { TaskStep, TraceRecord } from '../contract/trace.ts'
import type { Session, SessionSlot } from '../sessions/session.ts'
import type { AgentTaskRecord } from './manifest.ts'
import type { ToolCallPart } from './messages.ts'
import { TASK_OPERATION, taskTrace } from './turn-trace.ts'

/** One thing that has happened to a task. */
export type TaskEvent =
  /** A step is committed: the task as it is now, and what is new. */
  | { type: 'changed'; task: AgentTaskRecord; messages: readonly MessageRecord[]; steps: readonly TaskStep[] }
  /** A tool is being run. */
  | { type: 'tool-started'; task: AgentTaskRecord; call: ToolCallPart }
  /** It is there no more: its agent was deleted. */
  | { type: 'gone'; task: AgentTaskRecord }

/** Is told of what happens, at once and in order; it must not wait. */
export type TaskListener = (event: TaskEvent) => void

/** Hands on what happens to tasks. */
export interface TaskEvents {
  /** Begins to listen to a task of a session; the function that comes back ends it. */
  subscribe(slot: SessionSlot, task: string, listener: TaskListener): () => void
  notify(session: Session, event: TaskEvent): void
  /** A turn has begun, or has ended with the last form of its trace. */
  begun(session: Session, task: AgentTaskRecord): void
  ended(session: Session, task: AgentTaskRecord, trace: TraceRecord): void
}

/** Events of tasks; those who observe all calls are told of them as of calls. */
export function createTaskEvents(observers: Observers): TaskEvents {
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
    notify(session, event) {
      for (const listener of [...(slots.get(session.slot)?.get(event.task._id) ?? [])]) listener(event)
      if (!observers.active || event.type !== 'changed') return
      const { task, steps } = event
      const { trace, seq } = task.turn
      observers.notify({ type: 'task-changed', session: session.name, trace, seq, task: taskTrace(task, steps) })
    },
    begun({ name }, { turn, parent }) {
      if (!observers.active) return
      const about = { session: name, trace: turn.trace, operation: TASK_OPERATION }
      observers.notify({ type: 'call-begun', ...about, parent: parent?.trace ?? null })
    },
    ended(session, { turn }, trace) {
      if (observers.active) observers.notify({ type: 'trace-saved', session: session.name, seq: turn.seq, trace })
    },
  }
}
