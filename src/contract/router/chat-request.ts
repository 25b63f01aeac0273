// The request of a chat completion: the specification, and what real clients add.
import { z } from 'zod'
import { describedLoose, describedLooseOrNull } from '../core/described.ts'
import { rules } from '../core/rules.ts'
import { CalledCustomTool, CalledFunction, OlderFunctionCall, ToolCallId } from './chat.ts'
import { HOSTED_TOOLS } from './hosted-tools.ts'
import {
  Guardrails,
  Metadata,
  ModelId,
  ModelSeed,
  PromptServiceOptions,
  promptFields,
  ReasoningEffort,
  Routing,
  StreamOptions,
  Thinking,
} from './shared.ts'

const CacheControl = z
  .looseObject({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).describe('Lifetime.').default('5m') })
  .nullish()
const TextPart = z.looseObject({
  type: z.literal('text'),
  text: z.string().describe('The text of this part.'),
  cache_control: CacheControl.describe("Marks the request up to here for the provider's prompt cache."),
})
const UserPart = z.discriminatedUnion('type', [
  TextPart,
  z.looseObject({
    type: z.literal('image_url'),
    image_url: describedLoose('An image.', {
      url: z.string().describe('URL, or a data URL with the bytes. It is not fetched.'),
      detail: z.enum(['low', 'high', 'auto']).describe('Level of detail.').nullish(),
    }),
    cache_control: CacheControl.describe("Marks the request up to here for the provider's prompt cache."),
  }),
  z.looseObject({
    type: z.literal('input_audio'),
    input_audio: describedLoose('An audio clip.', {
      data: z.string().describe('The audio in base64.'),
      format: z.enum(['mp3', 'wav']).describe('Audio format.'),
    }),
  }),
  z.looseObject({
    type: z.literal('file'),
    file: z
      .looseObject({
        file_data: z.string().describe('The bytes as a data URL or in base64.').nullish(),
        uri: z.string().describe('URL of the file. It is not fetched.').nullish(),
        file_id: z.string().describe('The id of an uploaded file.').nullish(),
        mimeType: z.string().describe('Media type.').nullish(),
        filename: z.string().describe('Name.').nullish(),
      })
      .refine(rules.hasContent, {
        error: "must have 'file_data' or 'uri'",
      })
      .describe('A file.'),
    cache_control: CacheControl.describe("Marks the request up to here for the provider's prompt cache."),
  }),
])
const AssistantPart = z.discriminatedUnion('type', [
  TextPart,
  z.looseObject({ type: z.literal('refusal'), refusal: z.string().describe('The refusal of the model.') }),
  z.looseObject({
    type: z.literal('reasoning'),
    reasoning: z.string().describe('Reasoning text.'),
    signature: z.string().describe("The provider's signature of the reasoning, sent back unchanged.").nullish(),
  }),
  z.looseObject({
    type: z.literal('redacted_reasoning'),
    data: z.string().describe('Encrypted reasoning, sent back unchanged.'),
  }),
])
const textParts = z.union([z.string(), z.array(TextPart).min(1)])
const texts = textParts.describe('The text, or its parts.')
const speaker = z.string().describe('Distinguishes participants with the same role. For a function, its name.')
const name = speaker.nullish()
const ToolCall = z.discriminatedUnion('type', [
  z.looseObject({
    id: ToolCallId,
    type: z.literal('function').describe('Whether the call is to a function or a custom tool.').default('function'),
    function: CalledFunction.partial().loose().describe('The called function.'),
    thought_signature: z
      .string()
      .describe("The provider's signature of the reasoning behind the call. Send it back unchanged.")
      .nullish(),
  }),
  z.looseObject({
    id: ToolCallId,
    type: z.literal('custom').describe('Whether the call is to a function or a custom tool.'),
    custom: CalledCustomTool.loose().describe('The called custom tool.'),
  }),
])

const instructions = <Role extends string>(role: Role) => z.looseObject({ role: z.literal(role), content: texts, name })

