// Converts tasks, messages and parts to the shapes of A2A 1.0, and client messages to calls of the task service.
import {
  type Artifact,
  type Message,
  type Part,
  Role,
  type SendMessageRequest,
  type Task,
  TaskState,
} from '@a2a-js/sdk'
import { TaskBody, type TaskMessage, type TaskPart } from '../../contract/workspace/agent-task.ts'
import type { MessageRecord } from '../../contract/workspace/task-record.ts'
import type { TaskState as TaskStateName } from '../../contract/workspace/task-state.ts'
import { parseRequest, quote } from '../../schema/validation.ts'
import type { AgentTaskRecord } from '../store/manifest.ts'
import { shownTask } from '../store/show.ts'
import type { WholeTask } from '../store/store.ts'
import { malformed } from './errors.ts'

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
export const stateOf = ({ state }: Pick<AgentTaskRecord, 'state'>): TaskState => STATES[state]

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
export const messageOf = (
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
export function statusOf(task: AgentTaskRecord, history: readonly MessageRecord[]): NonNullable<Task['status']> {
  const { message, timestamp } = shownTask(task, history, 'without').status
  return { state: stateOf(task), message: message && messageOf(task, message), timestamp }
}

/** The artifact of a completed task: the response of its agent. */
export function artifactsOf(task: AgentTaskRecord, history: readonly MessageRecord[]): Artifact[] {
  const { message } = statusOf(task, history)
  if (task.state !== 'completed' || !message) return []
  const { messageId: artifactId, parts } = message
  return [{ artifactId, name: 'answer', description: '', parts, metadata: undefined, extensions: [] }]
}

/**
 * The whole task with its last messages.
 * @throws A2AError for an invalid `historyLength`
 */
export function taskShapeOf({ task, history }: WholeTask, historyLength?: number): Task {
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
export function bodyOf({ message, metadata }: SendMessageRequest): TaskBody {
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
