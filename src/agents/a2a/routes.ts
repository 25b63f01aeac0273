// The A2A routes: the card of each internal agent, and its methods. The library is loaded with the first call.
import { z } from 'zod'
import { describedLoose } from '../../contract/core/described.ts'
import { asRoute, type Route } from '../../contract/core/route.ts'
import { type BodyLimits, RECORD_VALUES, readBody, readJson } from '../../endpoints/body.ts'
import { lazy } from '../../lib/lazy.ts'
import { DEFAULT_SESSION } from '../../sessions/session.ts'
import { fromOf, type TaskRouteDeps } from '../http/routes.ts'
import { externalAgent } from '../loop/submission.ts'
import { agentOf } from '../store/store.ts'
import type { AgentCallParts } from './server.ts'

/** The dependencies of the A2A routes. */
type A2aRouteDeps = TaskRouteDeps & { limits: BodyLimits }

const server = lazy<typeof import('./server.ts')>(() => require('./server.ts'))
const PATH = '/a2a/:key'
const Rpc = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.int(), z.null()]).describe('Id of the call. The response has the same id.').optional(),
})
const RpcCall = Rpc.extend({
  method: z.string().min(1).describe('A2A method, such as `message/send`.'),
  params: z.looseObject({}).describe('Parameters of the method.').optional(),
})
const RpcAnswer = Rpc.extend({
  id: Rpc.shape.id.describe('Id of the call.'),
  result: z.unknown().describe('Result of the method. Absent if it failed.').optional(),
  error: describedLoose('The error. Absent if it succeeded.', {
    code: z.int().describe('Machine-readable error code.'),
    message: z.string().describe('Error message.'),
  }).optional(),
})
const Card = z.looseObject({
  name: z.string().describe('Name of the agent.'),
  description: z.string().describe('What it does.'),
  version: z.string().describe('Version of the agent.'),
})

/**
 * The agent of a path, for a call.
 * @throws ApiError 404 if there is none, 400 for an external one
 */
async function partsOf(
  deps: A2aRouteDeps,
  request: Request,
  { key = '' }: Record<string, string>,
): Promise<AgentCallParts> {
  const { tasks, callOf } = deps
  const owner = await callOf(request)
  const { session } = owner
  const agent = agentOf(owner, key)
  if (agent.type === 'a2a') throw externalAgent(agent)
  const prefix = session.name === DEFAULT_SESSION ? '' : `/s/${encodeURIComponent(session.name)}`
  const url = `${new URL(request.url).origin}${prefix}/a2a/${agent.key}`
  return { tasks: tasks(), owner, agent, url, from: fromOf(deps, request, PATH), signal: request.signal }
}

const hello = { kind: 'message', messageId: 'message-1', role: 'user', parts: [{ kind: 'text', text: 'Hello' }] }

/** The routes that serve agents over A2A. */
export const a2aRoutes = (deps: A2aRouteDeps): readonly Route[] => [
  asRoute({
    tag: 'Agents',
    method: 'get',
    path: `${PATH}/.well-known/agent-card.json`,
    summary: 'Get the A2A card of an agent',
    description:
      "The agent's description and URL, in A2A 1.0 format with `A2A-Version: 1.0`, and otherwise in 0.3 format.",
    operationId: 'getAgentCard',
    response: Card,
    errors: [404],
    handle: async ({ request, params }) => server().answerCard(request, await partsOf(deps, request, params)),
  }),
  asRoute({
    tag: 'Agents',
    method: 'post',
    path: PATH,
    summary: 'Call an agent over A2A',
    description:
      'JSON-RPC of A2A 1.0 (`A2A-Version: 1.0`) or 0.3: SendMessage, SendStreamingMessage, GetTask, ListTasks, CancelTask, and SubscribeToTask, or their 0.3 names. Streaming methods return server-sent events.',
    operationId: 'callAgent',
    examples: { question: { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message: hello } } },
    body: RpcCall,
    readsBody: true,
    response: RpcAnswer,
    errors: [404],
    async handle({ request, params }) {
      const parts = await partsOf(deps, request, params)
      const bytes = await readBody(request, deps.limits)
      const read = await readJson(bytes, request.headers.get('content-type'), RECORD_VALUES)
      return server().answerCall(request, read, parts)
    },
  }),
]
