// What a generated client that validates everything makes of a legacy completion and of its chunks: the same schema.
import { z } from 'zod'

const Details = z.record(z.string(), z.number().nullish()).nullish()
const Result = z.object({
  id: z.string(),
  choices: z.array(
    z.object({
      finish_reason: z.enum(['stop', 'length', 'content_filter', 'tool_calls']),
      index: z.number(),
      text: z.string(),
    }),
  ),
  created: z.union([z.string(), z.number()]).optional(),
  model: z.string(),
  object: z.string(),
  system_fingerprint: z.string().optional(),
  usage: z
    .object({
      completion_tokens: z.number(),
      prompt_tokens: z.number(),
      total_tokens: z.number(),
      prompt_tokens_details: Details,
      completion_tokens_details: Details,
    })
    .optional(),
})
export type StrictCompletion = z.infer<typeof Result>

/** The answer or chunk as such a client gives it on; throws where the client would. */
export const strictCompletion = (value: unknown): StrictCompletion => Result.parse(value)
