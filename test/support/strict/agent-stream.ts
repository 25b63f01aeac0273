// What strict clients accept of the stream of a task, written from what such clients declare.
import { z } from 'zod'

const metadata = z.record(z.string(), z.unknown()).optional()
const part = z.discriminatedUnion('kind', [
  z.looseObject({ kind: z.literal('text'), text: z.string() }),
  z.looseObject({ kind: z.literal('data'), data: z.unknown() }),
  z.looseObject({ kind: z.literal('file'), file: z.looseObject({}) }),
  z.looseObject({
    kind: z.literal('tool_call'),
    tool_name: z.string(),
    tool_call_id: z.string(),
    arguments: z.record(z.string(), z.unknown()),
  }),
  z.looseObject({ kind: z.literal('tool_result'), tool_call_id: z.string(), result: z.unknown().optional() }),
])
const inputPart = z.union([part, z.looseObject({ kind: z.literal('error'), error: z.string() })])
const message = <Role extends string, Part extends z.ZodType>(roles: readonly [Role, ...Role[]], parts: Part) =>
  z.looseObject({ role: z.enum(roles), parts: z.array(parts), messageId: z.string().optional(), metadata })
const ROLES = ['user', 'agent', 'tool', 'system'] as const
const tokens = z.looseObject({
  completion_tokens: z.number().optional(),
  prompt_tokens: z.number().optional(),
  total_tokens: z.number().optional(),
})
const workflowRunId = z.string()
const tool = z.looseObject({
  action_type: z.string(),
  workflowRunId,
  tool_execution_context: z.looseObject({
    action_id: z.string(),
    agent_tool_call_id: z.string(),
    workspace_id: z.string(),
    agent_manifest_id: z.string(),
    agent_execution_id: z.string(),
    product: z.literal('agents'),
    memory: z.looseObject({ entity_id: z.string() }).optional(),
  }),
})
const functionCall = z.looseObject({
  id: z.string(),
  type: z.literal('function'),
  function: z.looseObject({ name: z.string().optional(), arguments: z.string().optional() }),
})
const difference = message(ROLES, part).extend({
  messageId: z.string(),
  agent_id: z.string(),
  agent_execution_id: z.string(),
  workspace_id: z.string(),
})
const FINISH = ['stop', 'length', 'tool_calls', 'content_filter', 'function_call'] as const

const DATA: Record<string, z.ZodType<Record<string, unknown>>> = {
  'agents.execution_started': z.looseObject({
    agent_task_id: z.string(),
    workspace_id: z.string(),
    trace_id: z.string(),
  }),
  'event.agents.started': z.looseObject({
    workflowRunId,
    inputMessage: message(ROLES, inputPart),
    modelId: z.string(),
    instructions: z.string(),
    system_prompt: z.string(),
    agent_manifest_id: z.string(),
    agent_key: z.string(),
    is_continuation: z.boolean().optional(),
  }),
  'event.agents.thought': z.looseObject({
    agent_id: z.string(),
    message_difference: z.record(z.string(), difference),
    iteration: z.number(),
    accumulated_execution_time: z.number(),
    choice: z
      .looseObject({
        index: z.number().optional(),
        finish_reason: z.enum(FINISH).nullable(),
        message: z.looseObject({
          content: z.string().nullish(),
          role: z.literal('assistant').optional(),
          tool_calls: z.array(functionCall).optional(),
        }),
      })
      .optional(),
    usage: tokens.optional(),
  }),
  'event.agents.message-created': z.looseObject({
    workflowRunId,
    spanId: z.string(),
    parentId: z.string(),
    message: z.array(message(['user', 'tool'], part)),
  }),
  'event.workflow_events.tool_execution_started': tool.extend({
    tool_id: z.string(),
    tool_arguments: z.record(z.string(), z.unknown()),
  }),
  'event.workflow_events.tool_execution_finished': tool.extend({ result: z.unknown().optional() }),
  'event.workflow_events.tool_execution_failed': tool.extend({ error: z.looseObject({ message: z.string() }) }),
  'event.agents.action_review_requested': z.looseObject({
    agent_id: z.string(),
    action_id: z.string(),
    requires_approval: z.boolean(),
    tool: z.looseObject({
      id: z.string(),
      action_type: z.string(),
      tool_id: z.string().optional(),
      timeout: z.number().optional(),
    }),
    input: z.record(z.string(), z.unknown()),
    agent_tool_call_id: z.string(),
  }),
  'event.agents.inactive': z.looseObject({
    last_message: z.string(),
    finish_reason: z.enum([...FINISH, 'max_iterations', 'max_time']),
    workflowRunId,
    last_message_full: message(ROLES, part).optional(),
    pending_tool_calls: z.array(functionCall).optional(),
    usage: tokens.optional(),
  }),
  'event.agents.errored': z.looseObject({ error: z.string(), code: z.number(), workflowRunId }),
  'agents.timeout': z.looseObject({ message: z.string() }),
  'agents.error': z.looseObject({ error: z.string(), code: z.string() }),
}

/** An event of the stream; its data is that of its type. */
export const strictStreamEvent = z
  .strictObject({ type: z.enum(Object.keys(DATA)), timestamp: z.iso.datetime(), data: z.looseObject({}) })
  .transform((event) => ({
    ...event,
    data: (DATA[event.type] as z.ZodType<Record<string, unknown>>).parse(event.data),
  }))
