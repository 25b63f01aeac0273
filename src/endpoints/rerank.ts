// POST /v2/router/rerank: orders documents by the words that they share with a query.
import { precountTokens } from '../answers/precount-tokens.ts'
import { countCached } from '../answers/text-answer.ts'
import { DIMENSIONS, vectorsOf } from '../answers/vectors.ts'
import type { AttemptContext, CountTokens, Operation, RenderedAnswer } from '../contract/core/operation.ts'
import { RerankList, RerankRequest, RerankScript } from '../contract/router/rerank.ts'
import { cosine, embed } from '../lib/embedding.ts'
import { asObject, objectsIn, sumOf } from '../lib/values.ts'
import { userPrompt, wholeAnswer, wholeOperation } from './common.ts'

/** The operation "Rerank documents", an extension, by the words that query and document share. */
export const rerank: Operation<RerankRequest, RerankScript> = {
  ...wholeOperation,
  name: 'rerank',
  path: '/v2/router/rerank',
  answerName: 'list of documents',
  extension: true,
  summary: 'Rerank documents',
  description:
    'Orders documents by relevance to a query, best first. Relevance is based on shared words, not on meaning.',
  examples: {
    texts: {
      model: 'cohere/rerank-v3.5',
      query: 'How do I reset my password?',
      documents: ['Our offices are closed on Sunday.', 'To reset a password, follow the link.'],
      top_n: 2,
    },
  },
  request: RerankRequest,
  response: RerankList,
  script: RerankScript,
  prompt: ({ query }) => userPrompt(query),
  promptTokens: ({ query }, count = countCached) => count(query),
  compose,
  wrongWith: (value) => (Array.isArray(asObject(value)?.results) ? undefined : "it has no 'results'"),
  scriptOf(answer) {
    const results = objectsIn(asObject(answer)?.results)
    if (results.length === 0) return undefined
    // Documents that the response left out score lowest.
    const scores: number[] = Array.from({ length: Math.max(...results.map(({ index }) => Number(index))) + 1 }, () => 0)
    for (const { index, relevance_score } of results) scores[Number(index)] = Number(relevance_score)
    return RerankScript.safeParse({ scores: [...scores, 0] }).data
  },
}

const DIGITS = 1e6

/** Maximum length, in characters, that is processed on the main thread, which takes some milliseconds. */
const MAX_MAIN_THREAD_LENGTH = 20_000

function compose(
  request: RerankRequest,
  script: RerankScript,
  attempt: AttemptContext,
): RenderedAnswer | Promise<RenderedAnswer> {
  const texts = request.documents.map((document) => (typeof document === 'string' ? document : document.text))
  const length = request.query.length + sumOf(texts, (text) => text.length)
  if (length <= MAX_MAIN_THREAD_LENGTH) return composed({ request, texts }, script, attempt)
  // The tokens and vectors of long documents come from workers.
  return precountTokens((count) => void countAll(request, texts, count), attempt.signal)
    .then(() => (script.scores ? undefined : vectorsOf([request.query, ...texts], attempt)))
    .then((vectors) => composed({ request, texts }, script, { ...attempt, vectors }))
}

const countAll = ({ query }: RerankRequest, texts: readonly string[], count: CountTokens): number =>
  count(query) + sumOf(texts, count)

/** The context of a response; the precomputed vectors are those of the query and of each text. */
type Composing = Pick<AttemptContext, 'answerContext' | 'model'> & { vectors?: readonly Float32Array[] | undefined }

function composed(
  { request, texts }: { request: RerankRequest; texts: readonly string[] },
  { scores }: RerankScript,
  { model, answerContext: { id }, vectors }: Composing,
): RenderedAnswer {
  const { query, top_n: limit, return_documents: withDocuments } = request
  const tokens = countAll(request, texts, countCached)
  const usage = { prompt_tokens: tokens, total_tokens: tokens }
  return wholeAnswer(usage, (): RerankList => {
    const queryVector = vectors?.[0] ?? embed(query, DIMENSIONS)
    const scored = texts.map((text, index) => ({
      object: 'rerank' as const,
      index,
      relevance_score: scores
        ? (scores[Math.min(index, scores.length - 1)] ?? 0)
        : likeness(queryVector, vectors?.[index + 1] ?? embed(text, DIMENSIONS)),
      ...(withDocuments !== false && { document: { text } }),
    }))
    const results = scored.toSorted((one, other) => other.relevance_score - one.relevance_score)
    return { object: 'list', id: `rerank-${id}`, model, results: results.slice(0, limit ?? undefined), usage }
  })
}

/** The cosine of two unit vectors, from 0 to 1. */
const likeness = (queryVector: Float32Array, found: Float32Array): number =>
  Math.round(Math.min(1, Math.max(0, cosine(found, queryVector))) * DIGITS) / DIGITS
