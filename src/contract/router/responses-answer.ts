// Model responses on the wire: the response object of the specification, and the events that build it in a stream.
import { z } from 'zod'
import { TokenLogprob } from './chat.ts'
import { MAX_TOP_LOGPROBS, ServiceTier, Truncation } from './responses.ts'
import { ResponsesTool } from './responses-tools.ts'

const count = z.int().min(0)
const text = z.string()
const logprobs = z.array(TokenLogprob).describe('Log probabilities of the tokens, when they were asked for.')

const ItemStatus = z.enum(['in_progress', 'completed', 'incomplete']).describe('How far it has come.')
const itemId = text.describe('Names the item, so that a later call can refer to it.')
const SummaryText = z.object({ type: z.literal('summary_text'), text: text.describe('A part of the summary.') })
const ContentPart = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('output_text'),
    text: text.describe('The text of this part.'),
    annotations: z.array(z.looseObject({})).describe('Sources of the text; empty here.'),
    logprobs,
  }),
  z.object({ type: z.literal('refusal'), refusal: text.describe('The refusal of the model.') }),
])
export type ContentPart = z.infer<typeof ContentPart>

/** One item of an answer. */
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
    input: text.describe('The text for the tool.'),
  }),
  z.object({
    id: itemId,
    type: z.literal('reasoning'),
    status: ItemStatus,
    summary: z.array(SummaryText).describe('What the reasoning comes to.'),
    encrypted_content: text.describe('Reasoning that only the provider can read; send it back unchanged.').optional(),
  }),
])
export type OutputItem = z.infer<typeof OutputItem>

/** Token counts of a response. */
export const ResponseUsage = z.object({
  input_tokens: count.describe('Tokens of the request.'),
  input_tokens_details: z
    .object({ cached_tokens: count.describe('Tokens of the request that the provider had in its prompt cache.') })
    .describe('What of the request is counted apart.'),
  output_tokens: count.describe('Output tokens.'),
  output_tokens_details: z
    .object({
      reasoning_tokens: count.describe('Tokens of reasoning.'),
      accepted_prediction_tokens: count.describe('Tokens of a prediction that came true; 0 here.'),
      rejected_prediction_tokens: count.describe('Tokens of a prediction that did not; 0 here.'),
    })
    .describe('What of the answer is counted apart.'),
  total_tokens: count,
})
export type ResponseUsage = z.infer<typeof ResponseUsage>

/** The response object, whole or as far as it has come. */
export const ModelResponse = z.object({
  id: text.describe('Names the response, beginning with `resp_`; `previous_response_id` of a later call takes it.'),
  object: z.literal('response'),
  created_at: z.int().describe('When it was made, in seconds since 1970.'),
  status: z
    .enum(['completed', 'failed', 'in_progress', 'cancelled', 'queued', 'incomplete'])
    .describe('How far it has come.'),
  background: z.boolean().describe('Always false: nothing goes on in the background.'),
  error: z
    .object({
      code: text.describe('Machine-readable error code.'),
      message: text.describe('Error message.'),
    })
    .describe('Why it failed; null otherwise.')
    .nullable(),
  incomplete_details: z
    .object({
      reason: z
        .enum(['max_output_tokens', 'content_filter'])
        .describe('Whether the limit of tokens or a filter ended it.'),
    })
    .describe('Why it is incomplete; null otherwise.')
    .nullable(),
  instructions: text.describe('The instructions of the request.').nullable(),
  max_output_tokens: z.int().describe('The limit of the request; null for none.').nullable(),
  model: text.describe('The model that answered, as `<provider>/<model>`.'),
  output: z.array(OutputItem).describe('What the model gave: messages, calls of tools, reasoning.'),
  output_text: text.describe('The text of all parts together.'),
  parallel_tool_calls: z.boolean().describe('Whether several tools may be called at once.'),
  previous_response_id: text.describe('The response that the conversation goes on from.').nullable(),
  reasoning: z
    .object({
      effort: text.describe('How hard it thinks.').nullable(),
      summary: text.describe('How much of the reasoning is summed up.').nullable(),
    })
    .describe('How the model was asked to reason.'),
  service_tier: ServiceTier.describe('The tier that was asked for; there is only one here.').nullable(),
  store: z.boolean().describe('Whether it can be continued by its id.'),
  temperature: z.number().describe('How much chance there is in the answer: 0 is the least.'),
  text: z
    .looseObject({
      format: z
        .looseObject({ type: z.enum(['text', 'json_object', 'json_schema']).describe('Which of these.') })
        .describe('Free text, JSON, or JSON that fits a schema.'),
    })
    .describe('What the text was asked to be like.'),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      z.object({
        type: z.literal('function'),
        function: z
          .object({ name: text.describe('Its name in `tools`.') })
          .describe('The function that must be called.'),
      }),
    ])
    .describe('Whether and which tools must be called.'),
  tools: z.array(ResponsesTool).describe('The tools that the model may have called.'),
  top_logprobs: count.max(MAX_TOP_LOGPROBS).describe('How many likely tokens each log probability comes with.'),
  logprobs: z.boolean().describe('Whether log probabilities were asked for.'),
  top_p: z.number().describe('Only the likeliest tokens that make up this share are considered.'),
  truncation: Truncation.describe('What happens to a conversation that is too long.').nullable(),
  usage: ResponseUsage.optional().describe('Absent until the response has ended.'),
  user: text.describe("The end user's id in your own system.").nullable(),
  metadata: z.record(text, text),
})
export type ModelResponse = z.infer<typeof ModelResponse>

const event = <Type extends string, Shape extends z.core.$ZodLooseShape>(type: Type, shape: Shape) =>
  z.object({ type: z.literal(type), sequence_number: count, ...shape })
const inItem = { item_id: text, output_index: count }
const inPart = { ...inItem, content_index: count }
const inSummary = { ...inItem, summary_index: count }
const whole = { response: ModelResponse.describe('The response as it stands.') }
const delta = text.describe('What is new of it.')
const wholeItem = { output_index: count, item: OutputItem.describe('The item as it stands.') }
const wholePart = { ...inPart, part: ContentPart.describe('The part as it stands.') }
const wholeSummary = { ...inSummary, part: SummaryText.describe('The part as it stands.') }
const failure = {
  code: text.describe('Machine-readable error code.'),
  message: text.describe('Error message.'),
  param: text.describe('Path of the field at fault.').nullable(),
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
  event('response.output_text.delta', {
    ...inPart,
    delta,
    logprobs,
  }),
  event('response.output_text.done', {
    ...inPart,
    text: text.describe('The whole text.'),
    logprobs,
  }),
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
    error: z
      .object({ type: text.describe('Error type.'), ...failure })
      .describe('What went wrong, as the body of an error says it.'),
  }),
])
export type ResponseEvent = z.infer<typeof ResponseEvent>
