// Agent tasks in the form of A2A: messages of parts, and the state of a task (the specification, "Agent task (A2A)").

import { z } from 'zod'
import { describedLoose, describedObject } from '../core/described.ts'
import { Identity, TemplateEngine, Thread } from '../router/shared.ts'
import { Ulid } from './shared.ts'
import { TASK_STATES } from './task-state.ts'

const TextPart = z.looseObject({ kind: z.literal('text'), text: z.string().describe('The text.') })
const FilePart = z.looseObject({
  kind: z.literal('file'),
  file: z
    .looseObject({
      bytes: z.string().optional().describe('Base64.'),
      uri: z.string().describe('URL of the file. It is not fetched.').optional(),
      mimeType: z.string().describe('Media type.').optional(),
      name: z.string().describe('Name.').optional(),
    })
    .refine((file) => (file.bytes === undefined) !== (file.uri === undefined), {
      error: "must have exactly one of 'bytes' and 'uri'",
    })
    .describe('A file: its bytes or its URL.'),
  metadata: z.record(z.string(), z.unknown()).optional(),
})
const ToolResultPart = z.looseObject({
  kind: z.literal('tool_result'),
  tool_call_id: z.string().min(1).describe('Id of the tool call.'),
  result: z.unknown().describe('Result of the tool: any JSON value.').optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
})
const ErrorPart = z.looseObject({
  kind: z.literal('error'),
  error: z.string().describe('Error message.'),
  code: z.string().describe('Machine-readable error code.').optional(),
})
const DataPart = z.looseObject({ kind: z.literal('data'), data: z.unknown().describe('Any JSON value.') })
const ToolCallPart = z.looseObject({
  kind: z.literal('tool_call'),
  tool_name: z.string().describe('Name of the tool.'),
  tool_call_id: z.string().describe('Id of the tool call.'),
  arguments: z.record(z.string(), z.unknown()).describe('Arguments of the tool call.'),
  thought_signature: z
    .string()
    .describe("The provider's signature of the reasoning behind the call. Send it back unchanged.")
    .optional(),
})
/** A part that a client sends. */
const RequestPart = z.discriminatedUnion('kind', [TextPart, FilePart, ToolResultPart, ErrorPart])
/** A part of a response. */
const TaskMessagePart = z.discriminatedUnion('kind', [
  TextPart,
  FilePart,
  ToolResultPart,
  ErrorPart,
  DataPart,
  ToolCallPart,
])
/** One part of a stored message: text, data, a file, an error, a tool call or its result. */
export type TaskPart = z.infer<typeof TaskMessagePart>

/** A message that a client sends: of a user, or the results of tools. */
export const RequestMessage = z
  .looseObject({
    kind: z.literal('message').optional(),
    messageId: z.string().min(1).max(255).optional().describe('Generated if omitted.'),
    role: z.enum(['user', 'tool']),
    parts: z.array(RequestPart).min(1).describe('The parts of the message.'),
  })
  .superRefine(({ role, parts }, context) => {
    for (const [index, { kind }] of parts.entries()) {
      const wrong = role === 'tool' ? kind !== 'tool_result' : kind === 'tool_result'
      if (!wrong) continue
      const message =
        role === 'tool'
          ? "must be 'tool_result' in a message of role 'tool'"
          : "must not be 'tool_result': use role 'tool'"
      context.addIssue({ code: 'custom', path: ['parts', index, 'kind'], message })
    }
  })
export type RequestMessage = z.infer<typeof RequestMessage>

/** The body of a call that submits or continues a task. */
export const TaskBody = z.object({
  message: RequestMessage.describe('A user message or tool results.'),
  task_id: z.string().min(1).optional().describe('The task to continue. It must be inactive.'),
  variables: z
    .record(z.string(), z.unknown())
    .describe('Values of `{{name}}` in the system prompt, the instructions, and the messages.')
    .optional(),
  identity: Identity.optional(),
  contact: Identity.optional().meta({ deprecated: true }),
  thread: Thread.optional(),
  memory: describedLoose('Memory settings.', {
    entity_id: z.string().min(1).describe('The user, session, or other entity that the memories belong to.'),
  }).optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  engine: TemplateEngine.optional(),
  configuration: z
    .looseObject({
      blocking: z.boolean().describe('Whether to wait for the end of the turn and return its messages.').default(false),
    })
    .optional()
    .describe('With `blocking`, the call waits for the end of the turn and returns the messages.'),
})
export type TaskBody = z.infer<typeof TaskBody>

/** A message in a response. */
export const TaskMessage = z.object({
  kind: z.literal('message'),
  messageId: z.string().describe('Id of the message.'),
  role: z.enum(['user', 'agent', 'tool', 'system']),
  parts: z.array(TaskMessagePart).describe('The parts of the message.'),
  taskId: z.string().describe('The task of the message.').optional(),
  contextId: z.string().describe('Id of the conversation that the task belongs to.').optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
})
export type TaskMessage = z.infer<typeof TaskMessage>

/** A task in a response. */
export const AgentTask = z.object({
  id: Ulid.describe('Id of the task. Send it as `task_id` to continue the task.'),
  contextId: z.string().describe('Id of the conversation that the task belongs to.'),
  kind: z.literal('task'),
  status: describedObject('Status of the task.', {
    state: z
      .enum(TASK_STATES)
      .describe(
        'State of the task. Inactive tasks can be continued: `input-required`, `completed`, `failed`, `canceled`, `rejected`.',
      ),
    timestamp: z.string().describe('Time of the last state change: ISO 8601.'),
    message: TaskMessage.pick({ kind: true, messageId: true, role: true, parts: true })
      .describe("The agent's message about this status.")
      .optional(),
  }),
  messages: z.array(TaskMessage).optional().describe('Only if the call waited for the end of the turn.'),
  metadata: describedLoose('Ids for feedback and tracking.', {
    workspace_id: z.string().describe('The workspace of the agent.'),
    trace_id: z.string().describe('The trace of the turn. Feedback refers to it.'),
  }),
})
export type AgentTask = z.infer<typeof AgentTask>
