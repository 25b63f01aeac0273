// The A2A methods over the task service. Ids and times are those of the tasks, so that they repeat with the session.
import type { SendMessageRequest, StreamResponse, SubscribeToTaskRequest } from '@a2a-js/sdk'
import { ExtendedAgentCardNotConfiguredError } from '@a2a-js/sdk/errors'
import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import type { AgentTaskRecord } from '../store/manifest.ts'
import { taskNotFound, type WholeTask } from '../store/store.ts'
import type { AgentCall } from './call.ts'
import { inA2aTerms, malformed, noPush, unsupported } from './errors.ts'
import { listedTasks } from './list.ts'
import { bodyOf, taskShapeOf } from './shapes.ts'
import { updatesOf } from './updates.ts'

const ENDED: readonly string[] = ['completed', 'failed', 'canceled', 'rejected']

/** Handles the methods for one agent. */
export function requestHandler(call: AgentCall): A2ARequestHandler {
  const { tasks, owner, card, signal } = call
  const taskOf = (id: string) => ownTask(call, id)
  const refusePush = () => Promise.reject(noPush())
  return {
    getAgentCard: async () => card,
    getAuthenticatedExtendedAgentCard: () =>
      Promise.reject(new ExtendedAgentCardNotConfiguredError('This agent has no card beside its public one')),
    sendMessage: (params) =>
      inA2aTerms(async () => {
        const { _id } = await submitted(call, params)
        const { returnImmediately = false, historyLength } = params.configuration ?? {}
        const whole = returnImmediately ? tasks.get(owner, _id) : await tasks.settled(owner, _id, signal)
        return taskShapeOf(whole, historyLength)
      }),
    sendMessageStream: (params) => streamed(call, params),
    getTask: ({ id, historyLength }) => inA2aTerms(() => taskShapeOf(taskOf(id), historyLength)),
    listTasks: (params) => inA2aTerms(() => listedTasks(call, params)),
    cancelTask: ({ id }) => inA2aTerms(async () => taskShapeOf(await tasks.cancel(owner, taskOf(id).task._id))),
    resubscribe: (params) => followed(call, params),
    createTaskPushNotificationConfig: refusePush,
    getTaskPushNotificationConfig: refusePush,
    listTaskPushNotificationConfigs: refusePush,
    deleteTaskPushNotificationConfig: refusePush,
  }
}

/** A task of the agent; 404 for one of another agent. */
function ownTask({ tasks, owner, agent }: AgentCall, id: string): WholeTask {
  if (id.trim() === '') throw malformed("'id' is required: the id of a task")
  const found = tasks.get(owner, id)
  if (found.task.agent_id !== agent._id) throw taskNotFound(id)
  return found
}

async function submitted(call: AgentCall, params: SendMessageRequest): Promise<AgentTaskRecord> {
  const { tasks, owner, agent, from, signal: client } = call
  if (params.configuration?.taskPushNotificationConfig) throw noPush()
  const body = bodyOf(params)
  const context = params.message?.contextId ?? ''
  if (body.task_id !== undefined) checkGoesOn(ownTask(call, body.task_id).task, context)
  return tasks.submit({ ...owner, agent: String(agent._id), body, from, client, ...(context !== '' && { context }) })
}

/** A2A can continue a task that waits for its user, but not one that has ended. */
function checkGoesOn({ _id, state, context_id }: AgentTaskRecord, context: string): void {
  if (context !== '' && context !== context_id)
    throw malformed(`'message.contextId' must be that of the task ${_id}, ${context_id}, or left out`)
  if (ENDED.includes(state))
    throw unsupported(`The task ${_id} is ${state}: send the message without 'taskId' to begin a new one`)
}

async function* streamed(call: AgentCall, params: SendMessageRequest): AsyncGenerator<StreamResponse, void, undefined> {
  const { _id } = await inA2aTerms(() => submitted(call, params))
  yield* updatesOf(call, _id, params.configuration?.historyLength)
}

async function* followed(
  call: AgentCall,
  { id }: SubscribeToTaskRequest,
): AsyncGenerator<StreamResponse, void, undefined> {
  await inA2aTerms(() => {
    const { task } = ownTask(call, id)
    if (ENDED.includes(task.state)) throw unsupported(`The task ${id} is ${task.state}: read it with GetTask`)
  })
  yield* updatesOf(call, id)
}
