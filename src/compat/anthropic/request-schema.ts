// The request schemas of Anthropic's Messages API.
import { z } from 'zod'
import { describedLooseOrNull } from '../../contract/core/described.ts'
import { Thinking } from '../../contract/router/shared.ts'

/** Block types that provider tools, and the provider itself, add to an assistant's turn. They are accepted and ignored. */
export const HOSTED_BLOCKS = [
  'server_tool_use',
  'web_search_tool_result',
  'web_fetch_tool_result',
  'advisor_tool_result',
  'code_execution_tool_result',
  'bash_code_execution_tool_result',
  'text_editor_code_execution_tool_result',
  'tool_search_tool_result',
  'mcp_tool_use',
  'mcp_tool_result',
  'mcp_tool_listing',
  'container_upload',
  'compaction',
  'fallback',
] as const

/** A text, or blocks. */
const textOr = <Block extends z.ZodType>(block: Block) => z.union([z.string(), z.array(block)])
/** An object of a type. Further fields are kept. */
const typed = <Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  z.looseObject({ type: z.literal(type), ...shape })

const CacheControl = typed('ephemeral', { ttl: z.enum(['5m', '1h']).describe('Lifetime.').optional() })
  .nullish()
  .describe('Marks the content up to here for the prompt cache.')
const Cached = { cache_control: CacheControl }
const TextBlock = typed('text', { text: z.string().describe('The text.'), ...Cached })
const Base64 = typed('base64', {
  media_type: z.string().describe('Such as `image/png`.'),
  data: z.string().describe('The file in base64.'),
})
const Url = typed('url', { url: z.string().describe('URL.') })
const fileId = z.string().describe('The id of an uploaded file.')
const UploadedFile = typed('file', { file_id: fileId })
const ImageBlock = typed('image', {
  source: z.discriminatedUnion('type', [Base64, Url, UploadedFile]).describe('The image, its URL, or its file.'),
  ...Cached,
})
const SearchResultBlock = typed('search_result', {
  source: z.string().describe('URL or name of the source.'),
  title: z.string().describe('Title.'),
  content: z.array(TextBlock).describe('The texts that were found.'),
  ...Cached,
})
const DocumentBlock = typed('document', {
  source: z
    .discriminatedUnion('type', [
      Base64,
      Url,
      UploadedFile,
      typed('text', { data: z.string().describe('The text.') }),
      typed('content', {
        content: textOr(z.discriminatedUnion('type', [TextBlock, ImageBlock])).describe(
          'The text, or blocks: texts and images.',
        ),
      }),
    ])
    .describe('The document, its URL, or its file.'),
  title: z.string().nullish().describe('Title.'),
  ...Cached,
})
const ResultContent = textOr(
  z.discriminatedUnion('type', [
    TextBlock,
    ImageBlock,
    DocumentBlock,
    SearchResultBlock,
    typed('tool_reference', { tool_name: z.string().describe('Name of a tool that a search found.') }),
  ]),
)
const ToolResultBlock = typed('tool_result', {
  tool_use_id: z.string().describe('Id of the call.'),
  content: ResultContent.optional().describe('Result of the tool.'),
  is_error: z.boolean().optional().describe('Whether the tool failed.'),
  ...Cached,
})
const ToolUseBlock = typed('tool_use', {
  id: z.string().describe('Id of the call.'),
  name: z.string().describe('Name of the tool.'),
  input: z.looseObject({}).describe('Arguments.'),
  ...Cached,
})
const ThinkingBlock = typed('thinking', {
  thinking: z.string().describe('Reasoning text.'),
  signature: z.string().describe("The provider's signature of the reasoning."),
})
const RedactedBlock = typed('redacted_thinking', { data: z.string().describe('Encrypted reasoning.') })
const ContainerUploadBlock = typed('container_upload', { file_id: fileId })
const HostedBlock = z
  .looseObject({ type: z.enum(HOSTED_BLOCKS).describe('Type of a block that the provider added.'), ...Cached })
  .describe('Calls and results of provider tools, accepted as part of the conversation.')
const ToolChangeBlock = z.looseObject({
  type: z.enum(['tool_addition', 'tool_removal']).describe('Type of the change.'),
  ...Cached,
})

