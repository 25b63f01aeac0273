// The request of a chat completion: the specification with what real clients add.
import { z } from 'zod'
import { HOSTED_TOOLS } from './hosted-tools.ts'
import { rules } from './rules.ts'
import {
  Guardrails,
  Identity,
  Metadata,
  ModelId,
  ModelSeed,
  PromptServiceOptions,
  ReasoningEffort,
  Routing,
  TemplateEngine,
  Thinking,
  Thread,
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
    file: z
      .looseObject({
        file_data: z.string().nullish(),
        uri: z.string().nullish(),
        file_id: z.string().nullish(),
        mimeType: z.string().nullish(),
        filename: z.string().nullish(),
      })
      .refine(rules.hasContent, {
        error: "must have 'file_data' or 'uri'",
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
const FunctionCall = z.looseObject({ name: z.string().optional(), arguments: z.string().optional() })
const ToolCall = z.discriminatedUnion('type', [
  z.looseObject({
    id: z.string(),
    type: z.literal('function').default('function'),
    function: FunctionCall,
    thought_signature: z.string().nullish(),
  }),
  z.looseObject({
    id: z.string(),
    type: z.literal('custom'),
    custom: z.looseObject({ name: z.string(), input: z.string() }),
  }),
])

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
    function_call: FunctionCall.nullish().describe('What `tool_calls` was before there were tools.'),
  }),
  z.looseObject({ role: z.literal('tool'), content: texts, tool_call_id: z.string().nullable(), name }),
  z.looseObject({ role: z.literal('function'), content: texts.nullish(), name: z.string() }),
])
export type Message = z.infer<typeof Message>

const Identifier = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/, { error: 'must be 1 to 64 letters, digits, _ and -' })
const FunctionTool = z.looseObject({
  name: Identifier.describe('At most 64 letters, digits, _ and -.'),
  description: z.string().nullish(),
  parameters: z
    .looseObject({ type: z.literal('object').optional() })
    .nullish()
    .describe('JSON Schema of the arguments, which are an object.'),
  strict: z.boolean().nullish(),
})
const CustomTool = z.looseObject({
  name: Identifier,
  description: z.string().nullish(),
  format: z
    .discriminatedUnion('type', [
      z.looseObject({ type: z.literal('text') }),
      z.looseObject({
        type: z.literal('grammar'),
        grammar: z.looseObject({ syntax: z.enum(['lark', 'regex']), definition: z.string() }),
      }),
    ])
    .nullish()
    .describe('What the text looks like; free text when left out.'),
})
const Tool = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('function').default('function'), function: FunctionTool }),
  z
    .looseObject({ type: z.literal('custom'), custom: CustomTool })
    .describe('A tool that takes a text instead of arguments.'),
  z.looseObject({ type: z.enum(HOSTED_TOOLS) }).describe('Accepted; tools of the provider are never called here.'),
])
const Named = z.looseObject({ name: z.string() })
const NamedFunction = z.looseObject({ function: Named })
const NamedCustom = z.looseObject({ type: z.literal('custom'), custom: Named })
const ToolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  NamedFunction,
  NamedCustom,
  z.looseObject({
    type: z.literal('allowed_tools'),
    allowed_tools: z.looseObject({
      mode: z.enum(['auto', 'required']),
      tools: z.array(z.union([NamedFunction, NamedCustom, z.looseObject({ type: z.enum(HOSTED_TOOLS) })])),
    }),
  }),
])
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
    n: z.int().min(1).max(128).nullish().describe('Number of choices.').meta({ default: 1 }),
    response_format: ResponseFormat.nullish().describe('Plain text, any JSON object, or JSON of a schema.'),
    reasoning_effort: ReasoningEffort.nullish(),
    verbosity: z.string().nullish().describe('Lower levels give shorter answers.'),
    seed: ModelSeed.nullish().describe('The same seed and request give the same answer where the model can.'),
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
    top_k: z.int().min(0).nullish().describe('Number of tokens considered.'),
    tools: z.array(Tool).nullish().describe('Functions that the model may call.'),
    tool_choice: ToolChoice.nullish().describe(
      'Whether a tool is called: not at all, as the model likes, always, the named one, or some of them.',
    ),
    functions: z
      .array(FunctionTool)
      .nullish()
      .describe('What `tools` was before there were tools: the answer then has a `function_call`.')
      .meta({ deprecated: true }),
    function_call: z
      .union([z.enum(['none', 'auto']), Named])
      .nullish()
      .describe('The choice of one of the `functions`.')
      .meta({ deprecated: true }),
    parallel_tool_calls: z.boolean().nullish().describe('Whether several may be called at once.'),
    modalities: z
      .array(z.enum(['text', 'audio']))
      .nullish()
      .describe('Kinds of output.')
      .meta({ default: ['text'] }),
    guardrails: Guardrails.nullish(),
    ...Routing,
    identity: Identity.nullish(),
    thread: Thread.nullish(),
    variables: z.record(z.string(), z.unknown()).nullish().describe('Values of `{{name}}` in the messages.'),
    template_engine: TemplateEngine.nullish(),
    svc: PromptServiceOptions.nullish(),
    stream: z.boolean().nullish().default(false).describe('Whether the answer comes as server-sent events.'),
  })
  .check(rules.chat)
export type ChatRequest = z.infer<typeof ChatRequest>