/** One message of the conversation, by role. */
export const Message = z.discriminatedUnion('role', [
  instructions('system'),
  instructions('developer'),
  z.looseObject({
    role: z.literal('user'),
    content: z.union([z.string(), z.array(UserPart).min(1)]).describe('The text, or its parts.'),
    name,
  }),
  z.looseObject({
    role: z.literal('assistant'),
    content: z
      .union([z.string(), z.array(AssistantPart)])
      .nullable()
      .describe('The text, or its parts.')
      .optional(),
    refusal: z.string().describe('The refusal in an earlier response.').nullish(),
    name,
    audio: describedLoose('Reference to an audio response.', {
      id: z.string().describe('Id of the audio response. A later message can refer to it.'),
    }).nullish(),
    tool_calls: z.array(ToolCall).describe('The tool calls of an earlier response.').nullish(),
    function_call: OlderFunctionCall.partial().loose().nullish().describe('Legacy form of `tool_calls`.'),
  }),
  z.looseObject({
    role: z.literal('tool'),
    content: texts,
    tool_call_id: z.string().describe('The `id` of the tool call that this result belongs to.').nullable(),
    name,
  }),
  z.looseObject({
    role: z.literal('function'),
    content: textParts.nullable().describe('The text, or its parts.').optional(),
    name: speaker,
  }),
])
export type Message = z.infer<typeof Message>

const Identifier = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/, { error: 'must be 1 to 64 letters, digits, _ and -' })
const FunctionTool = z.looseObject({
  name: z
    .string()
    .regex(/^[a-zA-Z0-9_.:-]{1,64}$/, { error: 'must be 1 to 64 letters, digits, _ and -' })
    .describe('At most 64 letters, digits, `_`, and `-`. Google models also take `.` and `:`.'),
  description: z.string().describe('What the function does. The model uses this to decide when to call it.').nullish(),
  parameters: z
    .looseObject({ type: z.literal('object').optional() })
    .nullish()
    .describe('JSON Schema of the arguments object.'),
  strict: z.boolean().nullish(),
})
const CustomTool = z.looseObject({
  name: Identifier.describe('Name: at most 64 letters, digits, `_`, and `-`.'),
  description: z.string().describe('What the function does. The model uses this to decide when to call it.').nullish(),
  format: z
    .discriminatedUnion('type', [
      z.looseObject({ type: z.literal('text') }),
      z.looseObject({
        type: z.literal('grammar'),
        grammar: describedLoose('The grammar that the text must follow.', {
          syntax: z.enum(['lark', 'regex']).describe('The language of the grammar.'),
          definition: z.string().describe('The grammar itself.'),
        }),
      }),
    ])
    .nullish()
    .describe('Format of the text. Default: free text.'),
})
const Tool = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('function').describe('Type of the tool.').default('function'),
    function: FunctionTool.describe('A function that the model can call.'),
  }),
  describedLoose('A tool with a text input instead of arguments.', {
    type: z.literal('custom').describe('Type of the tool.'),
    custom: CustomTool.describe('A tool with a text input instead of arguments.'),
  }),
  z
    .looseObject({ type: z.enum(HOSTED_TOOLS).describe('Type of the tool.') })
    .describe('Accepted. Provider tools are never called.'),
])
const Named = z.looseObject({ name: z.string().describe('Its name in `tools`.') })
const NamedFunction = z.looseObject({ function: Named.describe('A function of `tools`.') })
const NamedCustom = z.looseObject({
  type: z.literal('custom').describe('Type of the tool.'),
  custom: Named.describe('A custom tool of `tools`.'),
})
const ToolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  z.looseObject({ function: Named.describe('The function that must be called.') }),
  z.looseObject({ type: z.literal('custom'), custom: Named.describe('The custom tool that must be called.') }),
  z.looseObject({
    type: z.literal('allowed_tools'),
    allowed_tools: describedLoose('The subset of the offered tools that the model may call.', {
      mode: z.enum(['auto', 'required']).describe('Whether the model must call one of them.'),
      tools: z
        .array(
          z.union([
            NamedFunction,
            NamedCustom,
            z.looseObject({ type: z.enum(HOSTED_TOOLS).describe('Type of the tool.') }),
          ]),
        )
        .describe('The allowed tools.'),
    }),
  }),
])
const ResponseFormat = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  z.looseObject({ type: z.literal('json_object') }),
  z.looseObject({
    type: z.literal('json_schema'),
    json_schema: describedLoose('The schema that the response must match.', {
      name: Identifier.describe('Name: at most 64 letters, digits, `_`, and `-`.'),
      description: z.string().describe('Description for the model.').nullish(),
      schema: z.looseObject({}).describe('The JSON Schema.').optional(),
      strict: z.boolean().nullish().default(false),
    }),
  }),
])

