// Validates a call that submits or continues a task, before anything is written.

import { isLong, precountTokens } from '../../answers/precount-tokens.ts'
import { ApiError } from '../../contract/core/error.ts'
import type { TaskBody, TaskMessage, TaskPart } from '../../contract/workspace/agent-task.ts'
import type { Fields } from '../../contract/workspace/record.ts'
import type { MessageRecord, TaskSayings } from '../../contract/workspace/task-record.ts'
import { INACTIVE_STATES } from '../../contract/workspace/task-state.ts'
import { fillerOf } from '../../gateway/variables.ts'
import { checkContext } from '../../providers/rules/index.ts'
import { parseRequest, quote } from '../../schema/validation.ts'
import type { Session } from '../../sessions/sessions.ts'
import { type AgentTaskRecord, manifestOf, offeredTools, systemTextOf, type TurnManifest } from '../store/manifest.ts'
import { filledParts, openCalls, textsOf, toolCallsOf, toolResultsOf } from '../store/messages.ts'
import { agentOf, messagesOf, type NewMessage, ofAgent, placeOf, type TaskOwner, taskOf } from '../store/store.ts'
import { chatOperation, chatRequestOf } from './model-step.ts'

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
export interface Submission {
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
export function checkInactive({ _id, state }: AgentTaskRecord): void {
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
