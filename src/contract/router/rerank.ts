// Reranking on the wire: documents in the order of their relevance to a query, and fixture replies.

import { z } from 'zod'
import { describedList } from '../core/described.ts'
import { Timing } from './script.ts'
import { CallFields, ModelId } from './shared.ts'

const MAX_DOCUMENTS = 1000

/** The body of `POST /v2/router/rerank`; unknown fields are kept. */
export const RerankRequest = z.looseObject({
  query: z.string().min(1).describe('Query.'),
  documents: z
    .array(z.union([z.string(), z.looseObject({ text: z.string().describe('The text.') })]))
    .min(1)
    .max(MAX_DOCUMENTS)
    .describe('Documents to rank: strings, or objects with a `text`.'),
  model: ModelId.meta({ examples: ['cohere/rerank-v3.5'] }),
  top_n: z.int().min(1).nullish().describe('Number of documents to return, best first. Default: all.'),
  return_documents: z.boolean().nullish().describe('Whether to include the text of each document. Default true.'),
  ...CallFields,
})
export type RerankRequest = z.infer<typeof RerankRequest>

/** The response: the best document first. */
export const RerankList = z.object({
  object: z.literal('list'),
  id: z.string().describe('Id of the response.'),
  model: z.string().describe('The model that responded.'),
  results: describedList('The documents, best first.', {
    object: z.literal('rerank'),
    index: z.int().min(0).describe('Index in the request.'),
    relevance_score: z.number().min(0).max(1).describe('Relevance to the query.'),
    document: z
      .object({ text: z.string().describe('Text of the file.') })
      .optional()
      .describe('The document, unless excluded by the request.'),
  }),
  usage: z.object({ prompt_tokens: z.int().min(0).describe('Tokens of the request.'), total_tokens: z.int().min(0) }),
})
export type RerankList = z.infer<typeof RerankList>

/** The `reply` of a reranking fixture. What it omits is computed from the words that texts share. */
export const RerankScript = z.strictObject({
  scores: z
    .array(z.number().min(0).max(1))
    .optional()
    .describe('The score of each document, in the order of the request; the last one repeats.'),
  timing: Timing.optional().describe('How fast the reply comes.'),
})
export type RerankScript = z.infer<typeof RerankScript>
