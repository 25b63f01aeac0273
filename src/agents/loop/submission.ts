// Validates a call that submits or continues a task, before anything is written.
import { isLong, precountTokens } from '../../answers/precount-tokens.ts'
import { ApiError } from '../../contract/core/error.ts'
import type { TaskBody, TaskMessage, TaskPart } from '../../contract/workspace/agent-task.ts'
import type { Fields } from '../../contract/workspace/record.ts'
import type { MessageRecord, TaskSayings } from '../../contract/workspace/task-record.ts'
import { INACTIVE_STATES } from '../../contract/workspace/task-state.ts'
import { callSiteOf, injectionPointKind } from '../../gateway/call-site.ts'
import { traceIdOf } from '../../gateway/record/recorder.ts'
import { fillerOf } from '../../gateway/variables.ts'
import { ulidOf, uuidOf } from '../../lib/ids.ts'
import { once } from '../../lib/once.ts'
import { checkContext } from '../../providers/rules/index.ts'
import { agents } from '../../resources/agents.ts'
import { recordOf } from '../../resources/define.ts'
import { parseRequest, quote } from '../../schema/validation.ts'
import type { Session } from '../../sessions/sessions.ts'
import { commit } from '../store/commit.ts'
import type { TaskEvents } from '../store/events.ts'
import { type AgentTaskRecord, manifestOf, offeredTools, systemTextOf, type TurnManifest } from '../store/manifest.ts'
import { filledParts, openCalls, type ToolCallPart, textsOf, toolCallsOf, toolResultsOf } from '../store/messages.ts'
import {
  agentOf,
  findTask,
  messagesOf,
  type NewMessage,
  nextTaskNumber,
  ofAgent,
  placeOf,
  type TaskChange,
  type TaskOwner,
  taskNotFound,
  taskOf,
  writeChange,
} from '../store/store.ts'
import { journalStep, recordTurn, TASK_OPERATION } from '../store/turn-trace.ts'
import { chatOperation, chatRequestOf } from './model-step.ts'
import { closing, noResult } from './turn-end.ts'

/** The caller, the agent and the body of a submission. */
export interface TaskCall extends TaskOwner {
  /** Key or id of the agent. */
  agent: string
  body: TaskBody
  /** The called URL, and the scenario that the call selected. */
  from: AgentTaskRecord['from']
  /** The context of a new task, if the caller names one. */
  context?: string
  /** Called when the task is committed, before it runs. */
  started?(task: AgentTaskRecord): void
  /** For a client's call: aborts when the client disconnects. */
  client?: AbortSignal
  /** For a sub-task: the parent task, and the tool call that it executes. */
  parent?: { task: AgentTaskRecord; tool_call_id: string }
}

/** A valid call. */
interface Submission {
  agent: Fields
  manifest: TurnManifest
  options: TaskSayings
  message: NewMessage
  /** Sub-tasks that are abandoned. */
  abandoned: readonly string[]
  /** The continued task, and its messages; absent for a new one. */
  before?: { task: AgentTaskRecord; history: readonly MessageRecord[] }
}

/**
 * Validates a call without changing anything.
 * @throws ApiError if it is invalid
 */
export async function submissionOf(call: TaskCall): Promise<Submission> {
  const { session, caller, body, client } = call
  const { records, clock } = session
  const agent = agentOf(call, call.agent)
  if (agent.type === 'a2a') throw externalAgent(agent)
  const before = body.task_id === undefined ? undefined : continued(call, agent, body.task_id)
  const parts = body.message.parts as TaskPart[]
  const options = optionsOf(body, agent, before?.task.says)
  const given = Object.entries({ ...(agent.variables as Fields), ...options.variables })
  // Variables in an agent's texts have no value here.
  const values = Object.fromEntries(given.filter(([, value]) => value !== null && value !== undefined))
  const templates = [systemTextOf(agent), ...textsOf(parts)]
  const signal = client ? AbortSignal.any([session.ended, client]) : session.ended
  const fill = await clock.work(
    fillerOf(templates, { engine: options.engine, values }, { signal, limits: session.jobLimits }),
  )
  const system = fill(systemTextOf(agent), 'instructions')
  const manifest = manifestOf(agent, { records, caller }, system)
  if (body.message.role === 'tool') checkResults(body.message, before?.history ?? [])
  const filled = filledParts(parts, fill)
  const message: NewMessage = { role: body.message.role, parts, messageId: body.message.messageId, filled }
  const open = openCalls((before?.history ?? []).map((one) => one.message))
  const waiting = open.flatMap(({ tool_call_id }) => before?.task.children[tool_call_id] ?? [])
  const abandoned = body.message.role === 'user' ? waiting : []
  const submission = { agent, manifest, options, message, abandoned, ...(before && { before }) }
  await checkRequest(submission, session)
  return submission
}

