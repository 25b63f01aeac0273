// Model responses on the wire: the response object of the specification, and the events that build it in a stream.
import { z } from 'zod'
import { TokenLogprob } from './chat.ts'
import { MAX_TOP_LOGPROBS, ServiceTier, Truncation } from './responses.ts'
import { ResponsesTool } from './responses-tools.ts'

const count = z.int().min(0)
const text = z.string()
const logprobs = z.array(TokenLogprob)

const ItemStatus = z.enum(['in_progress', 'completed', 'incomplete'])
const SummaryText = z.object({ type: z.literal('summary_text'), text })
const ContentPart = z.discriminatedUnion('type', [
  z.object({ type: z.literal('output_text'), text, annotations: z.array(z.looseObject({})), logprobs }),
  z.object({ type: z.literal('refusal'), refusal: text }),
])
export type ContentPart = z.infer<typeof ContentPart>

/** One item of an answer. */
export const OutputItem = z.discriminatedUnion('type', [
  z.object({
    id: text,
    type: z.literal('message'),
    status: ItemStatus,
    role: z.literal('assistant'),
    content: z.array(ContentPart),
  }),
  z.object({
    id: text,
    type: z.literal('function_call'),
    status: ItemStatus,
    call_id: text,
    name: text,
    arguments: text,
  }),
  z.object({
    id: text,
    type: z.literal('custom_tool_call'),
    status: ItemStatus,
    call_id: text,
    name: text,
    input: text,
  }),
  z.object({
    id: text,
    type: z.literal('reasoning'),
    status: ItemStatus,
    summary: z.array(SummaryText),
    encrypted_content: text.optional(),
  }),
])
export type OutputItem = z.infer<typeof OutputItem>

/** Token counts of a response. */
export const ResponseUsage = z.object({
  input_tokens: count,
  input_tokens_details: z.object({ cached_tokens: count }),
  output_tokens: count,
  output_tokens_details: z.object({
    reasoning_tokens: count,
    accepted_prediction_tokens: count,
    rejected_prediction_tokens: count,
  }),
  total_tokens: count,
})
export type ResponseUsage = z.infer<typeof ResponseUsage>

/** The response object, whole or as far as it has come. */
export const ModelResponse = z.object({
  id: text,
  object: z.literal('response'),
  created_at: z.int(),
  status: z.enum(['completed', 'failed', 'in_progress', 'cancelled', 'queued', 'incomplete']),
  background: z.boolean(),
  error: z.object({ code: text, message: text }).nullable(),
  incomplete_details: z.object({ reason: z.enum(['max_output_tokens', 'content_filter']) }).nullable(),
  instructions: text.nullable(),
  max_output_tokens: z.int().nullable(),
  model: text,
  output: z.array(OutputItem),
  output_text: text.describe('The text of all parts together.'),
  parallel_tool_calls: z.boolean(),
  previous_response_id: text.nullable(),
  reasoning: z.object({ effort: text.nullable(), summary: text.nullable() }),
  service_tier: ServiceTier.nullable(),
  store: z.boolean(),
  temperature: z.number(),
  text: z.looseObject({ format: z.looseObject({ type: z.enum(['text', 'json_object', 'json_schema']) }) }),
  tool_choice: z.union([
    z.enum(['none', 'auto', 'required']),
    z.object({ type: z.literal('function'), function: z.object({ name: text }) }),
  ]),
  tools: z.array(ResponsesTool),
  top_logprobs: count.max(MAX_TOP_LOGPROBS),
  logprobs: z.boolean(),
  top_p: z.number(),
  truncation: Truncation.nullable(),
  usage: ResponseUsage.optional().describe('Absent until the response has ended.'),
  user: text.nullable(),
  metadata: z.record(text, text),
})
export type ModelResponse = z.infer<typeof ModelResponse>

const event = <Type extends string, Shape extends z.core.$ZodLooseShape>(type: Type, shape: Shape) =>
  z.object({ type: z.literal(type), sequence_number: count, ...shape })
const inItem = { item_id: text, output_index: count }
const inPart = { ...inItem, content_index: count }
const inSummary = { ...inItem, summary_index: count }
const whole = { response: ModelResponse }
const failure = { code: text, message: text, param: text.nullable() }

/** The data of one event of a stream. */
export const ResponseEvent = z.discriminatedUnion('type', [
  event('response.created', whole),
  event('response.in_progress', whole),
  event('response.completed', whole),
  event('response.incomplete', whole),
  event('response.failed', whole),
  event('response.output_item.added', { output_index: count, item: OutputItem }),
  event('response.output_item.done', { output_index: count, item: OutputItem }),
  event('response.content_part.added', { ...inPart, part: ContentPart }),
  event('response.content_part.done', { ...inPart, part: ContentPart }),
  event('response.output_text.delta', { ...inPart, delta: text, logprobs }),
  event('response.output_text.done', { ...inPart, text, logprobs }),
  event('response.refusal.delta', { ...inPart, delta: text }),
  event('response.refusal.done', { ...inPart, refusal: text }),
  event('response.function_call_arguments.delta', { ...inItem, delta: text }),
  event('response.function_call_arguments.done', { ...inItem, name: text, arguments: text }),
  event('response.custom_tool_call_input.delta', { ...inItem, delta: text }),
  event('response.custom_tool_call_input.done', { ...inItem, input: text }),
  event('response.reasoning_summary_part.added', { ...inSummary, part: SummaryText }),
  event('response.reasoning_summary_part.done', { ...inSummary, part: SummaryText }),
  event('response.reasoning_summary_text.delta', { ...inSummary, delta: text }),
  event('response.reasoning_summary_text.done', { ...inSummary, text }),
  event('error', { ...failure, error: z.object({ type: text, ...failure }) }),
])
export type ResponseEvent = z.infer<typeof ResponseEvent>
