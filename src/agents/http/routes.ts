// The task routes: submit and continue, read, cancel, and decide about tool calls.
import { z } from 'zod'
import { TRACE_ID } from '../../contract/core/answer-headers.ts'
import { asRoute, type Route } from '../../contract/core/route.ts'
import { AgentTask, TaskBody } from '../../contract/workspace/agent-task.ts'
import { listOf, pageQuery } from '../../contract/workspace/shared.ts'
import { toResponse } from '../../gateway/stream/respond.ts'
import { traceHeaders } from '../../lib/trace-context.ts'
import type { TaskCall } from '../loop/submission.ts'
import type { TaskService } from '../loop/tasks.ts'
import type { AgentTaskRecord } from '../store/manifest.ts'
import { shownTask } from '../store/show.ts'
import { agentOf, ofAgent, type TaskOwner } from '../store/store.ts'
import { streamOfTask } from './stream.ts'

/** The dependencies of the task routes. */
export interface TaskRouteDeps {
  /** The task service, created on first use. */
  tasks(): TaskService
  /** The session and caller of a request; the session's workspace is seeded. */
  callOf(request: Request): Promise<TaskOwner>
  /** The URL of a request as received, including the session prefix. */
  receivedUrl(request: Request): string
}

const about = { tag: 'Agents', response: AgentTask, errors: [404] }
const PATH = '/v2/agents/:key'
const taskPath = `${PATH}/tasks/:task_id`

/** The submission of a request, to the agent of a path. */
export async function taskCallOf(
  deps: TaskRouteDeps,
  request: Request,
  { path, agent, body }: Pick<TaskCall, 'agent' | 'body'> & { path: string },
): Promise<TaskCall & { client: AbortSignal }> {
  return { ...(await deps.callOf(request)), agent, body, from: fromOf(deps, request, path), client: request.signal }
}

/** The origin of a task: the call that submits it. */
export function fromOf(
  { receivedUrl }: Pick<TaskRouteDeps, 'receivedUrl'>,
  request: Request,
  path: string,
): AgentTaskRecord['from'] {
  const { url, headers } = request
  const route = path.replace(/:(\w+)/g, '{$1}')
  const scenario = headers.get('x-understudy-scenario')
  return { url, received: receivedUrl(request), route, scenario, ...traceHeaders(headers) }
}

const taskHeaders = ({ session }: TaskOwner, { turn }: AgentTaskRecord) => ({
  [TRACE_ID]: turn.trace,
  'x-understudy-session': session.name,
})

/** Finds the agent of a path. */
export const findsAgent =
  ({ callOf }: TaskRouteDeps): NonNullable<Route['find']> =>
  async ({ request, params: { key = '' } }) =>
    agentOf(await callOf(request), key)

const question = { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'Where is my parcel?' }] }

/** Submits a task, and shows it: at the end of its turn if the call is blocking, or else without its messages. */
export async function submitted(tasks: TaskService, call: TaskCall): Promise<[AgentTaskRecord, object]> {
  const task = await tasks.submit(call)
  if (call.body.configuration?.blocking !== true) return [task, shownTask(task, [], 'without')]
  const ended = await tasks.settled(call, task._id, call.client)
  return [task, shownTask(ended.task, ended.history)]
}

const StreamBody = TaskBody.extend({
  stream_timeout_seconds: z
    .int()
    .min(1)
    .max(3600)
    .default(1800)
    .describe('Seconds on the session’s clock after which the stream ends with `agents.timeout`. The task continues.'),
})
const EventOfStream = z.object({
  type: z.string().describe('Type of the event.'),
  timestamp: z.iso.datetime().describe('Time of the event: ISO 8601.'),
  data: z.looseObject({}),
})

const Approval = z.strictObject({
  tool_call_id: z.string().optional().describe('Id of the tool call. Default: all pending calls.'),
})
const Rejection = Approval.extend({ reason: z.string().optional().describe('The prompt.') })

const DECISIONS = {
  approve: {
    summary: 'Approve tool calls',
    description: 'Approves pending tool calls. The task continues immediately.',
    operationId: 'approveTaskCalls',
    examples: { all: {} },
    body: Approval,
  },
  reject: {
    summary: 'Reject tool calls',
    description: 'Rejects pending tool calls. The model is informed, and the task continues immediately.',
    operationId: 'rejectTaskCalls',
    examples: { because: { reason: 'Too expensive.' } },
    body: Rejection,
  },
}