const Texts = textOr(TextBlock)
const Message = z.discriminatedUnion('role', [
  z.looseObject({
    role: z.literal('user'),
    content: z
      .union([
        z.string(),
        z
          .array(
            z.discriminatedUnion('type', [
              TextBlock,
              ImageBlock,
              DocumentBlock,
              SearchResultBlock,
              ToolResultBlock,
              ContainerUploadBlock,
            ]),
          )
          .min(1),
      ])
      .describe('A string, or blocks: text, images, documents, search results, uploads, and tool results.'),
  }),
  z.looseObject({
    role: z.literal('assistant'),
    content: textOr(
      z.discriminatedUnion('type', [TextBlock, ToolUseBlock, ThinkingBlock, RedactedBlock, HostedBlock]),
    ).describe('A string, or blocks: text, tool calls, reasoning, and what provider tools added.'),
  }),
  z.looseObject({
    role: z.literal('system'),
    content: textOr(z.discriminatedUnion('type', [TextBlock, ToolChangeBlock]))
      .nullish()
      .describe('System instructions within the conversation. Changes of the tools are accepted, and not applied.'),
  }),
])

const Tool = z
  .looseObject({
    name: z
      .string()
      .regex(/^[a-zA-Z0-9_-]{1,128}$/, { error: 'must be 1 to 128 letters, digits, _ and -' })
      .optional()
      .describe('Name. Toolsets have none.'),
    type: z.string().nullish().describe('Default `custom`. Provider tools are accepted, but never called.'),
    description: z.string().optional().describe('Description.'),
    input_schema: typed('object', {}).optional().describe('JSON Schema of the arguments. Provider tools have none.'),
    ...Cached,
  })
  .refine(({ name, type }) => name !== undefined || type?.includes('toolset'), {
    path: ['name'],
    error: 'is required: it must be a string',
  })
const serial = { disable_parallel_tool_use: z.boolean().optional().describe('Whether to call at most one tool.') }
const ToolChoice = z.discriminatedUnion('type', [
  typed('auto', serial),
  typed('any', serial),
  typed('tool', { name: z.string().describe('Name of the tool.'), ...serial }),
  typed('none', {}),
])
const JsonFormat = typed('json_schema', { schema: z.looseObject({}).describe('JSON Schema of the response.') })

/** Fields of both counts and messages. */
const ASKED = {
  model: z.string().min(1).describe('The model. A name without a provider means an Anthropic model.'),
  messages: z.array(Message).describe('The conversation so far, of at least one message.').meta({ minItems: 1 }),
  system: Texts.nullish().describe('Instructions.'),
  tools: z.array(Tool).nullish().describe('The tools that the model can call.'),
  tool_choice: ToolChoice.nullish().describe('Whether to call a tool, and which.'),
  thinking: Thinking.nullish(),
  output_config: describedLooseOrNull('Output settings.', {
    format: JsonFormat.nullish().describe('Format of the response.'),
    effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).nullish().describe('Reasoning effort.'),
  }).optional(),
}

/** The body of a token count request. */
export const AnthropicCountRequest = z.looseObject(ASKED)

/** The body of a message request. Unknown fields, including those of the router, are kept. */
export const AnthropicRequest = z.looseObject({
  ...ASKED,
  max_tokens: z
    .int()
    .min(0)
    .describe('Maximum number of generated tokens, including reasoning. 0 fills the prompt cache without a response.'),
  stop_sequences: z.array(z.string()).nullish().describe('Sequences that end the response.'),
  stream: z.boolean().nullish().describe('Whether to stream the response as server-sent events.'),
  temperature: z
    .number()
    .min(0)
    .max(1)
    .nullish()
    .describe('Sampling temperature. Higher values give more varied output.'),
  top_p: z.number().min(0).max(1).nullish().describe('Nucleus sampling: total probability of the tokens considered.'),
  top_k: z.int().min(0).nullish().describe('Number of tokens considered.'),
  metadata: z
    .looseObject({ user_id: z.string().nullish().describe('Id of the user.') })
    .nullish()
    .describe('Metadata of the request.'),
})
export type AnthropicRequest = z.infer<typeof AnthropicRequest>
