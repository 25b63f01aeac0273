// What a strict client accepts of POST /v2/router/responses: closed enums, absent is not null.
import { z } from 'zod'

const text = z.string()
const Citation = z.looseObject({ type: z.enum(['url_citation', 'file_citation']) })
const Likelihood = z.looseObject({ token: text, logprob: z.number(), bytes: z.array(z.int()).nullable() })
const Logprob = Likelihood.extend({ top_logprobs: z.array(Likelihood) })
const ItemStatus = z.enum(['in_progress', 'completed', 'incomplete', 'failed'])

const Part = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('output_text'),
    text,
    annotations: z.array(Citation).optional(),
    logprobs: z.array(Logprob).nullish(),
  }),
  z.looseObject({ type: z.literal('refusal'), refusal: text }),
])
const Item = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('message'),
    id: text,
    role: z.literal('assistant'),
    status: ItemStatus,
    content: z.array(Part).optional(),
  }),
  z.looseObject({
    type: z.literal('function_call'),
    id: text,
    call_id: text,
    name: text,
    arguments: text,
    status: ItemStatus,
  }),
  z.looseObject({
    type: z.literal('reasoning'),
    id: text,
    summary: z.array(z.looseObject({ type: z.literal('summary_text'), text })).optional(),
    encrypted_content: text.nullish(),
    status: ItemStatus.optional(),
  }),
])

const count = z.int().min(0)
const Tool = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('function'),
    name: text,
    description: text.optional(),
    parameters: z.record(text, z.unknown()).optional(),
    strict: z.boolean().nullish(),
  }),
  z.looseObject({ type: z.enum(['web_search_preview', 'web_search', 'file_search']) }),
])

/** The whole answer. */
export const StrictResponse = z.looseObject({
  id: text,
  object: z.literal('response'),
  created_at: z.number(),
  status: z.enum(['completed', 'failed', 'in_progress', 'canceled', 'queued', 'incomplete']),
  error: z.looseObject({ code: text, message: text }).nullish(),
  incomplete_details: z.looseObject({ reason: z.enum(['max_output_tokens', 'content_filter']) }).nullable(),
  model: text,
  output: z.array(Item),
  output_text: text.nullish(),
  parallel_tool_calls: z.boolean(),
  instructions: text.nullish(),
  usage: z
    .looseObject({
      input_tokens: count,
      output_tokens: count,
      total_tokens: count,
      input_tokens_details: z.looseObject({ cached_tokens: count }),
      output_tokens_details: z.looseObject({
        reasoning_tokens: count,
        accepted_prediction_tokens: count,
        rejected_prediction_tokens: count,
      }),
    })
    .optional(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  max_output_tokens: z.int().nullish(),
  previous_response_id: text.nullish(),
  metadata: z.record(text, text).optional(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      z.looseObject({ type: z.literal('function'), function: z.looseObject({ name: text }) }),
    ])
    .optional(),
  tools: z.array(Tool).optional(),
  reasoning: z
    .looseObject({
      effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh']).nullish(),
      summary: z.enum(['auto', 'concise', 'detailed']).nullish(),
    })
    .nullish(),
  store: z.boolean().optional(),
  text: z
    .looseObject({
      format: z.discriminatedUnion('type', [
        z.looseObject({ type: z.literal('text') }),
        z.looseObject({ type: z.literal('json_object') }),
        z.looseObject({
          type: z.literal('json_schema'),
          name: text,
          description: text.optional(),
          schema: z.record(text, z.unknown()),
          strict: z.boolean().nullish(),
        }),
      ]),
    })
    .optional(),
  truncation: z.enum(['auto', 'disabled']).nullish(),
  user: text.nullish(),
  service_tier: z.enum(['auto', 'default', 'flex', 'scale', 'priority']).nullish(),
  background: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  logprobs: z.boolean().nullish(),
})

const event = (type: string, shape: z.ZodRawShape) =>
  z.looseObject({ type: z.literal(type), sequence_number: count, ...shape })
const inItem = { item_id: text, output_index: count }
const inPart = { ...inItem, content_index: count }
const inSummary = { ...inItem, summary_index: count }
const SummaryPart = z.looseObject({ type: z.literal('summary_text'), text })

/** One event of a stream, with all that the openai package and the AI SDK read of it. */
export const StrictEvent = z.discriminatedUnion('type', [
  event('response.created', { response: StrictResponse }),
  event('response.in_progress', { response: StrictResponse }),
  event('response.completed', { response: StrictResponse.required({ usage: true }) }),
  event('response.incomplete', { response: StrictResponse.required({ usage: true }) }),
  event('response.output_item.added', { output_index: count, item: Item }),
  event('response.output_item.done', { output_index: count, item: Item }),
  event('response.content_part.added', { ...inPart, part: Part }),
  event('response.content_part.done', { ...inPart, part: Part }),
  event('response.output_text.delta', { ...inPart, delta: text.min(1), logprobs: z.array(Logprob) }),
  event('response.output_text.done', { ...inPart, text, logprobs: z.array(Logprob) }),
  event('response.refusal.delta', { ...inPart, delta: text.min(1) }),
  event('response.refusal.done', { ...inPart, refusal: text }),
  event('response.function_call_arguments.delta', { ...inItem, delta: text.min(1) }),
  event('response.function_call_arguments.done', { ...inItem, name: text, arguments: text }),
  event('response.reasoning_summary_part.added', { ...inSummary, part: SummaryPart }),
  event('response.reasoning_summary_part.done', { ...inSummary, part: SummaryPart }),
  event('response.reasoning_summary_text.delta', { ...inSummary, delta: text.min(1) }),
  event('response.reasoning_summary_text.done', { ...inSummary, text }),
])
