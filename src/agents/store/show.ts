// Renders a task for responses and traces.

import type { TaskStep, TaskTrace } from '../../contract/core/trace.ts'
import type { AgentTask, TaskPart } from '../../contract/workspace/agent-task.ts'
import type { MessageRecord } from '../../contract/workspace/task-record.ts'
import { limitText } from './limits.ts'
import type { AgentTaskRecord } from './manifest.ts'
import { openCalls } from './messages.ts'

/** The message of a task's state: what it waits for, or its error. */
function statusMessage(task: AgentTaskRecord, history: readonly MessageRecord[]): AgentTask['status']['message'] {
  const messages = history.map(({ message }) => message)
  const last = messages.findLast(({ role }) => role === 'agent')
  const say = (parts: TaskPart[]) => ({
    kind: 'message' as const,
    messageId: last?.messageId ?? task._id,
    role: 'agent' as const,
    parts,
  })
  if (task.error) return say([{ kind: 'error', error: task.error.message, code: task.error.code }])
  const limit = limitText(task.finish_reason, task.manifest.settings)
  if (limit !== undefined) return say([{ kind: 'text', text: limit }])
  switch (task.state) {
    case 'input-required': {
      const open = openCalls(messages)
      return open.length === 0 ? undefined : say(open)
    }
    case 'completed':
      return last && say(last.parts)
    default:
      return undefined
  }
}

/** The task, with its messages if they were requested. `history` has all of them. */
export function shownTask(
  task: AgentTaskRecord,
  history: readonly MessageRecord[],
  withMessages: 'with messages' | 'without' = 'with messages',
): AgentTask {
  const { _id, context_id, state, updated, turn, finish_reason } = task
  const message = statusMessage(task, history)
  const actions = actionsOf(task, history)
  return {
    id: _id,
    contextId: context_id,
    kind: 'task',
    status: { state, timestamp: updated, ...(message && { message }) },
    ...(withMessages === 'with messages' && { messages: history.map((one) => one.message) }),
    metadata: {
      workspace_id: task.workspace_id,
      trace_id: turn.trace,
      agent_key: task.agent_key,
      ...(finish_reason && { finish_reason }),
      iterations: turn.iterations,
      cost: turn.cost,
      ...(task.parent && { parent_task_id: task.parent.task }),
      ...(actions.length > 0 && { pending_actions: actions }),
      ...(finish_reason === 'sub_task' && { waits_for: Object.values(task.children) }),
    },
  }
}

/** The tool calls that are pending approval. */
function actionsOf(task: AgentTaskRecord, history: readonly MessageRecord[]): object[] {
  if (task.pending.length === 0) return []
  return openCalls(history.map(({ message }) => message))
    .filter(({ tool_call_id }) => task.pending.includes(tool_call_id))
    .map((call) => ({
      action_type: call.tool_name,
      agent_tool_call_id: call.tool_call_id,
      agent_execution_id: task._id,
      tool: { requires_approval: true },
      state: {
        review: null,
        review_source: null,
        reviewed_by_id: null,
        executed: false,
        error: null,
        input: call.arguments,
        output: null,
      },
    }))
}

/** The task in a trace that has its steps. */
export const taskTrace = (task: AgentTaskRecord, steps: readonly TaskStep[]): TaskTrace => ({
  id: task._id,
  context_id: task.context_id,
  agent: task.agent_key,
  turn: task.turn.number,
  state: task.state,
  finish_reason: task.finish_reason,
  parent: task.parent?.task ?? null,
  iterations: task.turn.iterations,
  steps: [...steps],
})
