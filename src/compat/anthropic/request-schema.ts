// What is asked of Anthropic's Messages API.
import { z } from 'zod'
import { Thinking } from '../../contract/router/shared.ts'

const CacheControl = z
  .looseObject({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).describe('For how long.').optional() })
  .nullish()
  .describe('That what comes up to here is worth a place in the prompt cache.')
const Cached = { cache_control: CacheControl }
const TextBlock = z.looseObject({ type: z.literal('text'), text: z.string().describe('The text.'), ...Cached })
const Base64 = z.looseObject({
  type: z.literal('base64'),
  media_type: z.string().describe('Such as `image/png`.'),
  data: z.string().describe('The file in base64.'),
})
const Url = z.looseObject({ type: z.literal('url'), url: z.string().describe('Where it is.') })
const ImageBlock = z.looseObject({
  type: z.literal('image'),
  source: z.discriminatedUnion('type', [Base64, Url]).describe('The picture, or where it is.'),
  ...Cached,
})
const DocumentBlock = z.looseObject({
  type: z.literal('document'),
  source: z
    .discriminatedUnion('type', [
      Base64,
      Url,
      z.looseObject({ type: z.literal('text'), data: z.string().describe('The text.') }),
    ])
    .describe('The document, or where it is.'),
  title: z.string().nullish().describe('What it is called.'),
  ...Cached,
})
const ResultContent = z.union([
  z.string(),
  z.array(z.discriminatedUnion('type', [TextBlock, ImageBlock, DocumentBlock])),
])
const ToolResultBlock = z.looseObject({
  type: z.literal('tool_result'),
  tool_use_id: z.string().describe('Id of the call.'),
  content: ResultContent.optional().describe('What the tool gave.'),
  is_error: z.boolean().optional().describe('Whether the tool failed.'),
  ...Cached,
})
const ToolUseBlock = z.looseObject({
  type: z.literal('tool_use'),
  id: z.string().describe('Id of the call.'),
  name: z.string().describe('Name of the tool.'),
  input: z.looseObject({}).describe('Its arguments.'),
  ...Cached,
})
const ThinkingBlock = z.looseObject({
  type: z.literal('thinking'),
  thinking: z.string().describe('What was thought.'),
  signature: z.string().describe('What the provider knows its thoughts by.'),
})
const RedactedBlock = z.looseObject({
  type: z.literal('redacted_thinking'),
  data: z.string().describe('Thoughts, encrypted.'),
})

const Texts = z.union([z.string(), z.array(TextBlock)])
const Message = z.discriminatedUnion('role', [
  z.looseObject({
    role: z.literal('user'),
    content: z
      .union([
        z.string(),
        z.array(z.discriminatedUnion('type', [TextBlock, ImageBlock, DocumentBlock, ToolResultBlock])).min(1),
      ])
      .describe('A text, or blocks: texts, pictures, documents and results of tools.'),
  }),
  z.looseObject({
    role: z.literal('assistant'),
    content: z
      .union([
        z.string(),
        z.array(z.discriminatedUnion('type', [TextBlock, ToolUseBlock, ThinkingBlock, RedactedBlock])),
      ])
      .describe('A text, or blocks: texts, calls of tools and thoughts.'),
  }),
  z.looseObject({
    role: z.literal('system'),
    content: Texts.describe('Instructions in the middle of a conversation.'),
  }),
])

const Tool = z.looseObject({
  name: z
    .string()
    .regex(/^[a-zA-Z0-9_-]{1,128}$/, { error: 'must be 1 to 128 letters, digits, _ and -' })
    .describe('Its name.'),
  type: z
    .string()
    .nullish()
    .describe('`custom` when left out; tools of the provider are accepted, and never called here.'),
  description: z.string().optional().describe('What it is for.'),
  input_schema: z
    .looseObject({ type: z.literal('object') })
    .optional()
    .describe('JSON Schema of the arguments; tools of the provider have none.'),
  ...Cached,
})
const serial = { disable_parallel_tool_use: z.boolean().optional().describe('Whether one tool may be called at most.') }
const ToolChoice = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('auto'), ...serial }),
  z.looseObject({ type: z.literal('any'), ...serial }),
  z.looseObject({ type: z.literal('tool'), name: z.string().describe('Name of the tool.'), ...serial }),
  z.looseObject({ type: z.literal('none') }),
])
const JsonFormat = z.looseObject({
  type: z.literal('json_schema'),
  schema: z.looseObject({}).describe('JSON Schema of the answer.'),
})

/** What counting and asking have in common. */
const ASKED = {
  model: z.string().min(1).describe("The model; one without a provider is Anthropic's."),
  messages: z.array(Message).min(1).describe('The conversation so far.'),
  system: Texts.nullish().describe('Instructions.'),
  tools: z.array(Tool).nullish().describe('What the model may call.'),
  tool_choice: ToolChoice.nullish().describe('Whether a tool is called, and which.'),
  thinking: Thinking.nullish(),
  output_config: z
    .looseObject({
      format: JsonFormat.nullish().describe('The form of the answer.'),
      effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).nullish().describe('How hard the model thinks.'),
    })
    .nullish()
    .describe('What the answer is to be like.'),
}

/** The body of a request for the tokens of a message. */
export const AnthropicCountRequest = z.looseObject(ASKED)

/** The body of a request for a message; unknown fields, those of the router among them, are kept. */
export const AnthropicRequest = z.looseObject({
  ...ASKED,
  max_tokens: z.int().min(1).describe('Most tokens generated, thoughts included.'),
  stop_sequences: z.array(z.string()).nullish().describe('Texts that end the answer.'),
  stream: z.boolean().nullish().describe('Whether to stream the response as server-sent events.'),
  temperature: z.number().min(0).max(1).nullish().describe('Higher is more varied, lower more focused.'),
  top_p: z.number().min(0).max(1).nullish().describe('Total probability of the tokens considered.'),
  top_k: z.int().min(0).nullish().describe('Number of tokens considered.'),
  metadata: z
    .looseObject({ user_id: z.string().nullish().describe('Who asks.') })
    .nullish()
    .describe('About the request.'),
})
export type AnthropicRequest = z.infer<typeof AnthropicRequest>
