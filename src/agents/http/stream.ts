// A task as a stream of events: the steps of its turn as they happen, until its end or the client's timeout.
import { ApiError } from '../../contract/core/error.ts'
import type { Reply } from '../../contract/core/reply.ts'
import type { TaskStep } from '../../contract/core/trace.ts'
import type { TaskMessage, TaskPart } from '../../contract/workspace/agent-task.ts'
import type { MessageRecord, TaskReason } from '../../contract/workspace/task-record.ts'
import { startDeadline } from '../../lib/deadline.ts'
import { DONE_EVENT, dataEvent, type EventBatch } from '../../lib/sse.ts'
import type { TaskCall } from '../loop/submission.ts'
import type { TaskService } from '../loop/tasks.ts'
import { type TaskEvent, taskFeed } from '../store/events.ts'
import { limitText } from '../store/limits.ts'
import { type AgentTaskRecord, offeredTools } from '../store/manifest.ts'
import {
  assistantMessage,
  chatCallsOf,
  openCalls,
  type ToolCallPart,
  textOfMessage,
  toolCallsOf,
  toolResultsOf,
} from '../store/messages.ts'
import type { ToolEntry } from '../tools/define.ts'

const STREAM = { usage: null, fixture: null, generated: false }

/** The inputs of a task's stream. */
interface TaskStreamOptions {
  tasks: TaskService
  call: TaskCall
  /** Maximum duration, in seconds of the session's clock. */
  seconds: number
  /** Aborts when the client disconnects. */
  signal: AbortSignal
  headersOf(task: AgentTaskRecord): Record<string, string>
}

/** The stream ended before the turn. */
class StreamTimeout extends Error {}

/** Submits a task, and streams the events of its turn. */
export async function streamOfTask({ tasks, call, seconds, signal, headersOf }: TaskStreamOptions): Promise<Reply> {
  const { session } = call
  const happened = taskFeed()
  const task = await tasks.submit({
    ...call,
    started({ _id }) {
      happened.follow((listener) => tasks.subscribe(call, _id, listener))
    },
  })
  const activity = session.begin({ signal })
  const time = `${seconds} s`
  const reason = () =>
    new StreamTimeout(`the stream has taken its stream_timeout_seconds of ${time}; the task works on`)
  const limit = startDeadline(session.clock, seconds * 1000, { outer: activity.signal, reason })
  const close = () => {
    happened.close()
    limit.stop()
    activity.end()
  }
  // A client may disconnect before it has read anything: then nothing of what follows runs.
  limit.signal.addEventListener('abort', close, { once: true })
  return { ...STREAM, status: 200, headers: headersOf(task), body: { kind: 'events', events: events() } }

  async function* events(): AsyncGenerator<EventBatch> {
    try {
      let last = ''
      for await (const [type, data] of turnEvents()) {
        last = type
        yield [dataEvent({ type, timestamp: new Date(session.clock.now()).toISOString(), data })]
      }
      // A failed stream has no end mark.
      if (last !== 'agents.error') yield [DONE_EVENT]
    } finally {
      limit.signal.removeEventListener('abort', close)
      close()
    }
  }

  async function* turnEvents(): AsyncGenerator<StreamedEvent> {
    yield* beginning(task, call.body.message as Parameters<typeof beginning>[1])
    const eventsOf = eventsOfTask()
    try {
      for await (const event of happened.read([limit.signal])) {
        yield* eventsOf(event)
        if (event.task.active === null) yield* ending(event.task, tasks.get(call, task._id).history)
      }
    } catch (error) {
      if (error instanceof StreamTimeout) yield ['agents.timeout', { message: error.message }]
      else if (error instanceof ApiError) yield ['agents.error', { error: error.message, code: error.code }]
      // A disconnected client receives nothing.
      else if (error !== limit.signal.reason) throw error
    }
  }
}

/** An event of the stream: type and data. */
type StreamedEvent = [type: string, data: object]

/** The first events; `input` is the client's message. */
const beginning = (task: AgentTaskRecord, input: Pick<TaskMessage, 'role' | 'parts'>): StreamedEvent[] => [
  ['agents.execution_started', { agent_task_id: task._id, workspace_id: task.workspace_id, trace_id: task.turn.trace }],
  [
    'event.agents.started',
    {
      workflowRunId: task._id,
      inputMessage: input,
      modelId: task.manifest.model,
      instructions: task.manifest.instructions,
      system_prompt: task.manifest.system,
      agent_manifest_id: task.manifest._id,
      agent_key: task.agent_key,
      is_continuation: task.turn.number > 1,
    },
  ],
]

/** Converts changes of a task to events. It remembers tool calls, since their results refer to them by id. */
function eventsOfTask(): (happened: TaskEvent) => StreamedEvent[] {
  const calls = new Map<string, ToolCallPart>()
  return (happened) => {
    if (happened.type === 'gone') return []
    const { task } = happened
    if (happened.type === 'tool-started') {
      calls.set(happened.call.tool_call_id, happened.call)
      return [toolStarted(task, happened.call)]
    }
    const { messages, steps } = happened
    const results = new Map(
      messages
        .flatMap(({ message }) => toolResultsOf(message))
        .map(({ tool_call_id, result }) => [tool_call_id, result]),
    )
    const ends = steps.flatMap((step) => {
      if ((step.kind !== 'tool' && step.kind !== 'task') || step.tool_call_id === null) return []
      const call = calls.get(step.tool_call_id) ?? { tool_name: step.name, tool_call_id: step.tool_call_id }
      return [toolEnded(task, call, { error: step.error, result: results.get(step.tool_call_id) })]
    })
    const events = messages.map((one) =>
      one.message.role === 'agent' ? thought(task, one, steps) : messageCreated(task, one),
    )
    return [...ends, ...events]
  }
}