/** The 400 for an agent of type `a2a`, which is stored here, but not called. */
export const externalAgent = ({ key }: Fields) =>
  new ApiError(
    400,
    'agent_is_external',
    `the agent ${quote(key)} is of type 'a2a' and runs somewhere else: it is kept here, and not called`,
    { param: 'key' },
  )

/**
 * The task that a call continues.
 * @throws ApiError 404 if the agent has no such task, 409 while it is active
 */
function continued(call: TaskCall, agent: Fields, id: string): NonNullable<Submission['before']> {
  const place = placeOf(call)
  const { task } = ofAgent(agent, { task: taskOf(place, id) })
  checkInactive(task)
  return { task, history: messagesOf(place, id) }
}

/** @throws ApiError 409 while a task is active */
function checkInactive({ _id, state }: AgentTaskRecord): void {
  if (INACTIVE_STATES.includes(state)) return
  throw new ApiError(
    409,
    'task_active',
    `the task ${_id} is ${state}: it can be continued when it is one of ${INACTIVE_STATES.join(', ')}`,
    { param: 'task_id' },
  )
}

function optionsOf(body: TaskBody, agent: Fields, before: TaskSayings | undefined): TaskSayings {
  const { variables, engine, thread, memory, metadata } = body
  const identity = body.identity ?? body.contact
  return {
    ...before,
    variables: { ...before?.variables, ...variables },
    engine: engine ?? before?.engine ?? (agent.engine as TaskSayings['engine']),
    ...(identity && { identity }),
    ...(thread && { thread }),
    ...(memory && { memory }),
    ...(metadata && { metadata }),
  }
}

/** @throws ApiError 400 for the result of a call that is not open */
function checkResults(message: TaskBody['message'], history: readonly MessageRecord[]): void {
  const messages: TaskMessage[] = history.map((one) => one.message)
  const open = openCalls(messages).map(({ tool_call_id }) => tool_call_id)
  const made = new Set(messages.flatMap(toolCallsOf).map(({ tool_call_id }) => tool_call_id))
  const seen = new Set<string>()
  for (const [index, { tool_call_id: id }] of toolResultsOf(message).entries()) {
    if (open.includes(id) && !seen.has(id)) {
      seen.add(id)
      continue
    }
    const why = seen.has(id) ? 'has its result above' : made.has(id) ? 'has its result already' : 'was never made'
    const valid = open.length === 0 ? 'no call waits for a result' : `waiting: ${open.join(', ')}`
    const param = `message.parts[${index}].tool_call_id`
    throw new ApiError(400, 'tool_call_not_found', `'${param}' names a call that ${why}, got ${quote(id)}; ${valid}`, {
      param,
    })
  }
}

/**
 * Validates the first model call of the turn: parameters, and the length of the history.
 * @throws ApiError
 */
async function checkRequest({ manifest, options, message, before }: Submission, session: Session): Promise<void> {
  const added = { message: { ...message, kind: 'message' }, filled: message.filled } as MessageRecord
  const history = [...(before?.history ?? []), added]
  const request = chatRequestOf({ manifest, says: options, history, offered: offeredTools(manifest), guardrails: [] })
  const operation = chatOperation()
  const parsed = parseRequest(operation.request, request, { under: 'agent' })
  if (isLong(request))
    await session.clock.work(precountTokens((count) => void operation.promptTokens(parsed, count), session.ended))
  checkContext({ model: manifest.model, operation, request: parsed }, operation.promptTokens(parsed))
}

/** Commits the start of a turn, and returns the submitted task. */
export async function beginTurn(call: TaskCall, submission: Submission, events: TaskEvents): Promise<AgentTaskRecord> {
  const { session, caller, parent } = call
  const place = placeOf(call)
  const { before } = submission
  const request = JSON.stringify(call.body)
  // A rejected call has no number: otherwise others would wait for it among the calls in progress.
  const seqOf = once(() => session.nextCall())
  const begun = await commit(place, (task) => turnChange(call, submission, { task, seqOf }), {
    events,
    read() {
      const task = before ? unchanged(findTask(place, before.task._id), before.task) : newTask(call, submission)
      // It may have been deleted meanwhile, and its tasks with it.
      recordOf(agents, { records: session.records, caller }, task.agent_id)
      return task
    },
    also({ task }) {
      if (parent) addChild(parent, task, session)
      // In the same commit: a response names an existing trace.
      recordTurn(session, task, request)
    },
  })
  if (!begun) throw new Error('a turn began without a change')
  return begun
}

/** Another call may have continued the task meanwhile, or deleted it. */
function unchanged(current: AgentTaskRecord | undefined, before: AgentTaskRecord): AgentTaskRecord {
  if (!current) throw taskNotFound(before._id)
  checkInactive(current)
  if (current.counts.messages === before.counts.messages && current.turn.number === before.turn.number) return current
  const message = `the task ${before._id} was continued by another call: read it again`
  throw new ApiError(409, 'task_changed', message, { param: 'task_id' })
}

