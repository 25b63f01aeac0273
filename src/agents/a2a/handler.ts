// The A2A methods over the task service. Ids and times are those of the tasks, so that they repeat with the session.
import {
  type AgentCard,
  type Artifact,
  type ListTasksRequest,
  type ListTasksResponse,
  type Message,
  type Part,
  Role,
  type SendMessageRequest,
  type StreamResponse,
  type Task,
  TaskState,
} from '@a2a-js/sdk'
import {
  ExtendedAgentCardNotConfiguredError,
  PushNotificationNotSupportedError,
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors'
import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import { ApiError } from '../../contract/core/error.ts'
import { ConnectionFailure } from '../../contract/core/reply.ts'
import { TaskBody, type TaskMessage, type TaskPart } from '../../contract/workspace/agent-task.ts'
import type { Fields } from '../../contract/workspace/record.ts'
import type { MessageRecord, TaskRecord } from '../../contract/workspace/task-record.ts'
import type { TaskState as TaskStateName } from '../../contract/workspace/task-state.ts'
import { nextTurn } from '../../lib/bare-socket.ts'
import { parseRequest, quote } from '../../schema/validation.ts'
import type { TaskService } from '../loop/tasks.ts'
import { type TaskEvent, taskFeed } from '../store/events.ts'
import type { AgentTaskRecord } from '../store/manifest.ts'
import { shownTask } from '../store/show.ts'
import { ofAgent, type TaskOwner, type WholeTask } from '../store/store.ts'

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

const STATES: Record<TaskStateName, TaskState> = {
  submitted: TaskState.TASK_STATE_SUBMITTED,
  working: TaskState.TASK_STATE_WORKING,
  'input-required': TaskState.TASK_STATE_INPUT_REQUIRED,
  completed: TaskState.TASK_STATE_COMPLETED,
  failed: TaskState.TASK_STATE_FAILED,
  canceled: TaskState.TASK_STATE_CANCELED,
  rejected: TaskState.TASK_STATE_REJECTED,
  'auth-required': TaskState.TASK_STATE_AUTH_REQUIRED,
}
/** The state of a task as an A2A 1.0 enum. */
const stateOf = ({ state }: Pick<AgentTaskRecord, 'state'>): TaskState => STATES[state]

const partWith = (content: Part['content'], { filename = '', mediaType = '' } = {}): Part => ({
  content,
  metadata: undefined,
  filename,
  mediaType,
})

/** A part. Tool calls and their results, for which A2A has no part, become data. */
function partOf(part: TaskPart): Part {
  switch (part.kind) {
    case 'text':
      return partWith({ $case: 'text', value: part.text })
    case 'error':
      return partWith({ $case: 'text', value: part.error })
    case 'file': {
      const { bytes, uri = '', name: filename = '', mimeType: mediaType = '' } = part.file
      return bytes === undefined
        ? partWith({ $case: 'url', value: uri }, { filename, mediaType })
        : partWith({ $case: 'raw', value: Buffer.from(bytes, 'base64') }, { filename, mediaType })
    }
    case 'data':
      return partWith({ $case: 'data', value: part.data })
    case 'tool_call':
    case 'tool_result':
      return partWith({ $case: 'data', value: part })
    default:
      return part satisfies never
  }
}

type ShownMessage = Pick<TaskMessage, 'messageId' | 'role' | 'parts'>

/** A message of a task. A role other than user and agent is in its metadata. */
const messageOf = (
  { _id: taskId, context_id: contextId }: AgentTaskRecord,
  { messageId, role, parts }: ShownMessage,
): Message => ({
  messageId,
  contextId,
  taskId,
  role: role === 'user' ? Role.ROLE_USER : Role.ROLE_AGENT,
  parts: parts.map(partOf),
  metadata: role === 'user' || role === 'agent' ? undefined : { role },
  extensions: [],
  referenceTaskIds: [],
})

/** The state of a task with its message. */
function statusOf(task: AgentTaskRecord, history: readonly MessageRecord[]): NonNullable<Task['status']> {
  const { message, timestamp } = shownTask(task, history, 'without').status
  return { state: stateOf(task), message: message && messageOf(task, message), timestamp }
}

/** The artifact of a completed task: the response of its agent. */
function artifactsOf(task: AgentTaskRecord, history: readonly MessageRecord[]): Artifact[] {
  const { message } = statusOf(task, history)
  if (task.state !== 'completed' || !message) return []
  const { messageId: artifactId, parts } = message
  return [{ artifactId, name: 'answer', description: '', parts, metadata: undefined, extensions: [] }]
}

/**
 * The whole task with its last messages.
 * @throws A2AError for an invalid `historyLength`
 */
function taskShapeOf({ task, history }: WholeTask, historyLength?: number): Task {
  if (historyLength !== undefined && !(Number.isInteger(historyLength) && historyLength >= 0))
    throw malformed(`'historyLength' must be a whole number from 0, got ${historyLength}`)
  const count = historyLength ?? history.length
  return {
    id: task._id,
    contextId: task.context_id,
    status: statusOf(task, history),
    artifacts: artifactsOf(task, history),
    history: history.slice(Math.max(0, history.length - count)).map(({ message }) => messageOf(task, message)),
    metadata: shownTask(task, history, 'without').metadata,
  }
}

/**
 * The body of the task service for a client's message.
 * @throws A2AError if it is invalid
 */
function bodyOf({ message, metadata }: SendMessageRequest): TaskBody {
  if (!message) throw malformed("'message' is required")
  if (message.role !== Role.ROLE_USER) throw malformed("'message.role' must be that of the user")
  const parts = message.parts.map(requestPartOf)
  const body = {
    message: {
      messageId: message.messageId,
      role: parts.some(({ kind }) => kind === 'tool_result') ? 'tool' : 'user',
      parts,
    },
    ...(message.taskId !== '' && { task_id: message.taskId }),
    ...(metadata && { metadata }),
  }
  return parseRequest(TaskBody, body)
}

function requestPartOf({ content, filename, mediaType }: Part, index: number): { kind: string } {
  const about = { ...(mediaType !== '' && { mimeType: mediaType }), ...(filename !== '' && { name: filename }) }
  switch (content?.$case) {
    case 'text':
      return textPart(content.value)
    case 'raw':
      return filePart({ bytes: Buffer.from(content.value).toString('base64'), ...about })
    case 'url':
      return filePart({ uri: content.value, ...about })
    case 'data':
      return isToolResult(content.value) ? content.value : textPart(JSON.stringify(content.value))
    case undefined:
      throw malformed(`${quote(`message.parts[${index}]`)} must have one of text, raw, url and data`)
    default:
      return content satisfies never
  }
}
const textPart = (text: string) => ({ kind: 'text', text })
const filePart = (file: object) => ({ kind: 'file', file })
const isToolResult = (data: unknown): data is { kind: 'tool_result' } =>
  typeof data === 'object' && data !== null && 'kind' in data && data.kind === 'tool_result'

const BY_CODE: Record<string, new (message: string) => Error> = {
  task_not_found: TaskNotFoundError,
  task_not_cancelable: TaskNotCancelableError,
  task_active: UnsupportedOperationError,
  task_changed: UnsupportedOperationError,
}

/** The A2A error for one of ours; any other error is returned unchanged. */
function a2aErrorOf(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.status >= 500) return error
  const Known = BY_CODE[error.code] ?? RequestMalformedError
  return new Known(error.message)
}

/** Whether it is an error for the client, and not a bug. */
export const isRefusal = (error: unknown): boolean =>
  [RequestMalformedError, ...Object.values(BY_CODE)].some((Known) => error instanceof Known)

/**
 * The result of the work, whose errors become A2A errors.
 * @throws A2AError
 */
async function inA2aTerms<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw a2aErrorOf(error)
  }
}

/** -32602: invalid params. */
const malformed = (message: string): Error => new RequestMalformedError(message)
/** -32004: the operation is not supported for such a task. */
const unsupported = (message: string): Error => new UnsupportedOperationError(message)
/** -32003: push notifications are not supported. */
const noPush = (): Error =>
  new PushNotificationNotSupportedError(
    'Push notifications are not supported: they would open connections to other machines, and none are opened from here; use SubscribeToTask or GetTask',
  )
