// Answers of chat completions on the wire, whole and as chunks, and what legacy completions share with them.
import { z } from 'zod'
import { FinishReason } from './finish-reason.ts'

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

const AlternativeLogprob = z.object({
  token: z.string(),
  logprob: z.number(),
  bytes: z.array(z.int()).nullable(),
})
/** The log probability of one token, and of the likeliest ones at its place. */
export const TokenLogprob = AlternativeLogprob.extend({ top_logprobs: z.array(AlternativeLogprob) })
export type TokenLogprob = z.infer<typeof TokenLogprob>
const Logprobs = z.object({ content: z.array(TokenLogprob).nullable(), refusal: z.array(TokenLogprob).nullable() })

const thought_signature = z
  .string()
  .optional()
  .describe('Sent back with the call in a later request; of models that sign their thoughts.')
const redacted_reasoning = z
  .string()
  .optional()
  .describe('Reasoning that the provider hides; sent back as it is in a later call.')
const FunctionCall = z.object({ name: z.string(), arguments: z.string() })
const AnswerToolCall = z.discriminatedUnion('type', [
  z.object({
    index: integer.optional(),
    id: z.string(),
    type: z.literal('function'),
    function: FunctionCall,
    thought_signature,
  }),
  z.object({
    index: integer.optional(),
    id: z.string(),
    type: z.literal('custom'),
    custom: z.object({ name: z.string(), input: z.string() }),
  }),
])
/** One call of a tool in an answer. */
export type AnswerToolCall = z.infer<typeof AnswerToolCall>
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
        reasoning_signature: z.string().optional().describe('Sent back with the reasoning in a later call.'),
        redacted_reasoning,
        tool_calls: z.array(AnswerToolCall).optional(),
        function_call: FunctionCall.optional().describe('Instead of `tool_calls` when the call had `functions`.'),
        audio: z
          .object({
            id: z.string(),
            expires_at: z.int().describe('Unix time in seconds.'),
            data: z.string().describe('The sound in the format asked for, as base64.'),
            transcript: z.string(),
          })
          .optional(),
      }),
      logprobs: Logprobs.nullable(),
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
        reasoning_signature: z.string().optional(),
        redacted_reasoning,
        audio: z
          .object({
            id: z.string(),
            expires_at: z.int().optional(),
            data: z.string().optional(),
            transcript: z.string().optional(),
          })
          .optional(),
        tool_calls: z
          .array(
            z.object({
              index: integer,
              id: z.string().optional(),
              type: z.enum(['function', 'custom']).optional(),
              function: z.object({ name: z.string().optional(), arguments: z.string() }).optional(),
              thought_signature,
              custom: z.object({ name: z.string().optional(), input: z.string() }).optional(),
            }),
          )
          .optional(),
        function_call: z.object({ name: z.string().optional(), arguments: z.string() }).optional(),
      }),
      logprobs: Logprobs.nullable(),
    }),
  ),
  usage: Usage.nullish(),
})
export type ChatChunk = z.infer<typeof ChatChunk>