const penalty = z.number().min(-2).max(2).nullish()

/**
 * The body of `POST /v2/router/chat/completions`; unknown fields are kept.
 * @example
 * const messages = [{ role: 'user', content: 'Hello' }]
 * ChatRequest.safeParse({ model: 'openai/gpt-4o', messages }).success // => true
 * ChatRequest.safeParse({ model: 'openai/gpt-4o' }).success // => false
 */
export const ChatRequest = z
  .looseObject({
    messages: z.array(Message).describe('The conversation so far, of at least one message.').meta({ minItems: 1 }),
    model: ModelId,
    metadata: Metadata.nullish(),
    audio: describedLooseOrNull('Voice and format of the audio output. Required if `modalities` contains `audio`.', {
      voice: z.enum(['alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer']).describe('Voice.'),
      format: z.enum(['wav', 'mp3', 'flac', 'opus', 'pcm16']).describe('Audio format.'),
    }).optional(),
    frequency_penalty: penalty.describe(
      'Positive values reduce the probability of tokens in proportion to their frequency.',
    ),
    presence_penalty: penalty.describe('Positive values reduce the probability of tokens that already occurred.'),
    max_tokens: z
      .int()
      .min(0)
      .nullish()
      .describe('Deprecated: use `max_completion_tokens`. Only Anthropic models accept 0.')
      .meta({ deprecated: true }),
    max_completion_tokens: z
      .int()
      .min(1)
      .nullish()
      .describe('Maximum number of generated tokens, visible and reasoning.'),
    logprobs: z.boolean().nullish().describe('Whether to return the log probability of each token.'),
    top_logprobs: z.int().min(0).max(20).nullish().describe('Requires `logprobs: true`.'),
    n: z.int().min(1).max(128).nullish().describe('Number of choices.').meta({ default: 1 }),
    response_format: ResponseFormat.nullish().describe('Plain text, any JSON object, or JSON that matches a schema.'),
    reasoning_effort: ReasoningEffort.nullish(),
    verbosity: z.string().nullish().describe('Lower levels give shorter responses.'),
    seed: ModelSeed.nullish().describe('The same seed and request give the same response if the model supports it.'),
    stop: z
      .union([z.string(), z.array(z.string()).max(4)])
      .nullish()
      .describe('Up to 4 sequences that end the response.'),
    stream_options: StreamOptions,
    thinking: Thinking.nullish(),
    temperature: z
      .number()
      .min(0)
      .max(2)
      .nullish()
      .describe('Sampling temperature. Higher values give more varied output.'),
    top_p: z.number().min(0).max(1).nullish().describe('Nucleus sampling: total probability of the tokens considered.'),
    top_k: z.int().min(0).nullish().describe('Number of tokens considered.'),
    tools: z.array(Tool).nullish().describe('Functions that the model can call.'),
    tool_choice: ToolChoice.nullish().describe(
      'Tool use: none, automatic, required, a specific tool, or one of a set of tools.',
    ),
    functions: z
      .array(FunctionTool)
      .nullish()
      .describe('Legacy form of `tools`. The response then has a `function_call`.')
      .meta({ deprecated: true }),
    function_call: z
      .union([z.enum(['none', 'auto']), z.looseObject({ name: z.string().describe('Name of the function.') })])
      .nullish()
      .describe('The choice of one of the `functions`.')
      .meta({ deprecated: true }),
    parallel_tool_calls: z.boolean().nullish().describe('Whether the model may call several tools at once.'),
    modalities: z
      .array(z.enum(['text', 'audio']))
      .nullish()
      .describe('Output modalities.')
      .meta({ default: ['text'] }),
    guardrails: Guardrails.nullish(),
    ...Routing,
    ...promptFields('the messages'),
    svc: PromptServiceOptions.nullish(),
    stream: z.boolean().nullish().default(false).describe('Whether to stream the response as server-sent events.'),
  })
  .check(rules.chat)
export type ChatRequest = z.infer<typeof ChatRequest>
