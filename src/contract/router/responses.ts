// Requests for a model response on the wire: the specification, and what real clients add.
import { z } from 'zod'
import { describedLoose, describedLooseOrNull } from '../core/described.ts'
import { HOSTED_ITEMS } from './hosted-tools.ts'
import { calledTools, chosenNames, Identifier, ResponsesTool, ResponsesToolChoice } from './responses-tools.ts'
import {
  Guardrails,
  Metadata,
  ModelId,
  PromptServiceOptions,
  promptFields,
  ReasoningEffort,
  Routing,
  SamplingFields,
  Thinking,
} from './shared.ts'

const InputText = z.looseObject({ type: z.literal('input_text'), text: z.string().describe('The text of this part.') })
/** The part must have one of these fields. */
const oneOf = <Shape extends z.ZodRawShape>(part: z.ZodObject<Shape, z.core.$loose>, ...fields: string[]) =>
  part.refine((value) => fields.some((field) => (value as Record<string, unknown>)[field] != null), {
    error: `must have one of ${fields.join(', ')}`,
  })
const InputPart = z.discriminatedUnion('type', [
  InputText,
  oneOf(
    z.looseObject({
      type: z.literal('input_image'),
      image_url: z.string().nullish().describe('A URL or a data URL.'),
      file_id: z.string().describe('The id of an uploaded file.').nullish(),
      detail: z.enum(['low', 'high', 'auto', 'original']).nullish().describe('Default `auto`.'),
    }),
    'image_url',
    'file_id',
  ),
  oneOf(
    z.looseObject({
      type: z.literal('input_file'),
      file_data: z.string().describe('The bytes as a data URL or in base64.').nullish(),
      file_id: z.string().describe('The id of an uploaded file.').nullish(),
      file_url: z.string().describe('URL of the file. It is not fetched.').nullish(),
      filename: z.string().describe('Name.').nullish(),
    }),
    'file_data',
    'file_id',
    'file_url',
  ),
])
const AssistantPart = z.discriminatedUnion('type', [
  InputText,
  z.looseObject({ type: z.literal('output_text'), text: z.string().describe('The text of this part.') }),
  z.looseObject({ type: z.literal('refusal'), refusal: z.string().describe('The refusal of the model.') }),
])

const Content = z.union([z.string(), z.array(InputPart)]).describe('The text, or its parts.')
const KIND = 'Type of an item that a provider tool created.'
const earlierId = z.string().describe('The `id` of the item in an earlier response.').nullish()
const earlierStatus = z.string().describe('Status of the item.').nullish()
const message = {
  type: z.literal('message').describe(KIND).optional(),
  id: earlierId,
  status: earlierStatus,
}
const messageOf = <Role extends string>(role: Role) =>
  z.looseObject({ ...message, role: z.literal(role), content: Content })
const toolOutput = {
  call_id: z.string().min(1),
  output: z.union([z.string(), z.array(InputPart)]).describe('Result of the tool: a string or parts.'),
  id: earlierId,
}
const InputMessage = z.discriminatedUnion('role', [
  messageOf('user'),
  messageOf('system'),
  messageOf('developer'),
  z.looseObject({
    ...message,
    role: z.literal('assistant'),
    content: z.union([z.string(), z.array(AssistantPart)]).describe('The text, or its parts.'),
  }),
])
/** A message of the input; its content is a text or a list of parts (the specification, "Create a model response"). */
export type InputMessage = z.infer<typeof InputMessage>
/** One part of a message's content. */
export type MessagePart = Exclude<InputMessage['content'], string>[number]

/** One step of the conversation; a message may come without its `type`. */
export const InputItem = z.discriminatedUnion('type', [
  InputMessage,
  z.looseObject({
    type: z.literal('function_call').describe(KIND),
    call_id: z.string(),
    name: z.string().describe('Name of the tool.'),
    arguments: z.string().describe('The arguments as JSON text.'),
    id: earlierId,
    status: earlierStatus,
  }),
  z.looseObject({ type: z.literal('function_call_output').describe(KIND), ...toolOutput, status: earlierStatus }),
  z.looseObject({
    type: z.literal('reasoning').describe(KIND),
    id: earlierId,
    summary: z
      .array(z.looseObject({ type: z.literal('summary_text'), text: z.string().describe('A part of the summary.') }))
      .describe('Reasoning summary.')
      .nullish(),
    encrypted_content: z.string().describe('Encrypted reasoning. Send it back unchanged.').nullish(),
  }),
  describedLoose('Reference to an item of an earlier stored response.', {
    type: z.literal('item_reference').describe(KIND),
    id: z.string().min(1).describe('The `id` of the item in an earlier response.'),
  }),
  z.looseObject({
    type: z.literal('custom_tool_call').describe(KIND),
    call_id: z.string(),
    name: z.string().describe('Name of the tool.'),
    input: z.string().describe('Input text of the tool.'),
    id: earlierId,
  }),
  z.looseObject({ type: z.literal('custom_tool_call_output').describe(KIND), ...toolOutput }),
  z
    .looseObject({ type: z.enum(HOSTED_ITEMS).describe(KIND) })
    .describe('Steps of hosted tools, accepted as part of the conversation.'),
])
export type InputItem = z.infer<typeof InputItem>

