// Embeddings and legacy completions through the clients that people use.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { OpenAI as LangChainOpenAI, OpenAIEmbeddings } from '@langchain/openai'
import { cosineSimilarity, embed, embedMany, generateText, streamText } from 'ai'
import { encode } from 'gpt-tokenizer/encoding/cl100k_base'
import OpenAI, { BadRequestError, NotFoundError } from 'openai'
import { encodeTokens } from '../../src/lib/tokens.ts'
import { serveHere } from '../support/cli.ts'
import { emptyFolder, type Server } from '../support/server.ts'

const SMALL = 'openai/text-embedding-3-small'
const INSTRUCT = 'openai/gpt-3.5-turbo-instruct'
const DOCUMENTS = [
  'Passwords can be reset from the sign-in page.',
  'Orders over 50 euros are shipped free of charge.',
  'Invoices can be downloaded as PDF under Billing.',
]
const QUESTION = 'How do I reset my password?'

const folder = emptyFolder()
let server: Server
let baseURL: string
beforeAll(async () => {
  // It writes on the console that texts know no tools.
  globalThis.AI_SDK_LOG_WARNINGS = false
  server = await serveHere(['--db', ':memory:'], { cwd: folder.path })
  baseURL = `${server.url}/v2/router`
})
afterAll(async () => {
  await server.stop()
  folder.remove()
})

const lengthOf = (vector: readonly number[]) => Math.hypot(...vector)
/** Numbers of the documents, the nearest to the question first. */
const ranked = (question: number[], documents: number[][]) =>
  documents
    .map((vector, index) => ({ index, near: cosineSimilarity(question, vector) }))
    .sort((a, b) => b.near - a.near)
    .map(({ index }) => index)

describe('OpenAI SDK for text', () => {
  const client = () => new OpenAI({ baseURL, apiKey: 'any', maxRetries: 0 })

  test('embeds as base64 by default and as numbers on request', async () => {
    const request = { model: SMALL, input: [QUESTION, ...DOCUMENTS] }
    const decoded = await client().embeddings.create(request)
    const plain = await client().embeddings.create({ ...request, encoding_format: 'float' })
    expect(decoded.data.map(({ index }) => index)).toEqual([0, 1, 2, 3])
    expect(decoded.usage).toEqual(plain.usage)
    for (const [at, { embedding }] of decoded.data.entries()) {
      expect(embedding).toHaveLength(1536)
      expect(lengthOf(embedding)).toBeCloseTo(1, 5)
      expect(embedding).toEqual((plain.data[at]?.embedding ?? []).map(Math.fround))
    }
    const [question = [], ...documents] = decoded.data.map(({ embedding }) => embedding)
    expect(ranked(question, documents)[0]).toBe(0)
  })

  test('embeds tokens like their text, shortened', async () => {
    const request = { model: SMALL, dimensions: 64, encoding_format: 'float' as const }
    const { data } = await client().embeddings.create({ ...request, input: [encode(QUESTION), encode('x')] })
    const [text] = (await client().embeddings.create({ ...request, input: QUESTION })).data
    expect(data[0]?.embedding).toEqual(text?.embedding as number[])
    expect(text?.embedding).toHaveLength(64)
  })

  test('completes whole and streamed', async () => {
    const request = { model: INSTRUCT, prompt: ['Roses are', 'Violets are'], n: 2, max_tokens: 40, echo: true }
    const whole = await client().completions.create(request)
    expect(whole).toMatchObject({ object: 'text_completion', model: INSTRUCT })
    expect(whole.choices.map(({ text }) => text.split(' ', 2).join(' '))).toEqual([
      'Roses are',
      'Roses are',
      'Violets are',
      'Violets are',
    ])
    const stream = await client().completions.create({
      ...request,
      stream: true,
      stream_options: { include_usage: true },
    })
    const texts: string[] = []
    const reasons: string[] = []
    let usage: unknown
    for await (const chunk of stream) {
      for (const { index, text, finish_reason } of chunk.choices) {
        texts[index] = (texts[index] ?? '') + text
        reasons[index] = finish_reason
      }
      usage = chunk.usage ?? usage
    }
    expect(texts).toEqual(whole.choices.map(({ text }) => text))
    expect(reasons).toEqual(whole.choices.map((choice) => choice.finish_reason))
    expect(usage).toEqual(whole.usage)
  })

  test('throws its own error classes for mistakes', async () => {
    const errorOf = (call: PromiseLike<unknown>) =>
      call.then(
        () => undefined,
        (error: unknown) => error,
      )
    const { embeddings, completions } = client()
    const tooLong = await errorOf(embeddings.create({ model: SMALL, input: QUESTION, dimensions: 4000 }))
    expect(tooLong).toMatchObject({ status: 400, param: 'dimensions', message: expect.stringContaining('1536') })
    const request = { model: INSTRUCT, prompt: 'x' }
    expect(await errorOf(completions.create({ ...request, n: 0 }))).toBeInstanceOf(BadRequestError)
    expect(await errorOf(completions.create({ ...request, model: 'nobody/x' }))).toBeInstanceOf(NotFoundError)
  })
})

