// Chat completions on the wire: the request of SPEC.md with what real clients add (WIRE.md), the answer and its chunks.
import { z } from 'zod'
import {
  Cache,
  Fallbacks,
  Guardrails,
  LoadBalancer,
  Metadata,
  ModelId,
  Retry,
  ServiceOptions,
  Thinking,
  Timeout,
} from './shared.ts'

const CacheControl = z.looseObject({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).default('5m') }).nullish()
const TextPart = z.looseObject({ type: z.literal('text'), text: z.string(), cache_control: CacheControl })
const UserPart = z.discriminatedUnion('type', [
  TextPart,
  z.looseObject({
    type: z.literal('image_url'),
    image_url: z.looseObject({ url: z.string(), detail: z.enum(['low', 'high', 'auto']).nullish() }),
    cache_control: CacheControl,
  }),
  z.looseObject({
    type: z.literal('input_audio'),
    input_audio: z.looseObject({ data: z.string(), format: z.enum(['mp3', 'wav']) }),
  }),
  z.looseObject({
    type: z.literal('file'),
    file: z.looseObject({
      file_data: z.string().nullish(),
      uri: z.string().nullish(),
      mimeType: z.string().nullish(),
      filename: z.string().nullish(),
    }),
    cache_control: CacheControl,
  }),
])
const AssistantPart = z.discriminatedUnion('type', [
  TextPart,
  z.looseObject({ type: z.literal('refusal'), refusal: z.string() }),
  z.looseObject({ type: z.literal('reasoning'), reasoning: z.string(), signature: z.string().nullish() }),
  z.looseObject({ type: z.literal('redacted_reasoning'), data: z.string() }),
])
const texts = z.union([z.string(), z.array(TextPart).min(1)])
const name = z.string().nullish()
const ToolCall = z.looseObject({
  id: z.string(),
  type: z.literal('function').default('function'),
  function: z.looseObject({ name: z.string().optional(), arguments: z.string().optional() }),
  thought_signature: z.string().nullish(),
})

/** One message of the conversation, by role. */
export const Message = z.discriminatedUnion('role', [
  z.looseObject({ role: z.literal('system'), content: texts, name }),
  z.looseObject({ role: z.literal('developer'), content: texts, name }),
  z.looseObject({ role: z.literal('user'), content: z.union([z.string(), z.array(UserPart).min(1)]), name }),
  z.looseObject({
    role: z.literal('assistant'),
    content: z.union([z.string(), z.array(AssistantPart)]).nullish(),
    refusal: z.string().nullish(),
    name,
    audio: z.looseObject({ id: z.string() }).nullish(),
    tool_calls: z.array(ToolCall).nullish(),
  }),
  z.looseObject({ role: z.literal('tool'), content: texts, tool_call_id: z.string().nullable(), name }),
])
export type Message = z.infer<typeof Message>

const Identifier = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/, { error: 'must be 1 to 64 letters, digits, _ and -' })
const Tool = z.looseObject({
  type: z.literal('function').default('function'),
  function: z.looseObject({
    name: Identifier.describe('At most 64 letters, digits, _ and -.'),
    description: z.string().nullish(),
    parameters: z.looseObject({}).nullish().describe('JSON Schema of the arguments.'),
    strict: z.boolean().nullish(),
  }),
})
const ResponseFormat = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  z.looseObject({ type: z.literal('json_object') }),
  z.looseObject({
    type: z.literal('json_schema'),
    json_schema: z.looseObject({
      name: Identifier,
      description: z.string().nullish(),
      schema: z.looseObject({}).optional(),
      strict: z.boolean().nullish().default(false),
    }),
  }),
])
const penalty = z.number().min(-2).max(2).nullish()

