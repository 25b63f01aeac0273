// Events of tasks: listeners are notified of each step after its commit. A late listener first reads what is committed.
import type { Observers } from '../../contract/core/observation.ts'
import type { TaskStep, TraceRecord } from '../../contract/core/trace.ts'
import type { MessageRecord } from '../../contract/workspace/task-record.ts'
import type { Session, SessionHandle } from '../../sessions/session.ts'
import type { AgentTaskRecord } from './manifest.ts'
import type { ToolCallPart } from './messages.ts'
import { taskTrace } from './show.ts'
import { findTask, type TaskPlace, taskNotFound } from './store.ts'
import { TASK_OPERATION } from './turn-trace.ts'

/** An event of a task. */
export type TaskEvent =
  /** A step is committed: the current task, and its new parts. */
  | { type: 'changed'; task: AgentTaskRecord; messages: readonly MessageRecord[]; steps: readonly TaskStep[] }
  /** A tool has started. */
  | { type: 'tool-started'; task: AgentTaskRecord; call: ToolCallPart }
  /** It was deleted with its agent. */
  | { type: 'gone'; task: Pick<AgentTaskRecord, '_id'> }

/** Called for each event, synchronously and in order. It must not block. */
export type TaskListener = (event: TaskEvent) => void

/** A committed change of a task. */
interface CommittedChange {
  task: AgentTaskRecord
  messages: readonly MessageRecord[]
  steps: readonly TaskStep[]
  /** Whether it starts a turn. */
  begins: boolean
  /** The final trace of the turn that it ends. */
  trace: TraceRecord | false
}

/** Events of tasks. Observers of calls are notified of them, too. */
export function createTaskEvents(observers: Observers) {
  const tasksByHandle = new WeakMap<SessionHandle, Map<string, { workspace: string; listeners: Set<TaskListener> }>>()
  const pass = ({ slot }: Session, event: TaskEvent) => {
    for (const listener of [...(tasksByHandle.get(slot)?.get(event.task._id)?.listeners ?? [])]) listener(event)
  }
  const notifyBegin = ({ name }: Session, { turn, parent, from }: AgentTaskRecord) => {
    const about = { session: name, trace: turn.trace, operation: TASK_OPERATION }
    const { url, received, route, traceparent, tracestate } = from
    const headers = new Headers({ ...(traceparent && { traceparent }), ...(tracestate && { tracestate }) })
    const material = { url, received: received === undefined ? undefined : { url: received }, route, headers }
    observers.notify({ type: 'call-begun', ...about, parent: parent?.trace ?? null }, material)
  }
  return {
    /** Listens to a task of a workspace. The returned function stops that. */
    subscribe({ session: { slot }, workspace }: TaskPlace, task: string, listener: TaskListener): () => void {
      const tasks = tasksByHandle.getOrInsertComputed(slot, () => new Map())
      const listening = tasks.getOrInsertComputed(task, () => ({ workspace, listeners: new Set() }))
      const { listeners } = listening
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
        if (listeners.size === 0 && tasks.get(task) === listening) tasks.delete(task)
      }
    },
    /** Notifies the listeners of tasks that were deleted with their agents. */
    sweep(session: Session): void {
      for (const [_id, { workspace }] of [...(tasksByHandle.get(session.slot) ?? [])])
        if (!findTask({ session, workspace }, _id)) pass(session, { type: 'gone', task: { _id } })
    },
    /** Notifies the listeners of a task that has not changed. */
    notify: (session: Session, event: Exclude<TaskEvent, { type: 'changed' }>): void => pass(session, event),
    /** A change of a task is committed. */
    committed(session: Session, { task, messages, steps, begins, trace }: CommittedChange): void {
      if (begins && observers.active) notifyBegin(session, task)
      pass(session, { type: 'changed', task, messages, steps })
      const about = { session: session.name, seq: task.turn.seq }
      if (observers.active)
        observers.notify({ type: 'task-changed', ...about, trace: task.turn.trace, task: taskTrace(task, steps) })
      if (trace) observers.notify({ type: 'trace-saved', ...about, trace })
    },
  }
}

/** Distributes events of tasks. */
export type TaskEvents = ReturnType<typeof createTaskEvents>

/** The events of one task for one reader, buffered until they are read. */
export function taskFeed() {
  const waiting: TaskEvent[] = []
  let wake = () => {}
  let stop = () => {}
  return {
    /** Starts to listen. */
    follow(subscribe: (listener: TaskListener) => () => void): void {
      stop = subscribe((event) => {
        waiting.push(event)
        wake()
      })
    },
    /**
     * One event after another, until the end of the turn.
     * @throws ApiError 404 if the task is deleted; the reason of a signal that aborts, after all earlier events
     */
    async *read(
      endings: readonly AbortSignal[],
    ): AsyncGenerator<Exclude<TaskEvent, { type: 'gone' }>, void, undefined> {
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
    /** Stops listening. */
    close: (): void => stop(),
  }
}