describe('Vercel AI SDK for text', () => {
  const provider = () => createOpenAICompatible({ name: 'understudy', baseURL, apiKey: 'any', includeUsage: true })

  test('returns vectors with embedMany and embed that find the right document', async () => {
    const model = provider().embeddingModel(SMALL)
    const { embeddings, usage, values } = await embedMany({ model, values: DOCUMENTS })
    expect(values).toEqual(DOCUMENTS)
    expect(embeddings.map((vector) => vector.length)).toEqual([1536, 1536, 1536])
    expect(usage.tokens).toBe(DOCUMENTS.flatMap(encodeTokens).length)
    const question = await embed({ model, value: QUESTION })
    expect(ranked(question.embedding, embeddings)[0]).toBe(0)
  })

  test('splits long lists into calls with embedMany and keeps their order', async () => {
    const values = Array.from({ length: 2100 }, (_, index) => `document ${index}`)
    const options = { understudy: { dimensions: 4 } }
    const model = provider().embeddingModel(SMALL)
    const { embeddings } = await embedMany({ model, values, providerOptions: options })
    const last = await embed({ model, value: 'document 2099', providerOptions: options })
    expect(embeddings).toHaveLength(2100)
    expect(embeddings.at(-1)).toEqual(last.embedding)
  })

  test('completes whole and streamed, with the finish reason and usage', async () => {
    const model = provider().completionModel(INSTRUCT)
    const request = { model, prompt: 'Tell me of roses', maxOutputTokens: 5, maxRetries: 0 }
    const whole = await generateText(request)
    expect(whole.finishReason).toBe('length')
    expect(whole.usage).toMatchObject({ outputTokens: 5 })
    const streamed = streamText(request)
    expect(await streamed.text).toBe(whole.text)
    expect(await streamed.finishReason).toBe('length')
    expect(await streamed.usage).toMatchObject({
      inputTokens: whole.usage.inputTokens,
      outputTokens: 5,
    })
  })
})

describe('LangChain for text', () => {
  const common = () => ({ apiKey: 'any', configuration: { baseURL }, maxRetries: 0 })

  test('embeds documents and queries with OpenAIEmbeddings', async () => {
    const model = new OpenAIEmbeddings({ ...common(), model: SMALL, dimensions: 256 })
    const vectors = await model.embedDocuments(DOCUMENTS)
    expect(vectors.map((vector) => vector.length)).toEqual([256, 256, 256])
    expect(ranked(await model.embedQuery(QUESTION), vectors)[0]).toBe(0)
  })

  test('completes whole and streamed with OpenAI', async () => {
    const model = new LangChainOpenAI({ ...common(), model: INSTRUCT, maxTokens: 12 })
    const whole = await model.invoke('Tell me of roses')
    expect(encodeTokens(whole)).toHaveLength(12)
    let streamed = ''
    for await (const piece of await model.stream('Tell me of roses')) streamed += piece
    expect(streamed).toBe(whole)
  })
})