const decisionRoute = ({ tasks, callOf }: TaskRouteDeps, decision: keyof typeof DECISIONS): Route =>
  asRoute<unknown, z.infer<typeof Rejection>>({
    ...about,
    ...DECISIONS[decision],
    method: 'post',
    path: `/_understudy/tasks/:task_id/${decision}`,
    errors: [404, 409],
    find: async ({ request, params: { task_id = '' } }) => tasks().get(await callOf(request), task_id),
    async handle({ request, params: { task_id: task = '' }, body }) {
      const decided = await tasks().decide(await callOf(request), { task, decision, ...body })
      return shownTask(decided.task, decided.history)
    },
  })

/**
 * The task of a path.
 * @throws ApiError 404 if it is not one of the agent's
 */
const ownTask = (owner: TaskOwner, { key = '', task_id = '' }: Record<string, string>, tasks: TaskService) =>
  ofAgent(agentOf(owner, key), tasks.get(owner, task_id))

/**
 * All task routes: submit, stream, read, cancel and decide about tool calls (the specification, "Submit a task to an
 * agent").
 */
export const taskRoutes = (deps: TaskRouteDeps): readonly Route[] => [
  asRoute({
    ...about,
    method: 'post',
    path: `${PATH}/task`,
    summary: 'Submit a task to an agent',
    description:
      'Returns immediately while the task runs. With `configuration.blocking`, it returns at the end of the turn. `task_id` continues an inactive task.',
    contract: true,
    operationId: 'submitAgentTask',
    examples: {
      question: { message: question },
      waiting: { message: question, configuration: { blocking: true } },
    },
    body: TaskBody,
    find: findsAgent(deps),
    async handle({ request, params: { key = '' }, body }) {
      const call = await taskCallOf(deps, request, { path: `${PATH}/task`, agent: key, body })
      const [task, answer] = await submitted(deps.tasks(), call)
      return Response.json(answer, { headers: taskHeaders(call, task) })
    },
  }),
  asRoute({
    ...about,
    method: 'post',
    path: `${PATH}/stream-task`,
    summary: 'Submit a task to an agent and stream its events',
    description:
      'As submitting one; the response is a stream of what the turn does, up to `[DONE]`: `agents.execution_started`, `event.agents.started`, then `event.agents.thought` for each iteration, `event.agents.message-created` for what users and tools say, `event.workflow_events.tool_execution_started`, `_finished` and `_failed`, and at the end `event.agents.action_review_requested`, `event.agents.inactive` or `event.agents.errored`. `agents.timeout` ends a stream that takes too long, `agents.error` one whose session begins anew. Other events of such streams (`handed_off`, `action_reviewed`, `execution_named`) are not sent.',
    operationId: 'streamAgentTask',
    examples: { question: { message: question } },
    body: StreamBody,
    response: EventOfStream,
    contentType: 'text/event-stream',
    find: findsAgent(deps),
    async handle({ request, params: { key = '' }, body }) {
      const { stream_timeout_seconds: seconds, ...taskBody } = body
      const call = await taskCallOf(deps, request, { path: `${PATH}/stream-task`, agent: key, body: taskBody })
      const options = { tasks: deps.tasks(), call, seconds, signal: request.signal }
      return toResponse(await streamOfTask({ ...options, headersOf: (task) => taskHeaders(call, task) }))
    },
  }),
  asRoute({
    ...about,
    method: 'get',
    path: `${PATH}/tasks`,
    summary: 'List the tasks of an agent',
    description: 'The tasks of the agent, newest first, a page at a time, without their messages.',
    operationId: 'listAgentTasks',
    query: pageQuery(50),
    response: listOf(AgentTask),
    async handle({ request, params: { key = '' }, query }) {
      const { data, hasMore } = deps.tasks().list(await deps.callOf(request), key, query)
      return { object: 'list', data: data.map((task) => shownTask(task, [], 'without')), has_more: hasMore }
    },
  }),
  asRoute({
    ...about,
    method: 'get',
    path: taskPath,
    summary: 'Get a task',
    description: 'The task with its messages.',
    operationId: 'getAgentTask',
    async handle({ request, params }) {
      const { task, history } = ownTask(await deps.callOf(request), params, deps.tasks())
      return shownTask(task, history)
    },
  }),
  asRoute({
    ...about,
    method: 'post',
    path: `${taskPath}/cancel`,
    summary: 'Cancel a task',
    description: 'Cancels a task and its sub-tasks.',
    operationId: 'cancelAgentTask',
    async handle({ request, params }) {
      const owner = await deps.callOf(request)
      const { task } = ownTask(owner, params, deps.tasks())
      const { task: ended, history } = await deps.tasks().cancel(owner, task._id)
      return shownTask(ended, history)
    },
  }),
  decisionRoute(deps, 'approve'),
  decisionRoute(deps, 'reject'),
]
