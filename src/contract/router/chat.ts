// Responses of chat completions on the wire, whole and as chunks, and their parts that legacy completions share.
import { z } from 'zod'
import { describedList, describedObject } from '../core/described.ts'
import { FinishReason } from './script.ts'

const integer = z.int().min(0)
/** Token counts of a chat or legacy completion. */
export const Usage = z.object({
  completion_tokens: integer.describe('Output tokens.'),
  prompt_tokens: integer.describe('Tokens of the request.'),
  total_tokens: integer,
  prompt_tokens_details: describedObject('Breakdown of the input tokens.', {
    cached_tokens: integer.describe('Input tokens read from the prompt cache.'),
    cache_creation_tokens: integer.describe('Input tokens written to the prompt cache.'),
    audio_tokens: integer.describe('Audio tokens.'),
  }),
  completion_tokens_details: describedObject('Breakdown of the output tokens.', {
    reasoning_tokens: integer.describe('Tokens of reasoning.'),
    accepted_prediction_tokens: integer.describe('Accepted prediction tokens. Always 0.'),
    rejected_prediction_tokens: integer.describe('Rejected prediction tokens. Always 0.'),
    audio_tokens: integer.describe('Audio tokens.'),
  }),
})
export type Usage = z.infer<typeof Usage>

const AlternativeLogprob = z.object({
  token: z.string().describe('Text of the token.'),
  logprob: z.number().describe('Its log probability; 0 is certain.'),
  bytes: z.array(z.int()).describe('UTF-8 bytes of the token.').nullable(),
})
/** The log probability of one token, and of the likeliest alternatives. */
export const TokenLogprob = AlternativeLogprob.extend({
  top_logprobs: z.array(AlternativeLogprob).describe('The most likely tokens at this position, up to `top_logprobs`.'),
})
export type TokenLogprob = z.infer<typeof TokenLogprob>
const Logprobs = z.object({
  content: z.array(TokenLogprob).describe('One entry for each token of the text.').nullable(),
  refusal: z.array(TokenLogprob).describe('One entry for each token of the refusal.').nullable(),
})

const thought_signature = z
  .string()
  .optional()
  .describe('Send it back with the call in a later request. Only for models that sign their reasoning.')
const redacted_reasoning = z
  .string()
  .optional()
  .describe('Encrypted reasoning. Send it back unchanged in a later call.')
/** A call of a function in a response. */
export const CalledFunction = z.object({
  name: z.string().describe('Name of the function, as the request has it.'),
  arguments: z.string().describe('The arguments as JSON text, which can be invalid. In a stream, the next fragment.'),
})
/** A call of a custom tool in a response. */
export const CalledCustomTool = z.object({
  name: z.string().describe('Name of the tool, as the request has it.'),
  input: z.string().describe('Input text of the tool. In a stream, the next fragment.'),
})
/** The legacy form of a call of a function. */
export const OlderFunctionCall = z.object({
  name: z.string().describe('Name of the function.'),
  arguments: z.string().describe('The arguments as JSON text.'),
})
const toolIndex = integer.describe('Index of the tool call, from 0.')
/** The id of a tool call. */
export const ToolCallId = z
  .string()
  .describe('Id of the call. The message with its result refers to it as `tool_call_id`.')
const AnswerToolCall = z.discriminatedUnion('type', [
  z.object({
    index: toolIndex.optional(),
    id: ToolCallId,
    type: z.literal('function').describe('Whether the call is to a function or a custom tool.'),
    function: CalledFunction.describe('The called function.'),
    thought_signature,
  }),
  z.object({
    index: toolIndex.optional(),
    id: ToolCallId,
    type: z.literal('custom').describe('Whether the call is to a function or a custom tool.'),
    custom: CalledCustomTool.describe('The called custom tool.'),
  }),
])
/** One tool call in a response. */
export type AnswerToolCall = z.infer<typeof AnswerToolCall>
const finishReason = FinishReason.describe(
  'Why the choice ended: `stop` (natural end or stop sequence), `length` (token limit), `tool_calls` (tools to call), or `content_filter` (blocked by the provider). Null in a stream until the end.',
)
const frame = {
  created: z.int().describe('Creation time, in seconds since the Unix epoch.'),
  model: z.string().describe('The model that responded, as `<provider>/<model>`. It can be a fallback.'),
  system_fingerprint: z.string().describe('Fingerprint of the backend configuration. The same for the same model.'),
}

