// Decisions about a task from outside: cancellation, and approval of tool calls.
import { ApiError } from '../../contract/core/error.ts'
import { quote } from '../../schema/validation.ts'
import { commit } from '../store/commit.ts'
import type { TaskEvents } from '../store/events.ts'
import type { AgentTaskRecord } from '../store/manifest.ts'
import { openCalls, type ToolCallPart } from '../store/messages.ts'
import {
  findTask,
  messagesOf,
  placeOf,
  type TaskChange,
  type TaskOwner,
  type TaskPlace,
  taskOf,
} from '../store/store.ts'
import type { Runner } from './runner.ts'
import { canceled, closedCalls, noResult } from './turn-end.ts'

/** A decision about a pending tool call, or about all of a task's if it names none. */
export interface ToolDecision {
  task: string
  decision: 'approve' | 'reject'
  tool_call_id?: string | undefined
  reason?: string | undefined
}

const openIn = (place: TaskPlace, id: string): ToolCallPart[] =>
  openCalls(messagesOf(place, id).map(({ message }) => message))

/** Ends running and waiting tasks. */
interface CancelDeps {
  runner: Runner
  events: TaskEvents
}

/**
 * Cancels a task with its sub-tasks.
 * @throws ApiError 409 if it has ended
 */
export async function cancelTask(owner: TaskOwner, id: string, { runner, events }: CancelDeps): Promise<void> {
  const place = placeOf(owner)
  const { children } = taskOf(place, id)
  if (await runner.end(owner.session, id, canceled())) return
  const change = (task: AgentTaskRecord): TaskChange => {
    if (task.state !== 'input-required') throw notCancelable(task)
    const closed = closedCalls({ ...place, task }, openIn(place, id), noResult('canceled'))
    return { task: { state: 'canceled', finish_reason: 'canceled', pending: [] }, ...closed }
  }
  await commit(place, change, { events, read: () => taskOf(place, id) })
  await cancelTasks(owner, Object.values(children), { runner, events })
}

const CANCELABLE = new Set(['input-required', 'working', 'submitted'])

/** Cancels those tasks that can be canceled. The others have ended, or were deleted with their agents. */
export async function cancelTasks(owner: TaskOwner, ids: readonly string[], deps: CancelDeps): Promise<void> {
  const place = placeOf(owner)
  for (const id of ids) {
    const found = findTask(place, id)
    if (!found || !CANCELABLE.has(found.state)) continue
    await cancelTask(owner, id, deps).catch((error: unknown) => {
      // It may have ended meanwhile.
      if (!(error instanceof ApiError)) throw error
    })
  }
}

const notCancelable = ({ _id, state }: AgentTaskRecord) =>
  new ApiError(
    409,
    'task_not_cancelable',
    `the task ${_id} is ${state}: it can be canceled when it is submitted, working or input-required`,
    { param: 'task_id' },
  )

/**
 * The calls of a decision.
 * @throws ApiError 409 if one of them is not pending
 */
export function callsToDecide(task: AgentTaskRecord, tool_call_id: string | undefined): readonly string[] {
  const chosen = tool_call_id === undefined ? task.pending : [tool_call_id]
  const unknown = chosen.find((one) => !task.pending.includes(one))
  if (chosen.length === 0 || unknown !== undefined) throw nothingPending(task, unknown)
  return chosen
}

/**
 * Stores a decision, and returns the task, which must then continue.
 * @throws ApiError 409 if no call is pending
 */
export async function decideCalls(
  owner: TaskOwner,
  { task: id, decision, tool_call_id, reason }: ToolDecision,
  events: TaskEvents,
): Promise<AgentTaskRecord> {
  const place = placeOf(owner)
  const change = (task: AgentTaskRecord): TaskChange => {
    const chosen = callsToDecide(task, tool_call_id)
    const pending = task.pending.filter((one) => !chosen.includes(one))
    const goesOn = { state: 'working', finish_reason: null, pending } as const
    if (decision === 'approve') return { task: { ...goesOn, approved: [...task.approved, ...chosen] } }
    const why = `the call was rejected${reason === undefined ? '' : `: ${reason}`}`
    const rejected = openIn(place, id).filter((call) => chosen.includes(call.tool_call_id))
    return { task: goesOn, ...closedCalls({ ...place, task }, rejected, why) }
  }
  const read = () => taskOf(place, id)
  return (await commit(place, change, { events, read })) ?? read()
}

function nothingPending({ _id, pending }: AgentTaskRecord, named: string | undefined): ApiError {
  const which = named === undefined ? '' : ` ${quote(named)}`
  const waiting = pending.length === 0 ? 'none waits for it' : `waiting: ${pending.join(', ')}`
  const message = `the task ${_id} has no tool call${which} pending approval; ${waiting}`
  return new ApiError(409, 'nothing_to_approve', message, { param: named === undefined ? 'task_id' : 'tool_call_id' })
}
