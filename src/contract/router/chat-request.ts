// The request of a chat completion: the specification with what real clients add.
import { z } from 'zod'
import { rules } from '../core/rules.ts'
import { HOSTED_TOOLS } from './hosted-tools.ts'
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

const CacheControl = z
  .looseObject({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).describe('For how long.').default('5m') })
  .nullish()
const TextPart = z.looseObject({
  type: z.literal('text'),
  text: z.string().describe('The text of this part.'),
  cache_control: CacheControl.describe('Asks the provider to remember the request up to here.'),
})
const UserPart = z.discriminatedUnion('type', [
  TextPart,
  z.looseObject({
    type: z.literal('image_url'),
    image_url: z
      .looseObject({
        url: z.string().describe('Its address, or a data URL with its bytes. Nothing is fetched.'),
        detail: z.enum(['low', 'high', 'auto']).describe('How closely the model looks at it.').nullish(),
      })
      .describe('A picture.'),
    cache_control: CacheControl.describe('Asks the provider to remember the request up to here.'),
  }),
  z.looseObject({
    type: z.literal('input_audio'),
    input_audio: z
      .looseObject({
        data: z.string().describe('The sound in base64.'),
        format: z.enum(['mp3', 'wav']).describe('The format of the sound.'),
      })
      .describe('A piece of sound.'),
  }),
  z.looseObject({
    type: z.literal('file'),
    file: z
      .looseObject({
        file_data: z.string().describe('Its bytes as a data URL, or in base64.').nullish(),
        uri: z.string().describe('Address of the file. Nothing is fetched.').nullish(),
        file_id: z.string().describe('The id of an uploaded file.').nullish(),
        mimeType: z.string().describe('Its media type.').nullish(),
        filename: z.string().describe('Its name.').nullish(),
      })
      .refine(rules.hasContent, {
        error: "must have 'file_data' or 'uri'",
      })
      .describe('A file.'),
    cache_control: CacheControl.describe('Asks the provider to remember the request up to here.'),
  }),
])
const AssistantPart = z.discriminatedUnion('type', [
  TextPart,
  z.looseObject({ type: z.literal('refusal'), refusal: z.string().describe('Why the model declined.') }),
  z.looseObject({
    type: z.literal('reasoning'),
    reasoning: z.string().describe('What the model thought.'),
    signature: z.string().describe('The signature of the provider on the reasoning; sent back unchanged.').nullish(),
  }),
  z.looseObject({
    type: z.literal('redacted_reasoning'),
    data: z.string().describe('Reasoning that the provider has hidden; sent back unchanged.'),
  }),
])
const textParts = z.union([z.string(), z.array(TextPart).min(1)])
const texts = textParts.describe('The text, or its parts.')
const speaker = z.string().describe('Tells people of the same role apart; of a function, its name.')
const name = speaker.nullish()
const FunctionCall = z.looseObject({
  name: z.string().describe('Name of the function, as the request has it.').optional(),
  arguments: z
    .string()
    .describe('The arguments as JSON text, which a model may get wrong; in a stream the next piece.')
    .optional(),
})
const OlderCall = z.looseObject({
  name: z.string().describe('Name of the function.').optional(),
  arguments: z.string().describe('The arguments as JSON text.').optional(),
})
const ToolCall = z.discriminatedUnion('type', [
  z.looseObject({
    id: z.string().describe('Names the call; the message with its result has it as `tool_call_id`.'),
    type: z.literal('function').describe('Whether a function or a custom tool is called.').default('function'),
    function: FunctionCall.describe('The function that is called.'),
    thought_signature: z
      .string()
      .describe('The signature of the provider on the thought behind the call; send it back unchanged.')
      .nullish(),
  }),
  z.looseObject({
    id: z.string().describe('Names the call; the message with its result has it as `tool_call_id`.'),
    type: z.literal('custom').describe('Whether a function or a custom tool is called.'),
    custom: z
      .looseObject({
        name: z.string().describe('Name of the tool, as the request has it.'),
        input: z.string().describe('The text for the tool; in a stream the next piece.'),
      })
      .describe('The custom tool that is called.'),
  }),
])

