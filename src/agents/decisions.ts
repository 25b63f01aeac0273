// What is decided about a task from outside: that it ends, and that calls of tools may be made or not.
import { ApiError } from '../contract/error.ts'
import type { Caller } from '../contract/record.ts'
import { quote } from '../contract/validation.ts'
import type { Session } from '../sessions/sessions.ts'
import { commit } from './commit.ts'
import type { TaskEvents } from './events.ts'
import type { AgentTaskRecord } from './manifest.ts'
import { openCalls, type ToolCallPart } from './messages.ts'
import type { Runner } from './runner.ts'
import { findTask, messagesOf, type TaskChange, type TaskPlace, taskOf } from './store.ts'
import { journalStep } from './turn.ts'
import { canceled, closing, noResult } from './turn-end.ts'

/** Whose tasks are meant. */
export interface TaskOwner {
  session: Session
  caller: Caller
}

/** What somebody decides of a call of a tool that waits for approval; of all of a task when it names none. */
export interface ToolDecision {
  task: string
  decision: 'approve' | 'reject'
  tool_call_id?: string | undefined
  reason?: string | undefined
}

const openIn = (place: TaskPlace, id: string): ToolCallPart[] =>
  openCalls(messagesOf(place, id).map(({ message }) => message))

/** What ends tasks that run, and those that wait. */
interface CancelDeps {
  runner: Runner
  events: TaskEvents
}

/** Cancels a task with its sub-tasks; 409 when it has ended. */
export async function cancelTask(
  { session, caller }: TaskOwner,
  id: string,
  { runner, events }: CancelDeps,
): Promise<void> {
  const place = { session, workspace: caller.workspace }
  const { children } = taskOf(place, id)
  if (await runner.end(session, id, canceled())) return
  const change = (task: AgentTaskRecord): TaskChange => {
    if (task.state !== 'input-required') throw notCancelable(task)
    const why = noResult('canceled')
    const open = openIn(place, id)
    return {
      task: { state: 'canceled', finish_reason: 'canceled', pending: [] },
      messages: open.map((call) => closing(call, why)),
      steps: open.map((call) => failedStep(place.session, task, call, why)),
    }
  }
  await commit(place, id, change, { events })
  await cancelTasks({ session, caller }, Object.values(children), { runner, events })
}

const CANCELABLE = new Set(['input-required', 'working', 'submitted'])

/** Cancels those of some tasks that can be; the others have ended, or are gone with their agents. */
export async function cancelTasks(owner: TaskOwner, ids: readonly string[], deps: CancelDeps): Promise<void> {
  const place = { session: owner.session, workspace: owner.caller.workspace }
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

const failedStep = (session: Session, task: AgentTaskRecord, call: ToolCallPart, error: string) =>
  journalStep({ task, session }, session.clock.now(), {
    kind: 'tool',
    name: call.tool_name,
    tool_call_id: call.tool_call_id,
    outcome: 'failed',
    error,
  })

/** The calls that a decision is about; 409 when one of them does not wait for any. */
export function callsToDecide(task: AgentTaskRecord, tool_call_id: string | undefined): readonly string[] {
  const chosen = tool_call_id === undefined ? task.pending : [tool_call_id]
  const unknown = chosen.find((one) => !task.pending.includes(one))
  if (chosen.length === 0 || unknown !== undefined) throw nothingPending(task, unknown)
  return chosen
}

/** Writes a decision; gives the task, which then is to go on. 409 when nothing waits for one. */
export async function decideCalls(
  { session, caller }: TaskOwner,
  { task: id, decision, tool_call_id, reason }: ToolDecision,
  events: TaskEvents,
): Promise<AgentTaskRecord> {
  const place = { session, workspace: caller.workspace }
  const change = (task: AgentTaskRecord): TaskChange => {
    const chosen = callsToDecide(task, tool_call_id)
    const pending = task.pending.filter((one) => !chosen.includes(one))
    const goesOn = { state: 'working', finish_reason: null, pending } as const
    if (decision === 'approve') return { task: { ...goesOn, approved: [...task.approved, ...chosen] } }
    const why = `the call was rejected${reason === undefined ? '' : `: ${reason}`}`
    const rejected = openIn(place, id).filter((call) => chosen.includes(call.tool_call_id))
    return {
      task: goesOn,
      messages: rejected.map((call) => closing(call, why)),
      steps: rejected.map((call) => failedStep(session, task, call, why)),
    }
  }
  return (await commit(place, id, change, { events })) ?? taskOf(place, id)
}

function nothingPending({ _id, pending }: AgentTaskRecord, named: string | undefined): ApiError {
  const which = named === undefined ? '' : ` ${quote(named)}`
  const waiting = pending.length === 0 ? 'none waits for it' : `waiting: ${pending.join(', ')}`
  const message = `the task ${_id} has no call of a tool${which} that waits for approval; ${waiting}`
  return new ApiError(409, 'nothing_to_approve', message, { param: named === undefined ? 'task_id' : 'tool_call_id' })
}