/** The whole response. */
export const ChatCompletion = z.object({
  id: z.string().describe('Id of the response, with the prefix `chatcmpl-`.'),
  ...frame,
  object: z.literal('chat.completion'),
  choices: describedList('The `n` choices, ordered by `index`.', {
    index: integer.describe('Index of the choice, from 0.'),
    finish_reason: finishReason,
    message: describedObject('The response.', {
      role: z.literal('assistant'),
      content: z.string().describe('The text. Null if the response contains tool calls instead.').nullable(),
      refusal: z.string().describe('The refusal of the model, instead of a text.').nullable(),
      reasoning: z.string().describe('Reasoning text of the model.').optional(),
      reasoning_signature: z.string().optional().describe('Send it back with the reasoning in a later call.'),
      redacted_reasoning,
      tool_calls: z
        .array(AnswerToolCall)
        .describe('The tool calls. Return the results in messages with the role `tool`.')
        .optional(),
      function_call: OlderFunctionCall.optional().describe('Replaces `tool_calls` if the request had `functions`.'),
      audio: describedObject('The audio response. Only if `modalities` contains `audio`.', {
        id: z.string().describe('Id of the audio response. A later message can refer to it.'),
        expires_at: z.int().describe('Unix time in seconds.'),
        data: z.string().describe('The audio in the requested format, in base64.'),
        transcript: z.string().describe('The transcribed text.'),
      }).optional(),
    }),
    logprobs: Logprobs.describe('Log probabilities of the tokens. Only with `logprobs`.').nullable(),
  }),
  usage: Usage,
})
export type ChatCompletion = z.infer<typeof ChatCompletion>

/** One chunk of a streamed response. */
export const ChatChunk = z.object({
  id: z.string().describe('Id of the response. The same in all of its chunks.'),
  ...frame,
  object: z.literal('chat.completion.chunk'),
  choices: describedList('The `n` choices, ordered by `index`.', {
    index: integer.describe('Index of the choice, from 0.'),
    finish_reason: finishReason.nullable(),
    delta: describedObject('The new content since the last chunk.', {
      role: z.literal('assistant').describe('Role of the author. Only in the first chunk.').optional(),
      content: z.string().describe('The next fragment of the text.').nullish(),
      refusal: z.string().describe('The next fragment of the refusal.').nullish(),
      reasoning: z.string().describe('The next fragment of the reasoning.').optional(),
      reasoning_signature: z
        .string()
        .describe("The provider's signature of the reasoning. Send it back unchanged.")
        .optional(),
      redacted_reasoning,
      audio: describedObject('The next fragment of the audio.', {
        id: z.string().describe('Id of the audio response. A later message can refer to it.'),
        expires_at: z.int().describe('Expiry of the id, in seconds since the Unix epoch.').optional(),
        data: z.string().describe('The audio in base64, in the requested format.').optional(),
        transcript: z.string().describe('The transcribed text.').optional(),
      }).optional(),
      tool_calls: describedList('Fragments of the tool calls, by `index`.', {
        index: toolIndex,
        id: ToolCallId.optional(),
        type: z.enum(['function', 'custom']).describe('Whether the call is to a function or a custom tool.').optional(),
        function: CalledFunction.partial({ name: true }).describe('The called function.').optional(),
        thought_signature,
        custom: CalledCustomTool.partial({ name: true }).describe('The called custom tool.').optional(),
      }).optional(),
      function_call: OlderFunctionCall.partial({ name: true })
        .describe('A fragment of the call, in the legacy format with `functions`.')
        .optional(),
    }),
    logprobs: Logprobs.describe('Log probabilities of the tokens. Only with `logprobs`.').nullable(),
  }),
  usage: Usage.nullish(),
})
export type ChatChunk = z.infer<typeof ChatChunk>
