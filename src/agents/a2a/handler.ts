// The A2A methods over the task service. Ids and times are those of the tasks, so that they repeat with the session.
import {
  type AgentCard,
  type ListTasksRequest,
  type ListTasksResponse,
  type SendMessageRequest,
  type StreamResponse,
  TaskState,
} from '@a2a-js/sdk'
import { ExtendedAgentCardNotConfiguredError } from '@a2a-js/sdk/errors'
import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import { ConnectionFailure } from '../../contract/core/reply.ts'
import type { Fields } from '../../contract/workspace/record.ts'
import type { TaskRecord } from '../../contract/workspace/task-record.ts'
import { nextTurn } from '../../lib/bare-socket.ts'
import { quote } from '../../schema/validation.ts'
import type { TaskService } from '../loop/tasks.ts'
import { type TaskEvent, taskFeed } from '../store/events.ts'
import type { AgentTaskRecord } from '../store/manifest.ts'
import { ofAgent, type TaskOwner, type WholeTask } from '../store/store.ts'
import { a2aErrorOf, inA2aTerms, malformed, noPush, unsupported } from './errors.ts'
import { artifactsOf, bodyOf, messageOf, stateOf, statusOf, taskShapeOf } from './shapes.ts'

/** One call of one agent. */
export interface AgentCall {
  tasks: TaskService
  owner: TaskOwner
  agent: Fields
  card: AgentCard
  from: AgentTaskRecord['from']
  /** Aborts when the client disconnects. */
  signal: AbortSignal
}

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
    async *sendMessageStream(params) {
      const { _id } = await inA2aTerms(() => submitted(call, params))
      yield* updatesOf(call, _id, params.configuration?.historyLength)
    },
    getTask: ({ id, historyLength }) => inA2aTerms(() => taskShapeOf(taskOf(id), historyLength)),
    listTasks: (params) => inA2aTerms(() => listedTasks(call, params)),
    cancelTask: ({ id }) => inA2aTerms(async () => taskShapeOf(await tasks.cancel(owner, taskOf(id).task._id))),
    async *resubscribe({ id }) {
      await inA2aTerms(() => {
        const { state } = taskOf(id).task
        if (ENDED.includes(state)) throw unsupported(`The task ${id} is ${state}: read it with GetTask`)
      })
      yield* updatesOf(call, id)
    },
    createTaskPushNotificationConfig: refusePush,
    getTaskPushNotificationConfig: refusePush,
    listTaskPushNotificationConfigs: refusePush,
    deleteTaskPushNotificationConfig: refusePush,
  }
}

/** A task of the agent; 404 for one of another agent. */
function ownTask({ tasks, owner, agent }: AgentCall, id: string): WholeTask {
  if (id.trim() === '') throw malformed("'id' is required: the id of a task")
  return ofAgent(agent, tasks.get(owner, id))
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

const MAX_COUNT = 100
const USUAL = 50

/** Tasks that are read at once. */
const TOGETHER = 200

/**
 * ListTasks: a page of the tasks of an agent, last changed first.
 * @throws A2AError for an invalid page size or token
 */
async function listedTasks(call: AgentCall, params: ListTasksRequest): Promise<ListTasksResponse> {
  const { pageSize = USUAL, pageToken, historyLength, includeArtifacts = false } = params
  if (!(Number.isInteger(pageSize) && pageSize >= 1 && pageSize <= MAX_COUNT))
    throw malformed(`'pageSize' must be a whole number from 1 to ${MAX_COUNT}, got ${pageSize}`)
  const matches = await matching(call, filterOf(params))
  const from = pageToken === '' ? undefined : placeOf(pageToken)
  const rest = from ? matches.filter((task) => task._id !== from._id && inOrder(from, task) < 0) : matches
  const page = rest.sort(inOrder).slice(0, pageSize)
  const last = page.at(-1)
  return {
    tasks: page.map(({ _id }) => {
      const { tasks, owner } = call
      const shape = taskShapeOf(tasks.get(owner, _id), historyLength ?? 0)
      return includeArtifacts ? shape : { ...shape, artifacts: [] }
    }),
    nextPageToken: last && page.length < rest.length ? `${last.updated}.${last._id}` : '',
    pageSize,
    totalSize: matches.length,
  }
}

/** A task of the list before rendering. */
interface ListedTask {
  _id: string
  /** Milliseconds since the epoch. */
  updated: number
}

/** Last changed first. */
const inOrder = (a: ListedTask, b: ListedTask): number => b.updated - a.updated || (a._id < b._id ? 1 : -1)

/** The end of the previous page, identified by its position, since a task may have changed meanwhile. */
function placeOf(pageToken: string): ListedTask {
  const [, updated, _id] = /^(\d+)\.(\w+)$/.exec(pageToken) ?? []
  if (updated === undefined || _id === undefined)
    throw malformed(`'pageToken' must be a 'nextPageToken' of this list, got ${quote(pageToken)}`)
  return { updated: Number(updated), _id }
}

/** All tasks that match, read in pages, so that a long list does not block others. */
async function matching(
  { tasks, owner, agent }: AgentCall,
  fits: (task: TaskRecord) => boolean,
): Promise<ListedTask[]> {
  const found: ListedTask[] = []
  for (let after: string | undefined; ; ) {
    const { data, hasMore } = tasks.page(owner, String(agent._id), { limit: TOGETHER, starting_after: after })
    for (const task of data) if (fits(task)) found.push({ _id: task._id, updated: Date.parse(task.updated) })
    after = data.at(-1)?._id
    if (!hasMore || after === undefined) return found
    await nextTurn()
  }
}

function filterOf({ contextId, status, statusTimestampAfter }: ListTasksRequest): (task: TaskRecord) => boolean {
  const after = statusTimestampAfter === undefined ? Number.NEGATIVE_INFINITY : Date.parse(statusTimestampAfter)
  if (Number.isNaN(after)) throw malformed(`'statusTimestampAfter' must be a time, got ${quote(statusTimestampAfter)}`)
  if (status === TaskState.UNRECOGNIZED) throw malformed("'status' must be a state such as TASK_STATE_WORKING")
  return (task) =>
    (contextId === '' || task.context_id === contextId) &&
    (status === TaskState.TASK_STATE_UNSPECIFIED || stateOf(task) === status) &&
    Date.parse(task.updated) >= after
}

type ChangedTask = Extract<TaskEvent, { type: 'changed' }>

/**
 * A task as a stream: the current task, then each change until the end of its turn. If it waits from the start, the
 * stream waits, too.
 */
async function* updatesOf(
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
