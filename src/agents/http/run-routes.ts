// Creating and running an agent in one call, and tasks as responses: alternatives to the task routes.
import { z } from 'zod'
import { asRoute, type Route } from '../../contract/core/route.ts'
import { AgentBody } from '../../contract/workspace/agent.ts'
import { AgentTask, RequestMessage, TaskBody, TaskMessage } from '../../contract/workspace/agent-task.ts'
import type { Fields } from '../../contract/workspace/record.ts'
import { isActive } from '../../contract/workspace/task-state.ts'
import { agents } from '../../resources/agents.ts'
import { putRecord, workOf } from '../../resources/verbs.ts'
import { externalAgent } from '../loop/submission.ts'
import { chatCallsOf, openCalls } from '../store/messages.ts'
import { agentOf, ofAgent, type WholeTask } from '../store/store.ts'
import { findsAgent, submitted, type TaskRouteDeps, taskCallOf } from './routes.ts'

const about = { tag: 'Agents', errors: [404] } as const
const question = { role: 'user', parts: [{ kind: 'text', text: 'Which day is it?' }] }

const RunBody = z.intersection(
  AgentBody,
  TaskBody.omit({ task_id: true, variables: true, engine: true }).extend({
    message: RequestMessage.refine(({ role }) => role === 'user', {
      path: ['role'],
      error: "must be 'user': the task is new, so no call waits for a result",
    }).describe('The user message.'),
  }),
)

const ResponseBody = TaskBody.omit({ configuration: true }).extend({
  background: z.boolean().default(false).describe('Whether to return immediately, before the turn ends.'),
  stream: z.literal(false, { error: "must be false: follow a task with 'stream-task' instead" }).default(false),
  conversation: z
    .looseObject({
      id: z.string().min(1).describe('Id of the conversation. Its tasks share it as their `contextId`.'),
    })
    .optional()
    .describe('Context of a new task.'),
})
const AgentResponse = z.object({
  _id: z.string(),
  task_id: z.string().describe('The task. A later call can continue it.'),
  created_at: z.string().describe('Creation time of the task: ISO 8601.'),
  model: z.string().describe('The model of the agent.'),
  status: z.enum(['in_progress', 'completed', 'failed']).describe('Status of the turn.'),
  output: z
    .array(TaskMessage.pick({ messageId: true, role: true, parts: true }))
    .describe("The agent's messages since the last user message."),
  finish_reason: z.string().describe('Why the turn ended or is waiting.').optional(),
  pending_tool_calls: z.array(z.looseObject({})).describe('Function calls with pending results.').optional(),
  error: z.string().describe('Why the turn failed.').optional(),
})

/** A task as a response: the agent's messages since the last user message. */
function shownResponse({ task, history }: WholeTask): object {
  const messages = history.map(({ message }) => message)
  const since = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1)
  const waiting = task.finish_reason === 'tool_calls' ? openCalls(messages) : []
  return {
    _id: task._id,
    task_id: task._id,
    created_at: task.created,
    model: task.manifest.model,
    status: isActive(task.state) ? 'in_progress' : task.error ? 'failed' : 'completed',
    output: since
      .filter(({ role }) => role === 'agent')
      .map(({ messageId, role, parts }) => ({ messageId, role, parts })),
    ...(task.finish_reason && { finish_reason: task.finish_reason }),
    ...(waiting.length > 0 && { pending_tool_calls: chatCallsOf(waiting) }),
    ...(task.error && { error: task.error.message }),
  }
}

/** The routes for run, respond, and reading a response. */
export const runRoutes = (deps: TaskRouteDeps): readonly Route[] => [
  asRoute({
    ...about,
    method: 'post',
    path: '/v2/agents/run',
    summary: 'Run an agent',
    description:
      'Creates the agent, or updates the agent with the same key, and submits a task to it. Returns immediately unless `configuration.blocking` is set.',
    operationId: 'runAgent',
    examples: {
      clock: {
        key: 'clock',
        role: 'Clock',
        description: 'Tells the date.',
        instructions: 'Tell it.',
        path: 'Default',
        model: 'openai/gpt-4o',
        settings: { tools: [{ type: 'current_date' }] },
        message: question,
      },
    },
    body: RunBody,
    response: AgentTask,
    async handle({ request, body }) {
      const { message, identity, contact, thread, memory, metadata, configuration, ...agent } = body
      const task = { message, identity, contact, thread, memory, metadata, configuration }
      // Before the agent is stored.
      if (agent.type === 'a2a') throw externalAgent(agent)
      const call = await taskCallOf(deps, request, { path: '/v2/agents/run', agent: agent.key, body: task })
      const { session, caller } = call
      await session.transact(() => putRecord({ ...agents, upsert: true }, workOf(session, caller), agent as Fields, {}))
      const [, answer] = await submitted(deps.tasks(), call)
      return answer
    },
  }),
  asRoute({
    ...about,
    method: 'post',
    path: '/v2/agents/:key/responses',
    summary: 'Respond as an agent',
    description: "Submits a task and returns the agent's response. Streaming is not emulated.",
    operationId: 'createAgentResponse',
    examples: { question: { message: question } },
    body: ResponseBody,
    response: AgentResponse,
    answerName: 'AgentResponse',
    find: findsAgent(deps),
    async handle({ request, params: { key = '' }, body: { background, stream: _, conversation, ...body } }) {
      const call = await taskCallOf(deps, request, { path: '/v2/agents/:key/responses', agent: key, body })
      const task = await deps.tasks().submit({ ...call, ...(conversation && { context: conversation.id }) })
      return shownResponse(background ? { task, history: [] } : await deps.tasks().settled(call, task._id, call.client))
    },
  }),
  asRoute({
    ...about,
    method: 'get',
    path: '/v2/agents/:key/responses/:task_id',
    summary: 'Get a response of an agent',
    description: "The agent's response in the last turn of the task so far.",
    operationId: 'getAgentResponse',
    response: AgentResponse,
    answerName: 'AgentResponse',
    errors: [404],
    async handle({ request, params }) {
      const owner = await deps.callOf(request)
      const found = deps.tasks().get(owner, params.task_id ?? '')
      return shownResponse(ofAgent(agentOf(owner, params.key ?? ''), found))
    },
  }),
]
