// A task as events of a stream: what its turn does, as it does it, up to its end.
import type { TaskMessage } from '../contract/agent-task.ts'
import { ConnectionFailure, type Reply } from '../contract/reply.ts'
import { DONE_EVENT, type StreamEvent } from '../lib/sse.ts'
import type { TaskOwner } from './decisions.ts'
import type { TaskEvent } from './events.ts'
import type { AgentTaskRecord } from './manifest.ts'
import { textOfMessage } from './messages.ts'
import type { TaskService } from './tasks.ts'
import { limitText } from './turn-end.ts'

const STREAM = { headers: {}, usage: null, fixture: null, synthesized: false }

interface StreamDeps {
  tasks: TaskService
  owner: TaskOwner
  /** Aborted when the client has gone. */
  signal: AbortSignal
  /** What the user has said. */
  input: string
}

/** The turn of a task that has just been submitted, as a stream of events. */
export function streamOfTask(
  { tasks, owner, signal, input }: StreamDeps,
  task: AgentTaskRecord,
  headers: Record<string, string>,
): Reply {
  const heard: TaskEvent[] = []
  let wake = () => {}
  const stop = tasks.subscribe(owner, task._id, (event) => {
    heard.push(event)
    wake()
  })
  return { ...STREAM, status: 200, headers, body: { kind: 'events', events: eventsOf() } }

  async function* eventsOf(): AsyncGenerator<StreamEvent> {
    const leave = () => wake()
    signal.addEventListener('abort', leave, { once: true })
    owner.session.ended.addEventListener('abort', leave, { once: true })
    try {
      const event = (type: string, data: object): StreamEvent => ({
        data: { type, timestamp: new Date(owner.session.clock.now()).toISOString(), data },
      })
      for (const [type, data] of beginning(task, input)) yield event(type, data)
      let last: TaskMessage | undefined
      for (;;) {
        const next = heard.shift()
        if (next) {
          last = lastOfAgent(next) ?? last
          for (const [type, data] of told(next, last)) yield event(type, data)
          if (next.type === 'changed' && next.task.active === null) break
        } else if (signal.aborted) return
        else if (owner.session.ended.aborted) throw new ConnectionFailure('the session has begun anew')
        else await new Promise<void>((resolve) => (wake = resolve))
      }
      yield DONE_EVENT
    } finally {
      stop()
      signal.removeEventListener('abort', leave)
      owner.session.ended.removeEventListener('abort', leave)
    }
  }
}

type NamedData = [type: string, data: object]

const beginning = (
  { _id, workspace_id, turn, manifest, agent_key }: AgentTaskRecord,
  inputMessage: string,
): NamedData[] => [
  ['agents.execution_started', { agent_task_id: _id, workspace_id, trace_id: turn.trace }],
  [
    'event.agents.started',
    {
      workflowRunId: _id,
      inputMessage,
      modelId: manifest.model,
      instructions: manifest.instructions,
      system_prompt: manifest.system,
      agent_manifest_id: manifest._id,
      agent_key,
    },
  ],
]

const lastOfAgent = (happened: TaskEvent): TaskMessage | undefined =>
  happened.type === 'changed'
    ? happened.messages.findLast(({ message }) => message.role === 'agent')?.message
    : undefined

/** What is said of one thing that has happened. */
function told(happened: TaskEvent, last: TaskMessage | undefined): NamedData[] {
  const workflowRunId = happened.task._id
  if (happened.type === 'tool-started') {
    const { tool: tool_name, tool_call_id } = happened
    return [['event.workflow_events.tool_execution_started', { tool_name, tool_call_id, workflowRunId }]]
  }
  const { task, messages, steps } = happened
  const tools = steps
    .filter(({ kind, outcome }) => (kind === 'tool' || kind === 'task') && outcome !== 'waiting')
    .map(
      ({ name: tool_name, tool_call_id, error }): NamedData =>
        error === null
          ? ['event.workflow_events.tool_execution_finished', { tool_name, tool_call_id, workflowRunId }]
          : ['event.workflow_events.tool_execution_failed', { tool_name, tool_call_id, error, workflowRunId }],
    )
  const said = messages
    .filter(({ message }) => message.role === 'agent')
    .map(({ message }): NamedData => ['event.agents.message-created', { message, workflowRunId }])
  const reviews = task.pending.map(
    (id): NamedData => ['event.agents.action_review_requested', { agent_tool_call_id: id, workflowRunId }],
  )
  return [...said, ...tools, ...(task.active === null ? [...reviews, ending(task, last)] : [])]
}

function ending(task: AgentTaskRecord, last: TaskMessage | undefined): NamedData {
  const { _id: workflowRunId, error, finish_reason, manifest } = task
  if (error) return ['event.agents.errored', { error: error.message, code: error.status, workflowRunId }]
  const text = limitText(finish_reason, manifest.settings) ?? (last ? textOfMessage(last) : '')
  return ['event.agents.inactive', { last_message: text, finish_reason, workflowRunId }]
}
