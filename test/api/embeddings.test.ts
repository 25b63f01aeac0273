// POST /v2/router/embeddings: requests, responses and errors.
import { afterAll, expect } from 'bun:test'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { encode } from 'gpt-tokenizer/encoding/cl100k_base'
import { countTokens, VOCABULARIES } from '../../src/lib/tokens.ts'
import { createTestApp, type TestApp } from '../support/app.ts'
import { notOf, oneOf, routingFields, routingMistakes } from '../support/arbitrary.ts'
import { property, runs, test } from '../support/property.ts'
import { strictEmbeddings } from '../support/strict/embeddings.ts'

const PATH = '/v2/router/embeddings'
const SMALL = 'openai/text-embedding-3-small'
const app = createTestApp()
afterAll(app.close)

/** The answer to a request that is good, as a strict client reads it. */
async function embeddings(body: object, on: TestApp = app) {
  const answer = await on.post(PATH, { model: SMALL, input: 'Hello', ...body })
  expect(answer.text.slice(0, 200)).toStartWith('{"object":"list"')
  expect(answer.status).toBe(200)
  return strictEmbeddings(answer.json())
}
const vectors = async (body: object, on?: TestApp) =>
  (await embeddings(body, on)).data.map(({ embedding }) => embedding as number[])
const length = (vector: readonly number[]) => Math.hypot(...vector)

test.each([
  ['a text', 'Hello', 1],
  ['texts', ['Hello', 'Good day', 'Hello'], 3],
  ['tokens', encode('Hello'), 1],
  ['arrays of tokens', [encode('Hello'), encode('Good day')], 2],
  ['as many texts as there may be', Array<string>(2048).fill('Hello'), 2048],
])('embeddings: return one vector each for %s', async (_, input, count) => {
  const { data, usage, model } = await embeddings({ input, dimensions: 8 })
  expect(data.map(({ index }) => index)).toEqual(Array.from({ length: count }, (_, index) => index))
  const [hello] = await vectors({ input: 'Hello', dimensions: 8 })
  expect(data[0]?.embedding).toEqual(hello as number[])
  const tokens = [input]
    .flat(2)
    .reduce<number>((sum, item) => sum + (typeof item === 'string' ? countTokens(item) : 1), 0)
  expect(usage).toEqual({ prompt_tokens: tokens, total_tokens: tokens })
  expect(model).toBe(SMALL)
})

test.each([
  [SMALL, 1536],
  ['openai/text-embedding-3-large', 3072],
  ['openai/text-embedding-ada-002', 1536],
  ['google/text-embedding-004', 768],
  ['mistral/mistral-embed', 1024],
  ['ollama/anything', 1536],
])('embedding of %s: has %d dimensions', async (model, dimensions) => {
  const [vector = []] = await vectors({ model })
  expect(vector).toHaveLength(dimensions)
  expect(length(vector)).toBeCloseTo(1, 5)
  expect((await vectors({ model, dimensions }))[0]).toEqual(vector)
})

test('embedding: is shortened by dimensions and normalized to unit length', async () => {
  const [long = []] = await vectors({})
  const [short = []] = await vectors({ dimensions: 100 })
  const begin = long.slice(0, 100)
  expect(short).toHaveLength(100)
  expect(length(short)).toBeCloseTo(1, 5)
  for (const [at, value] of begin.entries()) expect(short[at]).toBeCloseTo(value / length(begin), 5)
})

test('embedding as base64: contains the same numbers as little-endian 32-bit floats', async () => {
  const [floats = []] = await vectors({})
  const { data } = await embeddings({ encoding_format: 'base64' })
  const bytes = Buffer.from(data[0]?.embedding as string, 'base64')
  expect(bytes).toHaveLength(4 * 1536)
  expect(floats.map((_, at) => bytes.readFloatLE(at * 4))).toEqual(floats.map(Math.fround))
})

test('embedding trace: names the call, its usage and its cost', async () => {
  const body = {
    model: SMALL,
    input: ['one two', 'three'],
    name: 'index',
    metadata: { tier: 'x' },
    identity: { id: 'u' },
  }
  const trace = await app.traceOf(await app.post(PATH, body))
  expect(trace).toMatchObject({
    operation: 'embeddings',
    name: 'index',
    model: SMALL,
    stream: false,
    usage: { prompt_tokens: 3, total_tokens: 3 },
    cost: 6e-8,
    metadata: { tier: 'x' },
    identity: { id: 'u' },
    generated: true,
  })
})

test.each<[what: string, body: object, param: string, said: string[]]>([
  ['missing input', { input: undefined }, 'input', ['must be a string']],
  ['an empty text', { input: '' }, 'input', ['at least 1 character']],
  ['an empty list', { input: [] }, 'input', ['at least 1 item']],
  ['an empty text among others', { input: ['a', ''] }, 'input[1]', ['at least 1 character']],
  ['an empty array of tokens', { input: [[1], []] }, 'input[1]', ['at least 1 token']],
  ['too many texts', { input: Array<string>(2049).fill('a') }, 'input', ['at most 2048']],
  ['a token that no model has', { input: [1, 199_998] }, 'input[1]', ['0 to 199997', '199998']],
  ['a token of newer models', { input: [1, 100_256] }, 'input[1]', ['cl100k', SMALL, '0 to 100255', '100256']],
  ['a token of newer models in an array', { input: [[1], [2, 100_256]] }, 'input[1][1]', ['cl100k', '100256']],
  ['a token that does not exist in an array', { input: [[1], [2, -1]] }, 'input[1][1]', ['0 to 199997', '-1']],
  ['a fractional token', { input: [1, 0.5] }, 'input[1]', ['0.5']],
  ['texts and tokens', { input: ['a', 1] }, 'input[1]', ['must be a string']],
  ['arrays of tokens and texts', { input: [[1], 'a'] }, 'input[1]', ['array of tokens']],
  ['objects', { input: [{}] }, 'input[0]', ['must be a string or an array of tokens']],
  ['more dimensions than the model has', { dimensions: 1537 }, 'dimensions', ['at most 1536', '1537']],
  [
    'dimensions for a model with a fixed length',
    { model: 'mistral/mistral-embed', dimensions: 512 },
    'dimensions',
    ['1024'],
  ],
  ['dimensions of 0', { dimensions: 0 }, 'dimensions', ['at least 1']],
  ['dimensions out of range', { model: 'ollama/x', dimensions: 1e9 }, 'dimensions', ['at most 16384']],
  ['an unknown encoding', { encoding_format: 'int8' }, 'encoding_format', ['"float"', '"base64"', '"int8"']],
])('embeddings: reject %s', async (_, body, param, said) => {
  const answer = await app.post(PATH, { model: SMALL, input: 'Hello', ...body })
  const { error } = answer.json() as { error: { param: string; message: string } }
  expect([answer.status, error.param]).toEqual([400, param])
  for (const words of said) expect(error.message).toContain(words)
})

