// The task service for clients, over HTTP or A2A, which notes who has read the end of the turns it started.
import type { TaskReaders, TurnCalls } from '../../observers/task-readers.ts'
import type { TaskService } from '../loop/tasks.ts'
import type { AgentTaskRecord } from '../store/manifest.ts'
import type { TaskOwner, WholeTask } from '../store/store.ts'

/** The service with notes about its clients. A client that sees a task of a `page` reads it whole. */
export function forClients(service: TaskService, readers: TaskReaders, turns: TurnCalls): TaskService {
  const shown = ({ session: { slot } }: TaskOwner, { _id, active }: AgentTaskRecord) =>
    readers.shown(slot, { id: _id, active: active !== null })
  const left = ({ session: { slot } }: TaskOwner, id: string) => readers.abandoned(slot, id)
  const showing = (owner: TaskOwner, whole: WholeTask): WholeTask => {
    shown(owner, whole.task)
    return whole
  }
  return {
    ...service,
    async submit(call) {
      const { client } = call
      const task = await service.submit({
        ...call,
        started(committed) {
          const { _id: task, workspace_id: workspace, parent } = committed
          const { trace, started } = committed.turn
          // A sub-task reports to its parent.
          if (parent === null) readers.begun(call.session.slot, { task, workspace, trace })
          if (client) turns.set(client, { session: call.session, trace, started })
          call.started?.(committed)
        },
      })
      // A client that disconnected before the response has no id to read it by.
      if (client?.aborted) left(call, task._id)
      else client?.addEventListener('abort', () => left(call, task._id), { once: true })
      return task
    },
    settled: async (owner, id, signal) => showing(owner, await service.settled(owner, id, signal)),
    get: (owner, id) => showing(owner, service.get(owner, id)),
    list(owner, agent, query) {
      const page = service.list(owner, agent, query)
      for (const task of page.data) shown(owner, task)
      return page
    },
    async cancel(owner, id) {
      try {
        return showing(owner, await service.cancel(owner, id))
      } catch (error) {
        // The error tells how it has ended.
        shown(owner, service.get(owner, id).task)
        throw error
      }
    },
    async decide(owner, decision) {
      const decided = await service.decide(owner, decision)
      // Another client often decides, and the one that saw the task waiting may have passed that on and gone.
      if (decided.task.active === null) shown(owner, decided.task)
      return decided
    },
    subscribe(owner, id, listener) {
      const stop = service.subscribe(owner, id, (event) => {
        if (event.type === 'changed' && event.task.active === null) shown(owner, event.task)
        listener(event)
      })
      return () => {
        stop()
        // A client that received the end cannot abandon it.
        left(owner, id)
      }
    },
  }
}