function newTask(call: TaskCall, { agent, manifest, options }: Submission): AgentTaskRecord {
  const { session, caller, from, parent, context } = call
  const now = session.clock.now()
  const { seed, name } = session
  const agentId = String(agent._id)
  // Independent of concurrent tasks: the id of a sub-task is a function of its tool call, others are counted by agent.
  const _id = parent
    ? ulidOf(seed, now, `${name}:agent_task:${parent.task._id}:${parent.tool_call_id}`, 0)
    : ulidOf(seed, now, `${name}:agent_task:${agentId}`, nextTaskNumber(placeOf(call), agentId))
  const at = new Date(now).toISOString()
  return {
    _id,
    workspace_id: caller.workspace,
    context_id: parent?.task.context_id ?? context ?? uuidOf(`${seed}:${name}:context:${_id}`),
    agent_id: agentId,
    agent_key: String(agent.key),
    state: 'submitted',
    finish_reason: null,
    error: null,
    created: at,
    updated: at,
    caller,
    from,
    says: options,
    manifest,
    turn: { number: 0, started: now, iterations: 0, spent_ms: 0, cost: 0, trace: '', seq: 0 },
    totals: { iterations: 0, tool_calls: 0, cost: 0, billed: 0 },
    counts: { messages: 0, steps: 0 },
    parent: parent ? { task: parent.task._id, tool_call_id: parent.tool_call_id, trace: parent.task.turn.trace } : null,
    root: parent?.task.root ?? _id,
    depth: parent ? parent.task.depth + 1 : 0,
    descendants: 0,
    team_calls: 0,
    children: {},
    pending: [],
    approved: [],
    active: _id,
  }
}

/** The change by the call: the turn, the message, and the end of unanswered calls. */
function turnChange(
  { session, from, parent }: TaskCall,
  submission: Submission,
  { task, seqOf }: { task: AgentTaskRecord; seqOf(): number },
): TaskChange {
  const { message, options, manifest, before } = submission
  const started = session.clock.now()
  const ofUser = message.role === 'user'
  const open = openCalls((before?.history ?? []).map((one) => one.message))
  const answered = new Set(toolResultsOf(message).map(({ tool_call_id }) => tool_call_id))
  const used = ofUser ? { iterations: 0, spent_ms: 0, cost: 0 } : task.turn
  const number = task.turn.number + 1
  const point =
    parent?.task.turn.point ?? callSiteOf(session, injectionPointKind(TASK_OPERATION, `${task.agent_key}\n${number}`))
  const seq = seqOf()
  // The id of the trace is a function of its task, independent of concurrent calls.
  const trace = traceIdOf(session, { started, seq, key: `${task._id}:${number}` })
  const turn = { ...used, number, started, seq, trace, point }
  const stepFor = (call: ToolCallPart, error: string | null) => ({
    ...journalStep({ task: { ...task, turn }, session }, Date.parse(task.updated), {
      kind: 'tool',
      name: call.tool_name,
      tool_call_id: call.tool_call_id,
      outcome: error === null ? 'succeeded' : 'failed',
      error,
    }),
    iteration: task.turn.iterations,
  })
  const closed = ofUser ? open : []
  const why = noResult('stop')
  return {
    task: {
      state: 'submitted',
      finish_reason: null,
      error: null,
      from,
      says: options,
      manifest,
      agent_key: String(submission.agent.key),
      turn,
      totals: { ...task.totals, tool_calls: task.totals.tool_calls + answered.size },
      pending: ofUser ? [] : task.pending.filter((id) => !answered.has(id)),
      ...(ofUser && { descendants: 0, team_calls: 0 }),
    },
    messages: [...closed.map((call) => closing(call, why)), message],
    steps: [
      ...open.filter((call) => answered.has(call.tool_call_id)).map((call) => stepFor(call, null)),
      ...closed.map((call) => stepFor(call, why)),
    ],
  }
}

/** Adds a sub-task to its parent, and counts it with the root task. */
function addChild({ task, tool_call_id }: NonNullable<TaskCall['parent']>, child: AgentTaskRecord, session: Session) {
  const place = { session, workspace: task.workspace_id }
  const parent = findTask(place, task._id)
  if (!parent) return
  const children = { ...parent.children, [tool_call_id]: child._id }
  const own = parent.root === parent._id ? 1 : 0
  writeChange(place, parent, { task: { children, descendants: parent.descendants + own } })
  const root = own ? undefined : findTask(place, parent.root)
  if (root) writeChange(place, root, { task: { descendants: root.descendants + 1 } })
}
