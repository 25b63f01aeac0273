// POST /v2/router/embeddings (the specification, "Create embeddings").
import { EmbeddingList, EmbeddingScript, EmbeddingsRequest } from '../contract/embeddings.ts'
import { ApiError } from '../contract/error.ts'
import type { AnswerContext, Operation, RenderedAnswer } from '../contract/operation.ts'
import { embed, shorten } from '../lib/embedding.ts'
import { asList, asObject, objectsIn } from '../lib/values.ts'
import { modelOf } from '../providers/catalogue.ts'
import { type CountedText, inputTextsOf, longestOf, textsPrompt, tokensOf } from './texts.ts'

export const embeddings: Operation<EmbeddingsRequest, EmbeddingScript> = {
  name: 'embeddings',
  path: '/v2/router/embeddings',
  answerName: 'list of embeddings',
  tag: 'Router',
  summary: 'Create embeddings',
  description:
    'Answers each text with a unit vector. Texts that share words and parts of words are near each other, so that retrieval can be tested; meaning beyond spelling is not known.',
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
  body: 'json',
  request: EmbeddingsRequest,
  response: EmbeddingList,
  script: EmbeddingScript,
  model: (request) => request.model,
  streams: () => false,
  prompt: (request) => textsPrompt(readTexts(request)),
  promptTokens: (request) => longestOf(readTexts(request)),
  synthesize: () => ({}),
  compose,
  assemble: () => ({}),
  wrongWith: embeddingsProblem,
  scriptOf: embeddingsScriptOf,
}

/** Why a value is not a list of embeddings, undefined when it is one. */
function embeddingsProblem(value: unknown): string | undefined {
  const data = asList(asObject(value)?.data)
  if (data.length === 0) return "it has no 'data'"
  const wrong = data.map((item) => asObject(item)?.embedding).findIndex((vector) => !isVector(vector))
  return wrong < 0 ? undefined : `data[${wrong}] has no 'embedding'`
}

const isVector = (value: unknown): boolean =>
  typeof value === 'string' ? value !== '' : Array.isArray(value) && value.length > 0 && typeof value[0] === 'number'

const readTexts = ({ input, model }: EmbeddingsRequest): CountedText[] => inputTextsOf({ input, field: 'input', model })

function compose(
  request: EmbeddingsRequest,
  script: EmbeddingScript,
  { model }: AnswerContext & { model: string },
): RenderedAnswer {
  const length = lengthOf(model, request.dimensions ?? undefined)
  const texts = readTexts(request)
  const prompt = script.usage?.prompt_tokens ?? tokensOf(texts)
  const usage = { prompt_tokens: prompt, total_tokens: prompt }
  const vectors = vectorsOf(script, request.dimensions ?? undefined)
  const own = (text: string) => rounded(embed(script.like ?? text, length))
  const encode = request.encoding_format === 'base64' ? base64 : (vector: number[]) => vector
  return {
    usage,
    tokens: 0,
    events: () => [],
    body: (): EmbeddingList => ({
      object: 'list',
      data: texts.map(({ text }, index) => ({
        object: 'embedding',
        embedding: encode(vectors[Math.min(index, vectors.length - 1)] ?? own(text)),
        index,
      })),
      model,
      usage,
    }),
  }
}

const DEFAULT_LENGTH = 1536

/** Length of a model's vectors: its own unless the call asks for a shorter one, which not every model can give. */
function lengthOf(model: string, wanted: number | undefined): number {
  const { dimensions = wanted ?? DEFAULT_LENGTH, shortens = true } = modelOf(model) ?? {}
  if (wanted === undefined || wanted === dimensions) return dimensions
  const refuse = (message: string) =>
    new ApiError(400, 'invalid_value', `'dimensions' ${message}`, { param: 'dimensions' })
  if (!shortens) throw refuse(`must be left out or ${dimensions}: ${model} has no shorter vectors, got ${wanted}`)
  if (wanted > dimensions) throw refuse(`must be at most ${dimensions}, which is what ${model} has, got ${wanted}`)
  return wanted
}

/** The vectors that a fixture gives, cut to the length asked for. */
function vectorsOf({ embedding, embeddings }: EmbeddingScript, wanted: number | undefined): number[][] {
  const given = embeddings ?? (embedding ? [embedding] : [])
  return given.map((vector) =>
    wanted === undefined || wanted >= vector.length ? vector : Array.from(shorten(vector, wanted)),
  )
}

/** Eight digits after the point: all that a 32-bit float of this size knows, in half the JSON. */
const rounded = (vector: Float32Array): number[] => Array.from(vector, (value) => Math.round(value * 1e8) / 1e8)

const base64 = (vector: number[]): string => Buffer.from(Float32Array.from(vector).buffer).toString('base64')

/** The script of an answer: the very vectors. */
function embeddingsScriptOf(answer: unknown): EmbeddingScript | undefined {
  if (embeddingsProblem(answer) !== undefined) return undefined
  const { data, usage } = asObject(answer) ?? {}
  const vectors = objectsIn(data).map(({ embedding }) =>
    typeof embedding === 'string' ? numbersIn(embedding) : embedding,
  )
  const tokens = asObject(usage)?.prompt_tokens
  const counted = EmbeddingScript.safeParse({ usage: { prompt_tokens: tokens } }).data
  const given = vectors.length === 1 ? { embedding: vectors[0] } : { embeddings: vectors }
  return EmbeddingScript.safeParse({ ...given, ...counted }).data
}

function numbersIn(base64: string): number[] {
  const bytes = new Uint8Array(Buffer.from(base64, 'base64'))
  return Array.from(new Float32Array(bytes.buffer, 0, Math.floor(bytes.length / 4)))
}
