// Sub-tasks: an agent delegates work to one of its team, and the two tasks wait for each other.

import { limitText, subTaskLimit } from '../store/limits.ts'
import type { AgentTaskRecord } from '../store/manifest.ts'
import { textOfMessage } from '../store/messages.ts'
import type { TaskOwner } from '../store/store.ts'
import { findTask, type WholeTask } from '../store/store.ts'
import type { ToolResult } from '../tools/define.ts'
import type { Runner } from './runner.ts'
import type { TaskCall } from './submission.ts'
import { TaskGone, type Turn, type TurnDeps } from './turn.ts'
import { canceled, TurnEnded } from './turn-end.ts'

interface SubTaskDeps {
  runner: Pick<Runner, 'run' | 'end'>
  submit(call: TaskCall): Promise<AgentTaskRecord>
  settled(owner: TaskOwner, id: string, signal?: AbortSignal): Promise<WholeTask>
}

/** Delegates work to another agent. The same tool call finds the sub-task that it started before. */
export async function delegateTask(
  turn: Turn,
  { agent, message, call }: Parameters<TurnDeps['delegate']>[1],
  { runner, submit, settled }: SubTaskDeps,
): Promise<ToolResult> {
  const { session, place, signal } = turn
  const task = findTask(place, turn.task._id) ?? turn.task
  const owner = { session, caller: task.caller }
  const existing = task.children[call.id]
  const limit = existing === undefined ? subTaskLimit(task, place) : undefined
  if (limit !== undefined) return { error: limit }
  const parent = { task, tool_call_id: call.id }
  const child =
    existing === undefined
      ? await submit({ ...owner, agent, body: bodyOf(task, message), from: task.from, parent })
      : findTask(place, existing)
  if (!child) return { error: `the task of the agent ${JSON.stringify(agent)} is gone` }
  // It ends with its parent task.
  const leave = () => {
    if (signal.reason instanceof TurnEnded || signal.reason instanceof TaskGone)
      void runner.end(session, child._id, canceled())
  }
  signal.addEventListener('abort', leave, { once: true })
  try {
    if (child.active !== null) void runner.run(session, child)
    return resultOfTask(await settled(owner, child._id, signal))
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

const bodyOf = ({ says }: AgentTaskRecord, text: string): TaskCall['body'] => ({
  message: { role: 'user', parts: [{ kind: 'text', text }] },
  variables: says.variables,
  ...(says.identity && { identity: says.identity }),
  ...(says.thread && { thread: says.thread }),
  ...(says.memory && { memory: says.memory }),
  ...(says.metadata && { metadata: says.metadata }),
})

/** The result of a sub-task for its parent. */
function resultOfTask({ task, history }: WholeTask): ToolResult {
  const { _id, agent_key, state, error, finish_reason, manifest } = task
  const about = `the agent ${JSON.stringify(agent_key)} (task ${_id})`
  const last = history.findLast(({ message }) => message.role === 'agent')?.message
  switch (state) {
    case 'completed':
      return { result: { agent: agent_key, task_id: _id, answer: last ? textOfMessage(last) : '' } }
    case 'failed':
      return { error: `${about} failed: ${error?.message ?? 'it does not say why'}` }
    case 'input-required': {
      const limit = limitText(finish_reason, manifest.settings)
      return limit === undefined ? { pending: { task: _id } } : { error: `${about} did not finish: ${limit}` }
    }
    default:
      return { error: `${about} is ${state}` }
  }
}