/** The events of an iteration. */
function thought(task: AgentTaskRecord, { message }: MessageRecord, steps: readonly TaskStep[]): StreamedEvent {
  const { messageId, role, parts } = message
  const usage = steps.find(({ kind }) => kind === 'model')?.usage
  const finish_reason = toolCallsOf(message).length > 0 ? 'tool_calls' : 'stop'
  return [
    'event.agents.thought',
    {
      agent_id: task.agent_id,
      message_difference: {
        [messageId]: {
          ...{ messageId, role, parts },
          ...{ agent_id: task.agent_id, agent_execution_id: task._id, workspace_id: task.workspace_id },
        },
      },
      iteration: task.turn.iterations,
      accumulated_execution_time: task.turn.spent_ms,
      choice: { index: 0, finish_reason, message: assistantMessage(message) },
      ...(usage && { usage }),
      workflowRunId: task._id,
    },
  ]
}

/**
 * The events of a message of a user or a tool. An error part becomes text, since there is no other part for it here.
 */
function messageCreated({ _id, turn }: AgentTaskRecord, { message, trace }: MessageRecord): StreamedEvent {
  const { messageId, role } = message
  const parts = message.parts.map(
    (part): TaskPart => (part.kind === 'error' ? { kind: 'text', text: `Error: ${part.error}` } : part),
  )
  const data = { workflowRunId: _id, spanId: trace ?? turn.trace, parentId: turn.trace }
  return ['event.agents.message-created', { ...data, message: [{ messageId, role, parts }] }]
}

const entryOf = ({ manifest }: AgentTaskRecord, name: string): ToolEntry | undefined =>
  offeredTools(manifest).get(name)?.entry

type CallName = Pick<ToolCallPart, 'tool_name' | 'tool_call_id'>

/** The common fields of tool call events. */
function toolContext(task: AgentTaskRecord, { tool_name, tool_call_id }: CallName) {
  const entry = entryOf(task, tool_name)
  return {
    tool_name,
    action_type: entry?.type ?? tool_name,
    tool_execution_context: {
      action_id: entry?.id ?? tool_name,
      agent_tool_call_id: tool_call_id,
      workspace_id: task.workspace_id,
      agent_manifest_id: task.manifest._id,
      agent_execution_id: task._id,
      product: 'agents',
      ...(task.says.memory && { memory: { entity_id: task.says.memory.entity_id } }),
    },
    workflowRunId: task._id,
  }
}

const TOOLS = 'event.workflow_events.tool_execution'

function toolStarted(task: AgentTaskRecord, call: ToolCallPart): StreamedEvent {
  const tool_id = entryOf(task, call.tool_name)?.id ?? call.tool_name
  return [`${TOOLS}_started`, { tool_id, tool_arguments: call.arguments, ...toolContext(task, call) }]
}

function toolEnded(
  task: AgentTaskRecord,
  call: CallName,
  { error, result }: { error: string | null; result: unknown },
): StreamedEvent {
  const context = toolContext(task, call)
  return error === null
    ? [`${TOOLS}_finished`, { ...context, ...(result !== undefined && { result }) }]
    : [`${TOOLS}_failed`, { ...context, error: { message: error } }]
}

/** The finish reasons of this stream; the exact one is in another field. */
const FINISH_REASONS: Record<TaskReason, string> = {
  stop: 'stop',
  canceled: 'stop',
  error: 'stop',
  tool_calls: 'function_call',
  approval: 'tool_calls',
  sub_task: 'tool_calls',
  max_iterations: 'max_iterations',
  max_time: 'max_time',
  max_cost: 'max_iterations',
  max_team_calls: 'max_iterations',
}

/** The events at the end of a turn: pending approvals, and how it ended. */
function ending(task: AgentTaskRecord, history: readonly MessageRecord[]): StreamedEvent[] {
  const { _id: workflowRunId, error, finish_reason, manifest, pending } = task
  if (error) return [['event.agents.errored', { error: error.message, code: error.status, workflowRunId }]]
  const messages = history.map(({ message }) => message)
  const open = openCalls(messages)
  const last = messages.findLast(({ role }) => role === 'agent')
  const reviews = open.filter(({ tool_call_id }) => pending.includes(tool_call_id))
  const waiting = finish_reason === 'tool_calls' ? open : []
  const inactive = {
    last_message: limitText(finish_reason, manifest.settings) ?? (last ? textOfMessage(last) : ''),
    ...(last && { last_message_full: { messageId: last.messageId, role: last.role, parts: last.parts } }),
    finish_reason: FINISH_REASONS[finish_reason ?? 'stop'],
    reason: finish_reason ?? 'stop',
    ...(waiting.length > 0 && { pending_tool_calls: chatCallsOf(waiting) }),
    workflowRunId,
  }
  return [...reviews.map((call) => reviewRequested(task, call)), ['event.agents.inactive', inactive]]
}

function reviewRequested(task: AgentTaskRecord, call: ToolCallPart): StreamedEvent {
  const entry: Partial<ToolEntry> = entryOf(task, call.tool_name) ?? {}
  const { type: action_type = call.tool_name, id = call.tool_name, tool_id, timeout } = entry
  const tool = {
    ...{ id, action_type, requires_approval: true },
    ...(tool_id !== undefined && { tool_id }),
    ...(timeout !== undefined && { timeout }),
  }
  const about = { agent_id: task.agent_id, action_id: id, requires_approval: true, tool, input: call.arguments }
  const { tool_call_id: agent_tool_call_id } = call
  return ['event.agents.action_review_requested', { ...about, agent_tool_call_id, workflowRunId: task._id }]
}
