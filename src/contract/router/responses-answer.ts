// Model responses on the wire: the response object of the specification, and its stream events.

import { z } from 'zod'
import { describedLoose, describedObject } from '../core/described.ts'
import { TokenLogprob } from './chat.ts'
import { MAX_TOP_LOGPROBS, ServiceTier, Truncation } from './responses.ts'
import { ResponsesTool } from './responses-tools.ts'

const count = z.int().min(0)
const text = z.string()
const logprobs = z.array(TokenLogprob).describe('Log probabilities of the tokens, if requested.')

const ItemStatus = z.enum(['in_progress', 'completed', 'incomplete']).describe('Status.')
const itemId = text.describe('Id of the item. A later call can refer to it.')
const SummaryText = z.object({ type: z.literal('summary_text'), text: text.describe('A part of the summary.') })
const ContentPart = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('output_text'),
    text: text.describe('The text of this part.'),
    annotations: z.array(z.looseObject({})).describe('Sources of the text. Always empty.'),
    logprobs,
  }),
  z.object({ type: z.literal('refusal'), refusal: text.describe('The refusal of the model.') }),
])
/** One part of an output message: text or a refusal (the specification, "Model response"). */
export type ContentPart = z.infer<typeof ContentPart>

/** One item of a response. */
export const OutputItem = z.discriminatedUnion('type', [
  z.object({
    id: itemId,
    type: z.literal('message'),
    status: ItemStatus,
    role: z.literal('assistant'),
    content: z.array(ContentPart).describe('The parts of the message.'),
  }),
  z.object({
    id: itemId,
    type: z.literal('function_call'),
    status: ItemStatus,
    call_id: text,
    name: text.describe('Name of the tool, as the request has it.'),
    arguments: text.describe('The arguments as JSON text.'),
  }),
  z.object({
    id: itemId,
    type: z.literal('custom_tool_call'),
    status: ItemStatus,
    call_id: text,
    name: text.describe('Name of the tool, as the request has it.'),
    input: text.describe('Input text of the tool.'),
  }),
  z.object({
    id: itemId,
    type: z.literal('reasoning'),
    status: ItemStatus,
    summary: z.array(SummaryText).describe('Reasoning summary.'),
    encrypted_content: text.describe('Encrypted reasoning. Send it back unchanged.').optional(),
  }),
])
export type OutputItem = z.infer<typeof OutputItem>

/** Token counts of a response. */
export const ResponseUsage = z.object({
  input_tokens: count.describe('Tokens of the request.'),
  input_tokens_details: describedObject('Breakdown of the input tokens.', {
    cached_tokens: count.describe('Input tokens read from the prompt cache.'),
  }),
  output_tokens: count.describe('Output tokens.'),
  output_tokens_details: describedObject('Breakdown of the output tokens.', {
    reasoning_tokens: count.describe('Tokens of reasoning.'),
    accepted_prediction_tokens: count.describe('Accepted prediction tokens. Always 0.'),
    rejected_prediction_tokens: count.describe('Rejected prediction tokens. Always 0.'),
  }),
  total_tokens: count,
})
export type ResponseUsage = z.infer<typeof ResponseUsage>

