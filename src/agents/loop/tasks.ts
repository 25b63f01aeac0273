// The task service, over HTTP or A2A: submit, continue, read, wait, cancel, decide.
import type { ToolAnswers } from '../../backends/fixture/tool-answers.ts'
import { ApiError } from '../../contract/core/error.ts'
import type { PageQuery } from '../../contract/workspace/shared.ts'
import type { TaskRecord } from '../../contract/workspace/task-record.ts'
import { quote } from '../../schema/validation.ts'
import type { Session } from '../../sessions/sessions.ts'
import { commit } from '../store/commit.ts'
import { createTaskEvents, type TaskEvents, type TaskListener, taskFeed } from '../store/events.ts'
import { limitText, subTaskLimit } from '../store/limits.ts'
import type { AgentTaskRecord } from '../store/manifest.ts'
import { openCalls, type ToolCallPart, textOfMessage } from '../store/messages.ts'
import {
  activeTasks,
  agentOf,
  findTask,
  messagesOf,
  placeOf,
  type TaskChange,
  type TaskOwner,
  type TaskPlace,
  taskOf,
  taskPage,
  type WholeTask,
  wholeTasks,
} from '../store/store.ts'
import type { ToolResult } from '../tools/define.ts'
import { toolFixturesOf } from '../tools/run.ts'
import { createRunner, type Runner } from './runner.ts'
import { beginTurn, submissionOf, type TaskCall } from './submission.ts'
import { throughTaskFaults } from './task-faults.ts'
import { TaskGone, type Turn, type TurnDeps } from './turn.ts'
import { canceled, closedCalls, noResult, TurnEnded } from './turn-end.ts'

/** The service over the gateway; `toolAnswers` answers tool calls from fixtures. */
export function createTaskService({
  gateway,
  ask,
  toolAnswers,
}: Pick<TurnDeps, 'gateway' | 'ask'> & { toolAnswers: ToolAnswers }) {
  const events = createTaskEvents(gateway.observers)
  const start = (session: Session, task: AgentTaskRecord) => void runner.run(session, task)
  const delegate: TurnDeps['delegate'] = (turn, work) => delegateTask(turn, work, { ...service, runner })
  const turnDeps = { gateway, ask, fixtures: toolFixturesOf(toolAnswers), events, delegate }
  const runner = createRunner(turnDeps, ({ session, place, task }) => {
    // Its end may have woken the task itself, or its parent.
    for (const id of [task._id, task.parent?.task]) {
      const now = id === undefined ? undefined : findTask(place, id)
      if (now && now.active !== null) start(session, now)
    }
  })
  const get = (owner: TaskOwner, id: string): WholeTask => {
    const place = placeOf(owner)
    return { task: taskOf(place, id), history: messagesOf(place, id) }
  }
  const service = {
    /** Submits or continues a task. Resolves when that is committed; the task then runs. */
    async submit(call: TaskCall): Promise<AgentTaskRecord> {
      const { session, caller } = call
      const submission = await submissionOf(call)
      const task = await beginTurn(call, submission, events)
      call.started?.(task)
      start(session, task)
      await cancelTasks({ session, caller }, submission.abandoned, { runner, events })
      return task
    },
    /** A task when it is no longer active. Rejects with the signal's reason if that aborts first. */
    async settled(owner: TaskOwner, id: string, signal?: AbortSignal): Promise<WholeTask> {
      const feed = taskFeed()
      // Listening starts before reading, so that nothing is missed.
      feed.follow((listener) => events.subscribe(placeOf(owner), id, listener))
      // A reset session has other tasks, and no one continues this one.
      const happening = feed.read([owner.session.ended, ...(signal ? [signal] : [])])
      try {
        if (get(owner, id).task.active !== null) while (!(await happening.next()).done);
        return get(owner, id)
      } finally {
        feed.close()
      }
    },
    /**
     * A task.
     * @throws ApiError 404 if there is none
     */
    get,
    /** Tasks of an agent, newest first, without the data of their turns, which may be large. */
    page: pageOfTasks,
    /** The same with all of their data. */
    list(owner: TaskOwner, agent: string, query: PageQuery): { data: AgentTaskRecord[]; hasMore: boolean } {
      const page = pageOfTasks(owner, agent, query)
      return { ...page, data: wholeTasks(placeOf(owner), page.data) }
    },
    /**
     * Cancels a task and its calls.
     * @throws ApiError 409 if it has ended
     */
    async cancel(owner: TaskOwner, id: string): Promise<WholeTask> {
      await cancelTask(owner, id, { runner, events })
      return get(owner, id)
    },
    /** Decides about pending tool calls, and continues the task. */
    async decide(owner: TaskOwner, decision: ToolDecision): Promise<WholeTask> {
      const { session } = owner
      const task = taskOf(placeOf(owner), decision.task)
      const calls = callsToDecide(task, decision.tool_call_id)
      const { iterations: iteration } = task.turn
      const key = `${iteration}:approval:${calls.join(',')}`
      const never = new AbortController().signal
      await throughTaskFaults(
        { session, task, deps: turnDeps },
        { at: 'approval', iteration, key, signal: never, onTriggered() {} },
        async () => start(session, await decideCalls(owner, decision, events)),
      )
      return get(owner, decision.task)
    },
    /** Listens to a task. The returned function stops that. */
    subscribe: (owner: TaskOwner, id: string, listener: TaskListener): (() => void) =>
      events.subscribe(placeOf(owner), id, listener),
    /** Ends running tasks whose agents were deleted. */
    sweep: runner.sweep,
    /** Continues the tasks that an earlier process or generation of the session left. */
    wake(session: Session): void {
      for (const task of activeTasks(session)) start(session, task)
    },
  }
  return service
}

/** The tasks of all sessions. */
export type TaskService = ReturnType<typeof createTaskService>

/** A page of the tasks of an agent, newest first. */
function pageOfTasks(
  owner: TaskOwner,
  agent: string,
  { limit, starting_after: after, ending_before: before }: PageQuery,
): { data: TaskRecord[]; hasMore: boolean } {
  return taskPage(placeOf(owner), String(agentOf(owner, agent)._id), { limit, after, before })
}

/** A decision about a pending tool call, or about all of a task's if it names none. */
interface ToolDecision {
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
function callsToDecide(task: AgentTaskRecord, tool_call_id: string | undefined): readonly string[] {
  const chosen = tool_call_id === undefined ? task.pending : [tool_call_id]
  const unknown = chosen.find((one) => !task.pending.includes(one))
  if (chosen.length === 0 || unknown !== undefined) throw nothingPending(task, unknown)
  return chosen
}

/**
 * Stores a decision, and returns the task, which must then continue.
 * @throws ApiError 409 if no call is pending
 */
async function decideCalls(
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

interface SubTaskDeps {
  runner: Pick<Runner, 'run' | 'end'>
  submit(call: TaskCall): Promise<AgentTaskRecord>
  settled(owner: TaskOwner, id: string, signal?: AbortSignal): Promise<WholeTask>
}

/** Delegates work to another agent. The same tool call finds the sub-task that it started before. */
async function delegateTask(
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
