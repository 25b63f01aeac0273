// What a generated client that validates everything makes of an embeddings answer.
import { z } from 'zod'

const Result = z.object({
  object: z.literal('list'),
  data: z.array(
    z.object({
      object: z.literal('embedding'),
      embedding: z.union([z.array(z.number()), z.string()]),
      index: z.number(),
    }),
  ),
  model: z.string(),
  usage: z.object({ prompt_tokens: z.number(), total_tokens: z.number() }),
})

/** The answer as such a client gives it on; throws where the client would. */
export const strictEmbeddings = (value: unknown) => Result.parse(value)