/** The response object, complete or in progress. */
export const ModelResponse = z.object({
  id: text.describe('Id of the response, with the prefix `resp_`. Send it as `previous_response_id` in a later call.'),
  object: z.literal('response'),
  created_at: z.int().describe('Creation time, in seconds since the Unix epoch.'),
  status: z.enum(['completed', 'failed', 'in_progress', 'cancelled', 'queued', 'incomplete']).describe('Status.'),
  background: z.boolean().describe('Always false: responses are never run in the background.'),
  error: describedObject('Why it failed, or null.', {
    code: text.describe('Machine-readable error code.'),
    message: text.describe('Error message.'),
  }).nullable(),
  incomplete_details: describedObject('Why it is incomplete, or null.', {
    reason: z
      .enum(['max_output_tokens', 'content_filter'])
      .describe('Whether the token limit or a content filter ended it.'),
  }).nullable(),
  instructions: text.describe('The instructions of the request.').nullable(),
  max_output_tokens: z.int().describe('Limit from the request, or null.').nullable(),
  model: text.describe('The model that responded, as `<provider>/<model>`.'),
  output: z.array(OutputItem).describe('Output of the model: messages, tool calls, and reasoning.'),
  output_text: text.describe('The combined text of all parts.'),
  parallel_tool_calls: z.boolean().describe('Whether several tools may be called at once.'),
  previous_response_id: text.describe('The previous response in the conversation.').nullable(),
  reasoning: describedObject('Reasoning settings.', {
    effort: text.describe('Reasoning effort.').nullable(),
    summary: text.describe('Level of detail of the reasoning summary.').nullable(),
  }),
  service_tier: ServiceTier.describe('The requested service tier. All tiers behave the same.').nullable(),
  store: z.boolean().describe('Whether the response is stored and can be continued.'),
  temperature: z.number().describe('Sampling temperature: 0 is the least random.'),
  text: describedLoose('Requested text format.', {
    format: z
      .looseObject({ type: z.enum(['text', 'json_object', 'json_schema']).describe('Type of the format.') })
      .describe('Free text, JSON, or JSON that matches a schema.'),
  }),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      z.object({
        type: z.literal('function'),
        function: describedObject('The function that must be called.', { name: text.describe('Its name in `tools`.') }),
      }),
    ])
    .describe('Whether the model must call tools, and which.'),
  tools: z.array(ResponsesTool).describe('The tools that the model can call.'),
  top_logprobs: count.max(MAX_TOP_LOGPROBS).describe('Number of most likely tokens per position.'),
  logprobs: z.boolean().describe('Whether log probabilities were requested.'),
  top_p: z
    .number()
    .describe('Nucleus sampling: only the most likely tokens with this total probability are considered.'),
  truncation: Truncation.describe('Truncation strategy for long conversations.').nullable(),
  usage: ResponseUsage.optional().describe('Absent until the response ends.'),
  user: text.describe("The end user's id in your system.").nullable(),
  metadata: z.record(text, text),
})
export type ModelResponse = z.infer<typeof ModelResponse>

const event = <Type extends string, Shape extends z.core.$ZodLooseShape>(type: Type, shape: Shape) =>
  z.object({ type: z.literal(type), sequence_number: count, ...shape })
const inItem = { item_id: text, output_index: count }
const inPart = { ...inItem, content_index: count }
const inSummary = { ...inItem, summary_index: count }
const whole = { response: ModelResponse.describe('The current state of the response.') }
const delta = text.describe('The next fragment.')
const wholeItem = { output_index: count, item: OutputItem.describe('The current state of the item.') }
const wholePart = { ...inPart, part: ContentPart.describe('The current state of the part.') }
const wholeSummary = { ...inSummary, part: SummaryText.describe('The current state of the part.') }
const failure = {
  code: text.describe('Machine-readable error code.'),
  message: text.describe('Error message.'),
  param: text.describe('Path of the invalid field.').nullable(),
}

/** The data of one event of a stream. */
export const ResponseEvent = z.discriminatedUnion('type', [
  event('response.created', whole),
  event('response.in_progress', whole),
  event('response.completed', whole),
  event('response.incomplete', whole),
  event('response.failed', whole),
  event('response.output_item.added', wholeItem),
  event('response.output_item.done', wholeItem),
  event('response.content_part.added', wholePart),
  event('response.content_part.done', wholePart),
  event('response.output_text.delta', { ...inPart, delta, logprobs }),
  event('response.output_text.done', { ...inPart, text: text.describe('The whole text.'), logprobs }),
  event('response.refusal.delta', { ...inPart, delta }),
  event('response.refusal.done', { ...inPart, refusal: text.describe('The whole refusal.') }),
  event('response.function_call_arguments.delta', { ...inItem, delta }),
  event('response.function_call_arguments.done', {
    ...inItem,
    name: text.describe('Name of the function.'),
    arguments: text.describe('All of the arguments, as JSON text.'),
  }),
  event('response.custom_tool_call_input.delta', { ...inItem, delta }),
  event('response.custom_tool_call_input.done', { ...inItem, input: text.describe('All of the text for the tool.') }),
  event('response.reasoning_summary_part.added', wholeSummary),
  event('response.reasoning_summary_part.done', wholeSummary),
  event('response.reasoning_summary_text.delta', { ...inSummary, delta }),
  event('response.reasoning_summary_text.done', { ...inSummary, text: text.describe('The whole text.') }),
  event('error', {
    ...failure,
    error: z.object({ type: text.describe('Error type.'), ...failure }).describe('The error message.'),
  }),
])
export type ResponseEvent = z.infer<typeof ResponseEvent>
