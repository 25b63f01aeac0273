// The response schemas of Anthropic's Messages API: messages, stream events, errors.

import { z } from 'zod'
import { describedObject, describedOrNull } from '../../contract/core/described.ts'

/** An object of a type. */
const typed = <Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  z.object({ type: z.literal(type), ...shape })

const tokens = z.int().describe('A number of tokens.')
const usageAtEnd = {
  input_tokens: tokens.describe('Tokens of the input that were neither read from nor written to the prompt cache.'),
  cache_creation_input_tokens: tokens.describe('Tokens written to the prompt cache.'),
  cache_read_input_tokens: tokens.describe('Tokens read from the prompt cache.'),
  output_tokens: tokens.describe('Output tokens.'),
  output_tokens_details: z
    .object({ thinking_tokens: tokens.describe('Reasoning tokens.') })
    .nullable()
    .describe('Breakdown of the output tokens.'),
  server_tool_use: z.null().describe('Always 0: provider tools are never called.'),
}
const Usage = describedObject('Token counts.', {
  ...usageAtEnd,
  cache_creation: describedObject('Tokens written to the prompt cache, by lifetime.', {
    ephemeral_5m_input_tokens: tokens.describe('Tokens cached for five minutes.'),
    ephemeral_1h_input_tokens: tokens.describe('Tokens cached for one hour.'),
  }),
  inference_geo: z.null().describe('Always null.'),
  service_tier: z.literal('standard').describe('Always `standard`.'),
  speed: z.null().describe('Always null.'),
})
const AnswerBlock = z.discriminatedUnion('type', [
  // Like Anthropic, without `citations` when nothing is cited: clients that read the field expect a list.
  typed('text', { text: z.string().describe('The text.') }),
  typed('tool_use', {
    id: z.string().describe('Id of the call.'),
    name: z.string().describe('Name of the tool.'),
    input: z.unknown().describe('Arguments.'),
    caller: typed('direct', {}).describe('The caller: the model.'),
  }),
  typed('thinking', {
    thinking: z.string().describe('Reasoning text.'),
    signature: z.string().describe('Signature of the reasoning.'),
  }),
  typed('redacted_thinking', { data: z.string().describe('Encrypted reasoning.') }),
])
const end = {
  stop_reason: z
    .enum(['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'refusal'])
    .nullable()
    .describe('Why the message ended. Null until it ends.'),
  stop_sequence: z.string().nullable().describe('The stop sequence that ended it.'),
  stop_details: describedOrNull('Details of a refusal.', {
    type: z.literal('refusal'),
    category: z.null().describe('Always null.'),
    explanation: z.null().describe('Always null.'),
  }),
  container: z.null().describe('Always null.'),
}

/** A whole message. */
export const AnthropicMessage = z.object({
  id: z.string().describe('Id of the message.'),
  type: z.literal('message').describe('Always `message`.'),
  role: z.literal('assistant').describe('Always `assistant`.'),
  model: z.string().describe('The model, as the request named it.'),
  content: z.array(AnswerBlock).describe('Content of the response.'),
  diagnostics: z.null().describe('Always null.'),
  ...end,
  usage: Usage,
})

const index = z.int().describe('Index of the block.')
/** One event of a stream. */
export const AnthropicEvent = z.discriminatedUnion('type', [
  typed('message_start', { message: AnthropicMessage.describe('The message before its content.') }),
  typed('content_block_start', { index, content_block: AnswerBlock.describe('The block before its content.') }),
  typed('content_block_delta', {
    index,
    delta: z
      .discriminatedUnion('type', [
        typed('text_delta', { text: z.string().describe('The next fragment.') }),
        typed('thinking_delta', { thinking: z.string().describe('The next fragment.') }),
        typed('signature_delta', { signature: z.string().describe('Signature of the reasoning.') }),
        typed('input_json_delta', { partial_json: z.string().describe('The next fragment of the arguments.') }),
      ])
      .describe('The change of the block.'),
  }),
  typed('content_block_stop', { index }),
  typed('message_delta', {
    delta: z.object(end).describe('Why the message ended.'),
    usage: z.object(usageAtEnd).describe('Total token counts.'),
  }),
  typed('message_stop', {}),
])

/** The body of every error. */
export const AnthropicError = z.object({
  type: z.literal('error').describe('Always `error`.'),
  error: describedObject('The error.', {
    type: z.string().describe('Error type.'),
    message: z.string().describe('Error message.'),
    details: z
      .object({ error_code: z.string().describe('Machine-readable error details.') })
      .optional()
      .describe('Only for some errors.'),
  }),
  request_id: z.string().describe('Id of the request, as in the header `request-id`.'),
})
