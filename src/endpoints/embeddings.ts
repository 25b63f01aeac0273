// POST /v2/router/embeddings (the specification, "Create embeddings").
import { embedInWorker, isLongWork, type VectorItem } from '../answers/vectors.ts'
import { ApiError } from '../contract/core/error.ts'
import type { AttemptContext, Operation, RenderedAnswer } from '../contract/core/operation.ts'
import { EmbeddingList, EmbeddingScript, EmbeddingsRequest } from '../contract/router/embeddings.ts'
import { answerVector, encodeVector, shorten } from '../lib/embedding.ts'
import { asList, asObject, objectsIn } from '../lib/values.ts'
import { modelOf } from '../providers/catalogue.ts'
import { wholeAnswer, wholeOperation } from './common.ts'
import { type InputText, inputTextsOf, longestTokens, textsPrompt, totalTokens } from './texts.ts'

/** The operation "Create embeddings" of the specification. */
export const embeddings: Operation<EmbeddingsRequest, EmbeddingScript> = {
  ...wholeOperation,
  name: 'embeddings',
  path: '/v2/router/embeddings',
  answerName: 'list of embeddings',
  summary: 'Create embeddings',
  description:
    'Returns a unit vector for each text. Texts that share words or parts of words are close to each other, so that retrieval can be tested. The vectors reflect spelling, not meaning.',
  examples: {
    text: { model: 'openai/text-embedding-3-small', input: 'How do I reset my password?' },
    texts: {
      model: 'openai/text-embedding-3-large',
      input: ['How do I reset my password?', 'I forgot my password'],
      dimensions: 256,
      encoding_format: 'base64',
    },
    tokens: { model: 'openai/text-embedding-3-small', input: [9906, 11, 1917, 0] },
  },
  request: EmbeddingsRequest,
  response: EmbeddingList,
  script: EmbeddingScript,
  prompt: (request) => textsPrompt(readTexts(request)),
  promptTokens: (request, count) => longestTokens(readTexts(request), count),
  compose,
  wrongWith: embeddingsProblem,
  scriptOf: embeddingsScriptOf,
}

/** Why a value is not a list of embeddings; undefined for a valid one. */
function embeddingsProblem(value: unknown): string | undefined {
  const data = asList(asObject(value)?.data)
  if (data.length === 0) return "it has no 'data'"
  const wrong = data.map((item) => asObject(item)?.embedding).findIndex((vector) => !isVector(vector))
  return wrong < 0 ? undefined : `data[${wrong}] has no 'embedding'`
}

const isVector = (value: unknown): boolean =>
  typeof value === 'string' ? value !== '' : Array.isArray(value) && value.length > 0 && typeof value[0] === 'number'

const readTexts = ({ input, model }: EmbeddingsRequest): readonly InputText[] =>
  inputTextsOf({ input, field: 'input', model })

function compose(
  request: EmbeddingsRequest,
  script: EmbeddingScript,
  { model, signal }: AttemptContext,
): RenderedAnswer | Promise<RenderedAnswer> {
  const length = lengthOf(model, request.dimensions ?? undefined)
  const texts = readTexts(request)
  const prompt = script.usage?.prompt_tokens ?? totalTokens(texts)
  const usage = { prompt_tokens: prompt, total_tokens: prompt }
  const vectors = vectorsOf(script, request.dimensions ?? undefined)
  if (vectors.length === 0 && script.like !== undefined) vectors.push(answerVector(script.like, length))
  const encoding = request.encoding_format ?? 'float'
  const own = texts.map(({ text }) => text)
  const rest = { model, usage }
  if (vectors.length === 0 && isLongWork(own)) {
    return embedInWorker(own, { dimensions: length, encoding, signal }).then((items) => ({
      ...answer(rest, () => items.map(({ embedding }) => embedding)),
      text: listJson(rest, items),
    }))
  }
  return answer(rest, () =>
    own.map((text, index) =>
      encodeVector(vectors[Math.min(index, vectors.length - 1)] ?? answerVector(text, length), encoding),
    ),
  )
}

type Rest = Pick<EmbeddingList, 'model' | 'usage'>

const answer = (rest: Rest, embeddings: () => (number[] | string)[]): RenderedAnswer =>
  wholeAnswer(
    rest.usage,
    (): EmbeddingList => ({
      object: 'list',
      data: embeddings().map((embedding, index) => ({ object: 'embedding', embedding, index })),
      ...rest,
    }),
  )

/** The JSON of a response whose vectors are JSON already: serializing millions of numbers takes the most time. */
function listJson(rest: Rest, items: readonly VectorItem[]): string {
  const data = items.map(({ json }, index) => `{"object":"embedding","embedding":${json},"index":${index}}`)
  return `{"object":"list","data":[${data.join(',')}],${JSON.stringify(rest).slice(1)}`
}

const DEFAULT_LENGTH = 1536

/** Length of the vectors: the model's own, or the shorter one that the call requests. Not every model supports that. */
function lengthOf(model: string, requested: number | undefined): number {
  const { dimensions = requested ?? DEFAULT_LENGTH, shortens = true } = modelOf(model) ?? {}
  if (requested === undefined || requested === dimensions) return dimensions
  const invalidDimensions = (message: string) =>
    new ApiError(400, 'invalid_value', `'dimensions' ${message}`, { param: 'dimensions' })
  if (!shortens)
    throw invalidDimensions(`must be left out or ${dimensions}: ${model} has no shorter vectors, got ${requested}`)
  if (requested > dimensions)
    throw invalidDimensions(`must be at most ${dimensions}, which is what ${model} has, got ${requested}`)
  return requested
}

/** The vectors of a fixture, cut to the requested length. */
function vectorsOf({ embedding, embeddings }: EmbeddingScript, requested: number | undefined): number[][] {
  const fixtureVectors = embeddings ?? (embedding ? [embedding] : [])
  return fixtureVectors.map((vector) =>
    requested === undefined || requested >= vector.length ? vector : Array.from(shorten(vector, requested)),
  )
}

/** The script that reproduces a response: its vectors. */
function embeddingsScriptOf(answer: unknown): EmbeddingScript | undefined {
  if (embeddingsProblem(answer) !== undefined) return undefined
  const { data, usage } = asObject(answer) ?? {}
  const vectors = objectsIn(data).map(({ embedding }) =>
    typeof embedding === 'string' ? numbersIn(embedding) : embedding,
  )
  const tokens = asObject(usage)?.prompt_tokens
  const counted = EmbeddingScript.safeParse({ usage: { prompt_tokens: tokens } }).data
  const script = vectors.length === 1 ? { embedding: vectors[0] } : { embeddings: vectors }
  return EmbeddingScript.safeParse({ ...script, ...counted }).data
}

function numbersIn(base64: string): number[] {
  const bytes = new Uint8Array(Buffer.from(base64, 'base64'))
  return Array.from(new Float32Array(bytes.buffer, 0, Math.floor(bytes.length / 4)))
}