/** One message of the conversation, by role. */
export const Message = z.discriminatedUnion('role', [
  z.looseObject({
    role: z.literal('system'),
    content: texts,
    name,
  }),
  z.looseObject({
    role: z.literal('developer'),
    content: texts,
    name,
  }),
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
    refusal: z.string().describe('Why the model declined, in an earlier answer.').nullish(),
    name,
    audio: z
      .looseObject({ id: z.string().describe('Names the spoken answer, so that a later message can refer to it.') })
      .describe('Refers to a spoken answer.')
      .nullish(),
    tool_calls: z.array(ToolCall).describe('The calls of tools of an earlier answer.').nullish(),
    function_call: OlderCall.nullish().describe('What `tool_calls` was before there were tools.'),
  }),
  z.looseObject({
    role: z.literal('tool'),
    content: texts,
    tool_call_id: z.string().describe('The `id` of the call that this is the result of.').nullable(),
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
  name: Identifier.describe('At most 64 letters, digits, _ and -.'),
  description: z.string().describe('What it does: the model decides by that when to call it.').nullish(),
  parameters: z
    .looseObject({ type: z.literal('object').optional() })
    .nullish()
    .describe('JSON Schema of the arguments, which are an object.'),
  strict: z.boolean().nullish(),
})
const CustomTool = z.looseObject({
  name: Identifier.describe('Its name: at most 64 letters, digits, `_` and `-`.'),
  description: z.string().describe('What it does: the model decides by that when to call it.').nullish(),
  format: z
    .discriminatedUnion('type', [
      z.looseObject({ type: z.literal('text') }),
      z.looseObject({
        type: z.literal('grammar'),
        grammar: z
          .looseObject({
            syntax: z.enum(['lark', 'regex']).describe('The language of the grammar.'),
            definition: z.string().describe('The grammar itself.'),
          })
          .describe('The grammar that the text must follow.'),
      }),
    ])
    .nullish()
    .describe('What the text looks like; free text when left out.'),
})
const Tool = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('function').describe('The kind of tool.').default('function'),
    function: FunctionTool.describe('A function that the model may have called.'),
  }),
  z
    .looseObject({
      type: z.literal('custom').describe('The kind of tool.'),
      custom: CustomTool.describe('A tool that takes a text instead of arguments.'),
    })
    .describe('A tool that takes a text instead of arguments.'),
  z
    .looseObject({ type: z.enum(HOSTED_TOOLS).describe('The kind of tool.') })
    .describe('Accepted; tools of the provider are never called here.'),
])
const Named = z.looseObject({ name: z.string().describe('Its name in `tools`.') })
const NamedFunction = z.looseObject({ function: Named.describe('A function of `tools`.') })
const NamedCustom = z.looseObject({
  type: z.literal('custom').describe('The kind of tool.'),
  custom: Named.describe('A custom tool of `tools`.'),
})
const ToolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  z.looseObject({ function: Named.describe('The function that must be called.') }),
  z.looseObject({ type: z.literal('custom'), custom: Named.describe('The custom tool that must be called.') }),
  z.looseObject({
    type: z.literal('allowed_tools'),
    allowed_tools: z
      .looseObject({
        mode: z.enum(['auto', 'required']).describe('Whether one of them must be called.'),
        tools: z
          .array(
            z.union([
              NamedFunction,
              NamedCustom,
              z.looseObject({ type: z.enum(HOSTED_TOOLS).describe('The kind of tool.') }),
            ]),
          )
          .describe('Which they are.'),
      })
      .describe('The tools that may be called, of all that are offered.'),
  }),
])
const ResponseFormat = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  z.looseObject({ type: z.literal('json_object') }),
  z.looseObject({
    type: z.literal('json_schema'),
    json_schema: z
      .looseObject({
        name: Identifier.describe('Its name: at most 64 letters, digits, `_` and `-`.'),
        description: z.string().describe('What it is for, for the model.').nullish(),
        schema: z.looseObject({}).describe('The JSON Schema itself.').optional(),
        strict: z.boolean().nullish().default(false),
      })
      .describe('The schema that the answer must fit.'),
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
        voice: z.enum(['alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer']).describe('The voice that speaks.'),
        format: z.enum(['wav', 'mp3', 'flac', 'opus', 'pcm16']).describe('The format of the sound.'),
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
      .looseObject({
        include_usage: z.boolean().describe('Whether a last chunk says how many tokens the call took.').nullish(),
      })
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
      .union([z.enum(['none', 'auto']), z.looseObject({ name: z.string().describe('Name of the function.') })])
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
    stream: z.boolean().nullish().default(false).describe('Whether to stream the response as server-sent events.'),
  })
  .check(rules.chat)
export type ChatRequest = z.infer<typeof ChatRequest>
