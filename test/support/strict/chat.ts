// What a generated client that validates everything makes of a chat completion and of its chunks, held
// tighter than any client does: a field that nobody knows is a mistake as well.
import { z } from 'zod'

const text = z.string()
const count = z.int().min(0)
const Finish = z.enum(['stop', 'length', 'tool_calls', 'content_filter', 'function_call'])

const likelihood = { token: text, logprob: z.number().max(0), bytes: z.array(z.int().min(0).max(255)).nullable() }
const Token = z.strictObject({ ...likelihood, top_logprobs: z.array(z.strictObject(likelihood)).max(20) })
const Logprobs = z.strictObject({ content: z.array(Token).nullable(), refusal: z.array(Token).nullable() })

const Usage = z
  .strictObject({
    prompt_tokens: count,
    completion_tokens: count,
    total_tokens: count,
    prompt_tokens_details: z.strictObject({ cached_tokens: count, cache_creation_tokens: count, audio_tokens: count }),
    completion_tokens_details: z.strictObject({
      reasoning_tokens: count,
      accepted_prediction_tokens: count,
      rejected_prediction_tokens: count,
      audio_tokens: count,
    }),
  })
  .refine((usage) => usage.total_tokens === usage.prompt_tokens + usage.completion_tokens, { error: 'the sum' })
  .refine(({ prompt_tokens: prompt, prompt_tokens_details: part }) => prompt >= part.cached_tokens + part.audio_tokens)
  .refine(
    ({ completion_tokens: completion, completion_tokens_details: part }) =>
      completion >= part.reasoning_tokens + part.audio_tokens,
  )

const frame = { id: text.startsWith('chatcmpl-'), created: z.int(), model: text, system_fingerprint: text.nullish() }

const Completion = z.strictObject({
  ...frame,
  object: z.literal('chat.completion'),
  choices: z.array(
    z.strictObject({
      index: count,
      finish_reason: Finish,
      message: z.strictObject({
        role: z.literal('assistant'),
        content: text.nullish(),
        refusal: text.nullish(),
        reasoning: text.nullish(),
        reasoning_signature: text.nullish(),
        redacted_reasoning: text.optional(),
        tool_calls: z
          .array(
            z.strictObject({
              index: count,
              id: text.min(1),
              type: z.literal('function'),
              function: z.strictObject({ name: text.min(1), arguments: text }),
              thought_signature: text.optional(),
            }),
          )
          .min(1)
          .optional(),
        audio: z.strictObject({ id: text, expires_at: z.int(), data: z.base64(), transcript: text }).nullish(),
      }),
      logprobs: Logprobs.nullish(),
    }),
  ),
  usage: Usage,
})
export type StrictCompletion = z.infer<typeof Completion>
export type StrictChoice = StrictCompletion['choices'][number]

const Chunk = z.strictObject({
  ...frame,
  object: z.literal('chat.completion.chunk'),
  choices: z
    .array(
      z.strictObject({
        index: count,
        finish_reason: Finish.nullable(),
        delta: z.strictObject({
          role: z.literal('assistant').optional(),
          content: text.nullish(),
          refusal: text.nullish(),
          reasoning: text.optional(),
          reasoning_signature: text.optional(),
          redacted_reasoning: text.optional(),
          tool_calls: z
            .array(
              z.strictObject({
                index: count,
                id: text.min(1).optional(),
                type: z.literal('function').optional(),
                function: z.strictObject({ name: text.min(1).optional(), arguments: text }),
              }),
            )
            .length(1)
            .optional(),
          audio: z
            .strictObject({
              id: text,
              expires_at: z.int().optional(),
              data: z.base64().optional(),
              transcript: text.optional(),
            })
            .nullish(),
        }),
        logprobs: Logprobs.nullish(),
      }),
    )
    .max(1),
  usage: Usage.nullish(),
})
export type StrictChunk = z.infer<typeof Chunk>

/** The answer as such a client gives it on; throws where the client would. */
export const strictCompletion = (value: unknown): StrictCompletion => Completion.parse(value)
/** The chunk as such a client gives it on; throws where the client would. */
export const strictChunk = (value: unknown): StrictChunk => Chunk.parse(value)
