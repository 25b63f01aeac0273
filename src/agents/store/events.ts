// Who waits for a task is told of each of its steps once that is committed; whoever comes late reads what is committed first.
import type { Observers } from '../../contract/core/observation.ts'
import type { TaskStep, TraceRecord } from '../../contract/core/trace.ts'
import type { MessageRecord } from '../../contract/workspace/task-record.ts'
import type { Session, SessionHandle } from '../../sessions/session.ts'
import type { AgentTaskRecord } from './manifest.ts'
import type { ToolCallPart } from './messages.ts'
import { taskTrace } from './show.ts'
import { findTask, type TaskPlace, taskNotFound } from './store.ts'
import { TASK_OPERATION } from './turn-trace.ts'

/** One thing that has happened to a task. */
export type TaskEvent =
  /** A step is committed: the task as it is now, and what is new. */
  | { type: 'changed'; task: AgentTaskRecord; messages: readonly MessageRecord[]; steps: readonly TaskStep[] }
  /** A tool is being run. */
  | { type: 'tool-started'; task: AgentTaskRecord; call: ToolCallPart }
  /** It is there no more: its agent was deleted. */
  | { type: 'gone'; task: Pick<AgentTaskRecord, '_id'> }

/** Is told of what happens, at once and in order; it must not wait. */
export type TaskListener = (event: TaskEvent) => void

/** Hands on what happens to tasks. */
export interface TaskEvents {
  /** Begins to listen to a task of a workspace; the function that comes back ends it. */
  subscribe(place: TaskPlace, task: string, listener: TaskListener): () => void
  /** Tells those who listen to tasks that are there no more, since their agents were deleted. */
  sweep(session: Session): void
  notify(session: Session, event: TaskEvent): void
  /** A turn has begun, or has ended with the last form of its trace. */
  begun(session: Session, task: AgentTaskRecord): void
  ended(session: Session, task: AgentTaskRecord, trace: TraceRecord): void
}

/** Who listens to a task. */
interface Listening {
  workspace: string
  listeners: Set<TaskListener>
}

/** Events of tasks; those who observe all calls are told of them as of calls. */
export function createTaskEvents(observers: Observers): TaskEvents {
  const slots = new WeakMap<SessionHandle, Map<string, Listening>>()
  const pass = ({ slot }: Session, event: TaskEvent) => {
    for (const listener of [...(slots.get(slot)?.get(event.task._id)?.listeners ?? [])]) listener(event)
  }
  return {
    subscribe({ session: { slot }, workspace }, task, listener) {
      const tasks = slots.get(slot) ?? new Map<string, Listening>()
      slots.set(slot, tasks)
      const listening = tasks.get(task) ?? { workspace, listeners: new Set() }
      const { listeners } = listening
      tasks.set(task, listening)
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
        if (listeners.size === 0 && tasks.get(task) === listening) tasks.delete(task)
      }
    },
    sweep(session) {
      for (const [_id, { workspace }] of [...(slots.get(session.slot) ?? [])])
        if (!findTask({ session, workspace }, _id)) pass(session, { type: 'gone', task: { _id } })
    },
    notify(session, event) {
      pass(session, event)
      if (!observers.active || event.type !== 'changed') return
      const { task, steps } = event
      const { trace, seq } = task.turn
      observers.notify({ type: 'task-changed', session: session.name, trace, seq, task: taskTrace(task, steps) })
    },
    begun({ name }, { turn, parent, from }) {
      if (!observers.active) return
      const about = { session: name, trace: turn.trace, operation: TASK_OPERATION }
      const { url, received, route, traceparent, tracestate } = from
      const headers = new Headers({ ...(traceparent && { traceparent }), ...(tracestate && { tracestate }) })
      const material = { url, received: received === undefined ? undefined : { url: received }, route, headers }
      observers.notify({ type: 'call-begun', ...about, parent: parent?.trace ?? null }, material)
    },
    ended(session, { turn }, trace) {
      observers.notify({ type: 'trace-saved', session: session.name, seq: turn.seq, trace })
    },
  }
}

/** What happens to a task, kept until it is read. */
export interface TaskFeed {
  /** Begins to listen. */
  follow(subscribe: (listener: TaskListener) => () => void): void
  /**
   * One event after another, up to the end of the turn.
   * @throws ApiError 404 when the task is gone; the reason of a signal that is aborted, after all that has happened before
   */
  read(endings: readonly AbortSignal[]): AsyncGenerator<Exclude<TaskEvent, { type: 'gone' }>, void, undefined>
  /** Ends the listening. */
  close(): void
}

/** A feed of one task for one reader. */
export function taskFeed(): TaskFeed {
  const waiting: TaskEvent[] = []
  let wake = () => {}
  let stop = () => {}
  return {
    follow(subscribe) {
      stop = subscribe((event) => {
        waiting.push(event)
        wake()
      })
    },
    async *read(endings) {
      const leave = () => wake()
      for (const one of endings) one.addEventListener('abort', leave, { once: true })
      try {
        for (;;) {
          const event = waiting.shift()
          if (event?.type === 'gone') throw taskNotFound(event.task._id)
          if (event) {
            yield event
            if (event.task.active === null) return
            continue
          }
          for (const one of endings) one.throwIfAborted()
          await new Promise<void>((resolve) => (wake = resolve))
        }
      } finally {
        for (const one of endings) one.removeEventListener('abort', leave)
      }
    },
    close: () => stop(),
  }
}