test('embedding context window: applies to each text by itself', async () => {
  const long = 'word '.repeat(5_000)
  expect((await embeddings({ input: [long, long], dimensions: 8 })).usage.prompt_tokens).toBeGreaterThan(8_192)
  const answer = await app.post(PATH, { model: SMALL, input: ['short', long + long] })
  expect([answer.status, (answer.json().error as { code: string }).code]).toEqual([400, 'context_length_exceeded'])
})

test('embedding fixture: supplies vectors, or the text to embed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'understudy-'))
  const rows = [
    { match: { user: 'one' }, reply: { embedding: [3, 4] } },
    { match: { user: 'a\nb\nc' }, reply: { embeddings: [[1, 0], [0, 1]], usage: { prompt_tokens: 7 } } }, // biome-ignore format: two vectors
    { match: { user: 'car' }, reply: { like: 'automobile', timing: { first_token: '2s' } } },
  ].map((row) => ({ ...row, match: { operation: 'embeddings', ...row.match } }))
  const file = join(folder, 'vectors.json')
  writeFileSync(file, JSON.stringify(rows))
  const scripted = createTestApp({ fixtures: [file] })
  expect(await vectors({ input: 'one' }, scripted)).toEqual([[3, 4]])
  expect(await vectors({ input: 'one', dimensions: 1 }, scripted)).toEqual([[1]])
  const { data, usage } = await embeddings({ input: ['a', 'b', 'c'] }, scripted)
  expect(data.map(({ embedding }) => embedding)).toEqual([[1, 0], [0, 1], [0, 1]]) // biome-ignore format: three vectors
  expect(usage).toEqual({ prompt_tokens: 7, total_tokens: 7 })
  expect(await vectors({ input: 'car' }, scripted)).toEqual(await vectors({ input: 'automobile' }))
  const late = await scripted.post(PATH, { model: SMALL, input: 'car' })
  expect((await scripted.traceOf(late)).duration_ms).toBe(2_000)
  await scripted.close()
})

const text = fc.string({ minLength: 1, unit: 'grapheme' })
const tokens = fc.array(fc.nat(VOCABULARIES.cl100k - 1), { minLength: 1, maxLength: 20 })
const valid = fc.record(
  {
    input: fc.oneof(
      text,
      tokens,
      fc.array(text, { minLength: 1, maxLength: 5 }),
      fc.array(tokens, { minLength: 1, maxLength: 5 }),
    ),
    model: fc.constantFrom(SMALL, 'openai/text-embedding-3-large', 'ollama/x'),
    dimensions: fc.option(fc.integer({ min: 1, max: 1536 })),
    encoding_format: fc.option(fc.constantFrom('float', 'base64')),
    user: fc.option(fc.string()),
    ...routingFields,
  },
  { requiredKeys: ['input', 'model'] },
)

property('property: any valid embedding request gets a valid response', async () => {
  await fc.assert(
    fc.asyncProperty(valid, async (body) => {
      const { data, usage } = await embeddings(body)
      const { input, encoding_format: encoding, dimensions } = body
      const several = Array.isArray(input) && typeof input[0] !== 'number'
      expect(data).toHaveLength(several ? input.length : 1)
      expect(usage.prompt_tokens).toBe(usage.total_tokens)
      for (const { embedding } of data) {
        const numbers =
          encoding === 'base64'
            ? new Float32Array(Buffer.from(embedding as string, 'base64').buffer)
            : (embedding as number[])
        expect(length([...numbers])).toBeCloseTo(1, 4)
        expect(numbers.length).toBe(dimensions ?? (body.model.endsWith('large') ? 3072 : 1536))
      }
    }),
    { numRuns: runs(100) },
  )
})

const mistakes = oneOf({
  ...routingMistakes,
  input: fc.oneof(notOf('string', 'array'), fc.constantFrom('', [], [''], [[]], [true], [-1])),
  dimensions: fc.oneof(notOf('number'), fc.constantFrom(0, -1, 1.5, 1e9)),
  encoding_format: fc.oneof(notOf('string'), fc.constant('int8')),
  user: notOf('string'),
})

property('property: any invalid field of an embedding request is rejected by name', async () => {
  await fc.assert(
    fc.asyncProperty(valid, mistakes, async (body, [field, wrong]) => {
      const answer = await app.post(PATH, { ...body, [field]: wrong })
      expect(answer.status).toBe(400)
      expect((answer.json().error as { param: string }).param).toMatch(new RegExp(`^${field}\\b`))
    }),
    { numRuns: runs(300) },
  )
})
