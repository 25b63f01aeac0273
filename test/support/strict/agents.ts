// What strict clients accept of agents and their tasks, written from what such clients declare.
import { z } from 'zod'

const retry = z.looseObject({ count: z.number().optional(), on_codes: z.array(z.number()).optional() })
const check = z.looseObject({
  id: z.string(),
  execute_on: z.enum(['input', 'output']),
  sample_rate: z.number().optional(),
})
const entry = z.strictObject({
  id: z.string(),
  action_type: z.string(),
  key: z.string().optional(),
  display_name: z.string().optional(),
  description: z.string().optional(),
  requires_approval: z.boolean().optional(),
  tool_id: z.string().optional(),
  conditions: z.array(z.looseObject({})).optional(),
  timeout: z.number().max(600).optional(),
})

/** An agent, as newer clients declare it: with `skills` required. */
export const strictAgent = z.looseObject({
  _id: z.string(),
  key: z.string(),
  project_id: z.string(),
  status: z.enum(['live', 'draft', 'pending', 'published']),
  path: z.string(),
  skills: z.array(z.string()),
  role: z.string(),
  description: z.string(),
  instructions: z.string(),
  model: z.strictObject({
    id: z.string(),
    integration_id: z.string().nullish(),
    parameters: z.looseObject({}).optional(),
    retry: retry.optional(),
    fallback_models: z.array(z.union([z.string(), z.looseObject({ id: z.string() })])).nullish(),
  }),
  display_name: z.string().optional(),
  created_by_id: z.string().nullish(),
  updated_by_id: z.string().nullish(),
  created: z.string().optional(),
  updated: z.string().optional(),
  version: z.string().optional(),
  memory_stores: z.array(z.string()).optional(),
  team_of_agents: z.array(z.looseObject({ key: z.string(), role: z.string().optional() })).optional(),
  metrics: z.looseObject({ total_cost: z.number().optional() }).optional(),
  variables: z.record(z.string(), z.unknown()).optional(),
  knowledge_bases: z.array(z.looseObject({ knowledge_id: z.string() })).optional(),
  source: z.enum(['internal', 'external', 'experiment']).optional(),
  engine: z.enum(['text', 'jinja', 'mustache']).optional(),
  type: z.enum(['internal', 'a2a']).optional(),
  system_prompt: z.string().nullish(),
  settings: z
    .looseObject({
      max_iterations: z.number().optional(),
      max_execution_time: z.number().optional(),
      max_cost: z.number().optional(),
      tool_approval_required: z.enum(['all', 'respect_tool', 'none']).optional(),
      tools: z.array(entry).optional(),
      evaluators: z.array(check).optional(),
      guardrails: z.array(check).optional(),
    })
    .optional(),
  a2a: z.looseObject({ agent_url: z.string(), card_url: z.string().optional() }).optional(),
})

const textPart = z.strictObject({ kind: z.literal('text'), text: z.string() })
const filePart = z.looseObject({
  kind: z.literal('file'),
  file: z.union([
    z.strictObject({ bytes: z.string(), mimeType: z.string().optional(), name: z.string().optional() }),
    z.strictObject({ uri: z.string(), mimeType: z.string().optional(), name: z.string().optional() }),
  ]),
})
const toolResult = z.strictObject({
  kind: z.literal('tool_result'),
  tool_call_id: z.string(),
  result: z.unknown().optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
})
const toolCall = z.strictObject({
  kind: z.literal('tool_call'),
  tool_name: z.string(),
  tool_call_id: z.string(),
  arguments: z.record(z.string(), z.unknown()),
  thought_signature: z.string().optional(),
})
const part = z.discriminatedUnion('kind', [
  textPart,
  filePart,
  toolResult,
  toolCall,
  z.strictObject({ kind: z.literal('error'), error: z.string(), code: z.string().optional() }),
  z.strictObject({ kind: z.literal('data'), data: z.unknown() }),
])
const message = z.strictObject({
  kind: z.literal('message'),
  messageId: z.string(),
  role: z.enum(['user', 'agent', 'tool', 'system']),
  parts: z.array(part),
  taskId: z.string().optional(),
  contextId: z.string().optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
})

/** A task as strict clients declare it. */
export const strictTask = z.strictObject({
  id: z.string(),
  contextId: z.string(),
  kind: z.literal('task'),
  status: z.strictObject({
    state: z.enum([
      'submitted',
      'working',
      'input-required',
      'completed',
      'failed',
      'auth-required',
      'canceled',
      'rejected',
    ]),
    timestamp: z.iso.datetime().optional(),
    message: message.pick({ kind: true, messageId: true, role: true, parts: true }).optional(),
  }),
  messages: z.array(message).optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
})