/** The body of `POST /v2/router/chat/completions`; unknown fields are kept. */
export const ChatRequest = z
  .looseObject({
    messages: z.array(Message).min(1).describe('The conversation so far.'),
    model: ModelId,
    metadata: Metadata.nullish(),
    name: z.string().nullish().describe('Display name of the trace.'),
    audio: z
      .looseObject({
        voice: z.enum(['alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer']),
        format: z.enum(['wav', 'mp3', 'flac', 'opus', 'pcm16']),
      })
      .nullish()
      .describe('Voice and format of audio output; required when `modalities` has `audio`.'),
    frequency_penalty: penalty.describe('Above 0, tokens are less likely the more often they came.'),
    presence_penalty: penalty.describe('Above 0, tokens that came at all are less likely.'),
    max_tokens: z
      .int()
      .min(1)
      .nullish()
      .describe('Deprecated: use `max_completion_tokens`.')
      .meta({ deprecated: true }),
    max_completion_tokens: z.int().min(1).nullish().describe('Most tokens generated, visible and reasoning.'),
    logprobs: z.boolean().nullish().describe('Whether to return the log probability of each token.'),
    top_logprobs: z.int().min(0).max(20).nullish().describe('Needs `logprobs: true`.'),
    n: z.int().min(1).max(128).nullish().describe('Number of choices.'),
    response_format: ResponseFormat.nullish().describe('Plain text, any JSON object, or JSON of a schema.'),
    reasoning_effort: z
      .enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh'])
      .nullish()
      .describe('How much the model thinks.'),
    verbosity: z.string().nullish().describe('Lower levels give shorter answers.'),
    seed: z.int().nullish().describe('The same seed and request give the same answer where the model can.'),
    stop: z
      .union([z.string(), z.array(z.string()).max(4)])
      .nullish()
      .describe('Up to 4 sequences that end the answer.'),
    stream_options: z
      .looseObject({ include_usage: z.boolean().nullish() })
      .nullish()
      .describe('Only with `stream: true`.'),
    thinking: Thinking.nullish(),
    temperature: z.number().min(0).max(2).nullish().describe('Higher is more varied, lower more focused.'),
    top_p: z.number().min(0).max(1).nullish().describe('Total probability of the tokens considered.'),
    top_k: z.number().min(0).nullish().describe('Number of tokens considered.'),
    tools: z.array(Tool).nullish().describe('Functions that the model may call.'),
    tool_choice: z
      .union([z.enum(['none', 'auto', 'required']), z.looseObject({ function: z.looseObject({ name: z.string() }) })])
      .nullish()
      .describe('Whether a tool is called: not at all, as the model likes, always, or the named one.'),
    parallel_tool_calls: z.boolean().nullish().describe('Whether several may be called at once.'),
    modalities: z
      .array(z.enum(['text', 'audio']))
      .nullish()
      .describe('Kinds of output; default text.'),
    guardrails: Guardrails.nullish(),
    fallbacks: Fallbacks.nullish(),
    retry: Retry.nullish(),
    cache: Cache.nullish(),
    load_balancer: LoadBalancer.nullish(),
    timeout: Timeout.nullish(),
    variables: z.record(z.string(), z.unknown()).nullish().describe('Values of `{{name}}` in the messages.'),
    svc: ServiceOptions.nullish(),
    stream: z.boolean().nullish().default(false).describe('Whether the answer comes as server-sent events.'),
  })
  .superRefine((body, context) => {
    const refuse = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message })
    if (body.top_logprobs != null && body.logprobs !== true) refuse('top_logprobs', "needs 'logprobs' to be true")
    if (body.stream_options != null && body.stream !== true) refuse('stream_options', "needs 'stream' to be true")
    if (body.modalities?.includes('audio') && body.audio == null)
      refuse('audio', "is required when 'modalities' has 'audio'")
  })
export type ChatRequest = z.infer<typeof ChatRequest>

const integer = z.int().min(0)
/** Token counts of a chat or legacy completion. */
export const Usage = z.object({
  completion_tokens: integer,
  prompt_tokens: integer,
  total_tokens: integer,
  prompt_tokens_details: z.object({ cached_tokens: integer, cache_creation_tokens: integer, audio_tokens: integer }),
  completion_tokens_details: z.object({
    reasoning_tokens: integer,
    accepted_prediction_tokens: integer,
    rejected_prediction_tokens: integer,
    audio_tokens: integer,
  }),
})
export type Usage = z.infer<typeof Usage>

/** Why a choice ended. */
export const FinishReason = z.enum(['stop', 'length', 'tool_calls', 'content_filter', 'function_call'])
export type FinishReason = z.infer<typeof FinishReason>
const AnswerToolCall = z.object({
  index: integer.optional(),
  id: z.string(),
  type: z.literal('function'),
  function: z.object({ name: z.string(), arguments: z.string() }),
})
const frame = { id: z.string(), created: z.int(), model: z.string(), system_fingerprint: z.string() }

/** The whole answer. */
export const ChatCompletion = z.object({
  ...frame,
  object: z.literal('chat.completion'),
  choices: z.array(
    z.object({
      index: integer,
      finish_reason: FinishReason,
      message: z.object({
        role: z.literal('assistant'),
        content: z.string().nullable(),
        refusal: z.string().nullable(),
        reasoning: z.string().optional(),
        tool_calls: z.array(AnswerToolCall).optional(),
      }),
      logprobs: z.null(),
    }),
  ),
  usage: Usage,
})
export type ChatCompletion = z.infer<typeof ChatCompletion>

/** One chunk of a streamed answer. */
export const ChatChunk = z.object({
  ...frame,
  object: z.literal('chat.completion.chunk'),
  choices: z.array(
    z.object({
      index: integer,
      finish_reason: FinishReason.nullable(),
      delta: z.object({
        role: z.literal('assistant').optional(),
        content: z.string().nullish(),
        refusal: z.string().nullish(),
        reasoning: z.string().optional(),
        tool_calls: z
          .array(
            z.object({
              index: integer,
              id: z.string().optional(),
              type: z.literal('function').optional(),
              function: z.object({ name: z.string().optional(), arguments: z.string() }),
            }),
          )
          .optional(),
      }),
      logprobs: z.null(),
    }),
  ),
  usage: Usage.nullish(),
})
export type ChatChunk = z.infer<typeof ChatChunk>
