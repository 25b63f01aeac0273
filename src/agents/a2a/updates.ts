// A task as a stream of A2A: the task as it is, then each change of it, up to the end of its turn.
import type { StreamResponse } from '@a2a-js/sdk'
import { ConnectionFailure } from '../../contract/reply.ts'
import type { TaskEvent } from '../events.ts'
import { taskNotFound } from '../store.ts'
import type { AgentCall } from './call.ts'
import { a2aErrorOf, inA2aTerms } from './errors.ts'
import { artifactsOf, messageOf, stateOf, statusOf, taskShapeOf } from './shapes.ts'

type ChangedTask = Extract<TaskEvent, { type: 'changed' }>

/** The task, and what changes of it; one that waits for somebody is waited with when it waits from the start. */
export async function* updatesOf(
  call: AgentCall,
  id: string,
  historyLength?: number,
): AsyncGenerator<StreamResponse, void, undefined> {
  const { tasks, owner, signal } = call
  const { ended } = owner.session
  const events: ChangedTask[] = []
  let wake = () => {}
  let gone = false
  const leave = () => wake()
  const stop = tasks.subscribe(owner, id, (event) => {
    if (event.type === 'changed') events.push(event)
    gone ||= event.type === 'gone'
    wake()
  })
  signal.addEventListener('abort', leave, { once: true })
  ended.addEventListener('abort', leave, { once: true })
  try {
    const now = tasks.get(owner, id)
    yield { payload: { $case: 'task', value: await inA2aTerms(() => taskShapeOf(now, historyLength)) } }
    if (now.task.active === null && now.task.state !== 'input-required') return
    for (;;) {
      const event = events.shift()
      if (event) {
        yield* changesOf(call, event)
        if (event.task.active === null) return
      } else if (signal.aborted) return
      else if (gone) throw a2aErrorOf(taskNotFound(id))
      else if (ended.aborted) throw new ConnectionFailure('the session has begun anew')
      else await new Promise<void>((resolve) => (wake = resolve))
    }
  } finally {
    stop()
    signal.removeEventListener('abort', leave)
    ended.removeEventListener('abort', leave)
  }
}

/** What is said of a change: what the agent says while it works, and at the end what it has made and how it ended. */
function* changesOf({ tasks, owner }: AgentCall, { task, messages }: ChangedTask): Generator<StreamResponse> {
  const about = { taskId: task._id, contextId: task.context_id, metadata: undefined }
  if (task.active === null) {
    const { history } = tasks.get(owner, task._id)
    for (const artifact of artifactsOf(task, history))
      yield { payload: { $case: 'artifactUpdate', value: { ...about, artifact, append: false, lastChunk: true } } }
    yield { payload: { $case: 'statusUpdate', value: { ...about, status: statusOf(task, history) } } }
    return
  }
  const said = messages.findLast(({ message }) => message.role === 'agent')?.message
  const status = { state: stateOf(task), message: said && messageOf(task, said), timestamp: task.updated }
  yield { payload: { $case: 'statusUpdate', value: { ...about, status } } }
}
