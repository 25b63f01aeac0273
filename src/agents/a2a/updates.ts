// A task as an A2A stream: the current task, then each change until the end of its turn.
import type { StreamResponse } from '@a2a-js/sdk'
import { ConnectionFailure } from '../../contract/core/reply.ts'
import { type TaskEvent, taskFeed } from '../store/events.ts'
import type { AgentCall } from './call.ts'
import { a2aErrorOf } from './errors.ts'
import { artifactsOf, messageOf, stateOf, statusOf, taskShapeOf } from './shapes.ts'

type ChangedTask = Extract<TaskEvent, { type: 'changed' }>

/** The task, and its changes. If it waits from the start, the stream waits, too. */
export async function* updatesOf(
  call: AgentCall,
  id: string,
  historyLength?: number,
): AsyncGenerator<StreamResponse, void, undefined> {
  const { tasks, owner, signal } = call
  const { ended } = owner.session
  const feed = taskFeed()
  feed.follow((listener) => tasks.subscribe(owner, id, listener))
  try {
    const now = tasks.get(owner, id)
    yield { payload: { $case: 'task', value: taskShapeOf(now, historyLength) } }
    if (now.task.active === null && now.task.state !== 'input-required') return
    for await (const event of feed.read([signal, ended])) if (event.type === 'changed') yield* changesOf(call, event)
  } catch (error) {
    if (signal.aborted && error === signal.reason) return
    throw error === ended.reason ? new ConnectionFailure('the session has begun anew') : a2aErrorOf(error)
  } finally {
    feed.close()
  }
}

/** The events of a change: messages of the agent while it works, and at the end the artifact and the final state. */
function* changesOf({ tasks, owner }: AgentCall, { task, messages }: ChangedTask): Generator<StreamResponse> {
  const about = { taskId: task._id, contextId: task.context_id, metadata: undefined }
  if (task.active === null) {
    const { history } = tasks.get(owner, task._id)
    for (const artifact of artifactsOf(task, history))
      yield { payload: { $case: 'artifactUpdate', value: { ...about, artifact, append: false, lastChunk: true } } }
    yield { payload: { $case: 'statusUpdate', value: { ...about, status: statusOf(task, history) } } }
    return
  }
  const agentMessage = messages.findLast(({ message }) => message.role === 'agent')?.message
  const status = {
    state: stateOf(task),
    message: agentMessage && messageOf(task, agentMessage),
    timestamp: task.updated,
  }
  yield { payload: { $case: 'statusUpdate', value: { ...about, status } } }
}