const Format = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text').describe('Type of the format.') }),
  z.looseObject({ type: z.literal('json_object').describe('Type of the format.') }),
  z.looseObject({
    type: z.literal('json_schema').describe('Type of the format.'),
    name: Identifier.describe('Name of the schema.'),
    description: z.string().describe('Description of the schema for the model.').nullish(),
    schema: z.looseObject({}).describe('The JSON Schema that the text must match.'),
    strict: z.boolean().nullish(),
  }),
])

/** The service tiers that a call may request. */
export const ServiceTier = z.enum(['auto', 'default', 'flex', 'scale', 'priority'])
/** What happens to a conversation that exceeds the context window. */
export const Truncation = z.enum(['auto', 'disabled'])
/** Maximum number of tokens with log probabilities at one position. */
export const MAX_TOP_LOGPROBS = 20

const settings = {
  ...SamplingFields,
  reasoning: describedLooseOrNull('Reasoning effort and summary.', {
    effort: ReasoningEffort.nullish(),
    summary: z.enum(['auto', 'concise', 'detailed']).describe('Level of detail of the reasoning summary.').nullish(),
  }).optional(),
  thinking: Thinking.nullish(),
  max_output_tokens: z.int().min(1).nullish().describe('Maximum number of generated tokens, visible and reasoning.'),
  text: describedLooseOrNull('Text format: free text, any JSON object, or JSON that matches a schema.', {
    format: Format.nullable().describe('Free text, JSON, or JSON that matches a schema.').optional(),
    verbosity: z.string().describe('Verbosity of the response.').nullish(),
  }).optional(),
  include: z
    .array(
      z.enum([
        'code_interpreter_call.outputs',
        'computer_call_output.output.image_url',
        'file_search_call.results',
        'message.input_image.image_url',
        'message.output_text.logprobs',
        'reasoning.encrypted_content',
        'web_search_call.results',
        'web_search_call.action.sources',
      ]),
    )
    .nullish()
    .describe('Additional output to include.'),
  top_logprobs: z
    .int()
    .min(0)
    .max(MAX_TOP_LOGPROBS)
    .nullish()
    .describe('Number of most likely tokens to return at each position.'),
  tools: z.array(ResponsesTool).describe('The tools that the model can call.').nullish(),
  tool_choice: ResponsesToolChoice.nullable()
    .describe('Whether the model must call tools, and which.')
    .optional()
    .meta({ default: 'auto' }),
  parallel_tool_calls: z
    .boolean()
    .describe('Whether several tools may be called at once.')
    .nullish()
    .meta({ default: true }),
  truncation: Truncation.nullish()
    .describe('`auto` truncates input that exceeds the context window.')
    .meta({ default: 'disabled' }),
  service_tier: ServiceTier.nullish()
    .meta({ default: 'auto' })
    .describe('The requested service tier. All tiers behave the same.'),
}

/** The body of `POST /v2/router/responses`; unknown fields are kept. */
export const ResponsesRequest = z
  .looseObject({
    model: ModelId,
    input: z.union([z.string(), z.array(InputItem).min(1)]).describe('A string, or the items of a conversation.'),
    instructions: z.string().nullish().describe('System message for this call only.'),
    previous_response_id: z.string().nullish().describe('Id of the stored response to continue.'),
    metadata: Metadata.nullish(),
    ...settings,
    store: z.boolean().nullish().describe('Whether to store the response for later reference.').meta({ default: true }),
    background: z
      .boolean()
      .nullish()
      .describe('Echoed. Responses are never run in the background.')
      .meta({ default: false }),
    user: z.string().describe("The end user's id in your system.").nullish(),
    guardrails: Guardrails.nullish(),
    ...Routing,
    ...promptFields('the instructions and the input'),
    svc: PromptServiceOptions.nullish(),
    stream: z.boolean().nullish().default(false),
  })
  .superRefine(({ tools, tool_choice: choice }, context) => {
    const refuse = (path: (string | number)[], text: string) =>
      context.addIssue({ code: 'custom', path, message: text })
    if (choice === 'required' && !tools?.length) refuse(['tool_choice'], "must be none or auto without 'tools'")
    const names = calledTools(tools).map(({ name }) => name)
    const must = `must be the name of one of the tools (${names.join(', ') || 'there are none'})`
    for (const [index, name] of (chosenNames(choice) ?? []).entries()) {
      if (name === undefined || names.includes(name)) continue
      const allowed = typeof choice === 'object' && choice?.type === 'allowed_tools'
      refuse(allowed ? ['tool_choice', 'tools', index, 'name'] : ['tool_choice', 'name'], must)
    }
  })
export type ResponsesRequest = z.infer<typeof ResponsesRequest>
