// Embeddings on the wire, and their fixture replies.

import { z } from 'zod'
import { describedList } from '../core/described.ts'
import { textsSchema } from '../core/texts.ts'
import { Timing } from './script.ts'
import { CallFields, ModelId } from './shared.ts'

// More than any current model has; models that are not in the catalog have no limit of their own.
const MAX_VECTOR_LENGTH = 16_384

/** The body of `POST /v2/router/embeddings`; unknown fields are kept. */
export const EmbeddingsRequest = z.looseObject({
  input: textsSchema(1).describe(
    'A string, up to 2048 strings, or their tokens (cl100k or o200k, depending on the model).',
  ),
  model: ModelId.meta({ examples: ['openai/text-embedding-3-small'] }),
  encoding_format: z
    .enum(['float', 'base64'])
    .nullish()
    .describe('float: numbers (the default); base64: 32-bit floats, little-endian.'),
  dimensions: z
    .int()
    .min(1)
    .max(MAX_VECTOR_LENGTH)
    .nullish()
    .describe('Length of the vectors, if the model supports shortening.'),
  user: z.string().nullish().describe('Identifier of the end user.'),
  ...CallFields,
})
export type EmbeddingsRequest = z.infer<typeof EmbeddingsRequest>

/** The response: one vector per input, in the order of the inputs. */
export const EmbeddingList = z.object({
  object: z.literal('list'),
  data: describedList('One vector per input, in the same order.', {
    object: z.literal('embedding'),
    embedding: z
      .union([z.array(z.number()), z.string()])
      .describe('The vector as numbers, or, if requested, as base64 of 32-bit floats.'),
    index: z.int().min(0).describe('Index of the input, from 0.'),
  }),
  model: z.string().describe('The model that responded, as `<provider>/<model>`.'),
  usage: z.object({ prompt_tokens: z.int().min(0).describe('Tokens of the request.'), total_tokens: z.int().min(0) }),
})
export type EmbeddingList = z.infer<typeof EmbeddingList>

const Vector = z.array(z.number()).min(1)
const sources = ['embedding', 'embeddings', 'like'] as const

/** An embeddings reply as a fixture writes it; by default the inputs get their own vectors. */
export const EmbeddingScript = z
  .strictObject({
    embedding: Vector.optional().describe('The vector of every input.'),
    embeddings: z.array(Vector).min(1).optional().describe('One vector per input. The last one repeats.'),
    like: z.string().min(1).optional().describe('All inputs get the vector of this text.'),
    usage: z
      .strictObject({ prompt_tokens: z.int().min(0).describe('Tokens of the request.') })
      .optional()
      .describe('Replaces the counted tokens.'),
    timing: Timing.optional().describe('How fast the reply comes.'),
  })
  .refine((script) => sources.filter((source) => script[source] !== undefined).length <= 1, {
    error: "must have at most one of 'embedding', 'embeddings' and 'like'",
  })
export type EmbeddingScript = z.infer<typeof EmbeddingScript>
