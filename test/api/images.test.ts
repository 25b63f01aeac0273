import { afterAll, expect, test } from 'bun:test'
import sharp from 'sharp'
import { images } from '../../src/endpoints/images.ts'
import { createTestApp } from '../support/app.ts'
import { openApiDocument } from '../support/document.ts'
import { A, B, bytesOf, C, draw, files, IMAGES } from '../support/images.ts'

const app = createTestApp()
afterAll(app.close)

const valid: [string, object, string, 'png' | 'jpeg' | 'webp', boolean][] = [
  // model, fields, size, format, whether it has alpha
  [A, {}, '1024x1024', 'png', false],
  [A, { size: '256x256', n: 2 }, '256x256', 'png', false],
  [A, { size: '512x512', quality: 'standard', user: 'someone' }, '512x512', 'png', false],
  [A, { size: '256x256', quality: 'auto', n: null, style: null }, '256x256', 'png', false],
  [B, {}, '1024x1024', 'png', false],
  [B, { size: '1792x1024', quality: 'hd', style: 'vivid', n: 1 }, '1792x1024', 'png', false],
  [B, { size: '1024x1792', quality: 'auto', style: 'natural' }, '1024x1792', 'png', false],
  [C, {}, '1024x1024', 'png', false],
  [C, { size: 'auto', quality: 'auto', background: 'auto', moderation: 'low' }, '1024x1024', 'png', false],
  [C, { size: '1536x1024', background: 'transparent', output_format: 'png' }, '1536x1024', 'png', true],
  [C, { size: '1024x1536', background: 'transparent', output_format: 'webp' }, '1024x1536', 'webp', true],
  [C, { output_format: 'jpeg', output_compression: 40, background: 'opaque' }, '1024x1024', 'jpeg', false],
  [C, { stream: false, response_format: null }, '1024x1024', 'png', false],
  [`${C}-2025-04-23`, { size: '1024x1536' }, '1024x1536', 'png', false],
  ['openai/gpt-image-1-mini', { quality: 'low', output_format: 'webp' }, '1024x1024', 'webp', false],
  ['google/imagen-4', {}, '1024x1024', 'png', false],
  ['google/imagen-4', { size: '2048x1152', output_format: 'jpeg', n: 2, style: 'vivid' }, '2048x1152', 'jpeg', false],
  ['google/imagen-4', { size: '16x17', background: 'transparent' }, '16x17', 'png', true],
  [C, { size: null, output_format: null, output_compression: null, n: 2 }, '1024x1024', 'png', false],
]

test.each(valid)('image %s %j: is %s %s, alpha %p', async (model, fields, size, format, hasAlpha) => {
  const { data } = await draw(app, { model, response_format: 'b64_json', ...fields })
  expect(data).toHaveLength((fields as { n?: number }).n ?? 1)
  for (const picture of data) {
    expect(Object.keys(picture).sort()).toEqual(model === B ? ['b64_json', 'revised_prompt'] : ['b64_json'])
    const found = await sharp(bytesOf(picture)).metadata()
    expect({
      size: `${found.width}x${found.height}`,
      format: found.format as string,
      hasAlpha: found.hasAlpha,
    }).toEqual({ size, format, hasAlpha })
  }
})

const invalid: [string, object, string, string][] = [
  // model, fields, the field at fault, what the message says
  [A, { prompt: 'x'.repeat(1_001) }, 'prompt', `at most 1000 characters for ${A}, is 1001`],
  [B, { prompt: 'x'.repeat(4_001) }, 'prompt', `at most 4000 characters for ${B}`],
  [C, { prompt: 'x'.repeat(32_001) }, 'prompt', `at most 32000 characters for ${C}`],
  [A, { prompt: '' }, 'prompt', 'at least 1 character'],
  [A, { prompt: undefined }, 'prompt', 'is required'],
  [A, { n: 11 }, 'n', 'at most 10, got 11'],
  [A, { n: 0 }, 'n', 'at least 1, got 0'],
  [C, { n: 1.5 }, 'n', 'must be an integer, got 1.5'],
  [B, { n: 2 }, 'n', `at most 1 for ${B}, got 2`],
  [A, { size: '1792x1024' }, 'size', `one of "1024x1024", "512x512", "256x256" for ${A}, got "1792x1024"`],
  [B, { size: '256x256' }, 'size', `one of "1024x1024", "1792x1024", "1024x1792" for ${B}`],
  [C, { size: '1792x1024' }, 'size', `one of "1024x1024", "1536x1024", "1024x1536", "auto" for ${C}`],
  [A, { size: 'auto' }, 'size', 'got "auto"'],
  [A, { quality: 'hd' }, 'quality', `one of "standard", "auto" for ${A}`],
  [B, { quality: 'high' }, 'quality', `one of "standard", "hd", "auto" for ${B}`],
  [C, { quality: 'standard' }, 'quality', `one of "high", "medium", "low", "auto" for ${C}`],
  [A, { style: 'vivid' }, 'style', `must be left out: ${A} does not take it, ${B} does`],
  [C, { style: 'natural' }, 'style', `must be left out: ${C} does not take it`],
  [B, { style: 'loud' }, 'style', `one of "vivid", "natural" for ${B}, got "loud"`],
  [A, { background: 'opaque' }, 'background', `must be left out: ${A} does not take it, ${C} does`],
  [B, { moderation: 'low' }, 'moderation', `must be left out: ${B} does not take it`],
  [B, { output_format: 'webp' }, 'output_format', `must be left out: ${B} does not take it`],
  [C, { output_format: 'gif' }, 'output_format', 'one of "png", "jpeg", "webp"'],
  [A, { output_compression: 50 }, 'output_compression', `must be left out: ${A} does not take it`],
  [C, { output_compression: 50 }, 'output_compression', `unless 'output_format' is "jpeg" or "webp"`],
  [C, { output_format: 'png', output_compression: 50 }, 'output_compression', 'got 50'],
  [C, { output_format: 'webp', output_compression: 101 }, 'output_compression', 'at most 100'],
  [C, { output_format: 'jpeg', background: 'transparent' }, 'background', 'which has no alpha'],
  [C, { response_format: 'url' }, 'response_format', `must be "b64_json" for ${C}, got "url"`],
  [A, { response_format: 'file' }, 'response_format', 'one of "url", "b64_json"'],
  [`${C}-2025-04-23`, { size: '512x512' }, 'size', 'one of "1024x1024", "1536x1024", "1024x1536", "auto"'],
  ['google/imagen-4', { size: '2048x2049' }, 'size', 'of 16 to 2048 pixels a side for google/imagen-4'],
  ['google/imagen-4', { size: '15x64' }, 'size', 'got "15x64"'],
  ['google/imagen-4', { size: 'large' }, 'size', '"<width>x<height>"'],
  ['google/imagen-4', { quality: 'best' }, 'quality', 'one of "standard", "hd", "high", "medium", "low", "auto"'],
  [A, { stream: true }, 'stream', 'must be left out: openai/dall-e-2 does not take it'],
  ['openai/gpt-4o', {}, 'model', `a model that makes images, such as ${A}, ${B}, ${C}, got "openai/gpt-4o"`],
  ['openai/text-embedding-3-small', { size: '64x64' }, 'model', 'that makes images'],
  ['dall-e-2/', {}, 'model', 'got "dall-e-2/"'],
  [A, { metadata: 'x' }, 'metadata', 'must be an object'],
  [A, { retry: { count: 9 } }, 'retry.count', 'at most 5'],
]

test.each(invalid)('image %s %j: is rejected for %s: %s', async (model, fields, param, words) => {
  const answer = await app.post(IMAGES, { prompt: 'a red fox', model, ...fields })
  expect(answer.status).toBe(400)
  const { error } = answer.json() as { error: { message: string } }
  expect(error).toMatchObject({ type: 'invalid_request_error', param })
  expect(error.message).toContain(words)
  expect(await app.traceOf(answer)).toMatchObject({
    status: 400,
    outcome: 'http_error',
    operation: 'images.generations',
  })
})

test('image: returns 404 for an unknown provider, whatever the request', async () => {
  const answer = await app.post(IMAGES, { model: 'nobody/paints', prompt: 'x' })
  expect([answer.status, (answer.json() as { error: object }).error]).toMatchObject([
    404,
    { code: 'model_not_found', param: 'model' },
  ])
})

test('image: is determined by prompt, model, size, index, quality, style and background', async () => {
  const base = { model: B, size: '1024x1024', quality: 'standard', style: 'vivid' }
  const [first] = await files(app, base)
  const other = createTestApp({ seed: 7 })
  expect(await files(other, base)).toEqual([first ?? Buffer.of()])
  expect(await files(other, { model: B })).toEqual([first ?? Buffer.of()])
  await other.close()
  const changes = [{ prompt: 'a blue fox' }, { quality: 'hd' }, { style: 'natural' }]
  const changed = await Promise.all(changes.map((change) => files(app, { ...base, ...change })))
  const small = await files(app, { model: A, size: '256x256', n: 3 })
  const all = [first, ...changed.flat(), ...(await files(app, { model: A })), ...small]
  expect(new Set(all.map((bytes) => bytes?.toString('base64'))).size).toBe(8)
  expect(await files(app, { model: A, size: '256x256' })).toEqual(small.slice(0, 1))
})

test('image: is a smaller file of the same picture with a lower compression value', async () => {
  const sizes: number[] = []
  for (const output_compression of [10, 60, 100]) {
    const [bytes] = await files(app, { model: C, output_format: 'jpeg', output_compression })
    sizes.push(bytes?.length ?? 0)
  }
  expect(sizes).toEqual([...new Set(sizes)].sort((a, b) => a - b))
})

const spent: [string, object, object | undefined, number][] = [
  // model, fields, tokens of input and output on the wire, list price
  [A, { size: '256x256', n: 3 }, undefined, 0.048],
  [A, {}, undefined, 0.02],
  [B, {}, undefined, 0.04],
  [B, { quality: 'hd', size: '1024x1792' }, undefined, 0.12],
  [C, { quality: 'low' }, { input_tokens: 3, output_tokens: 272, total_tokens: 275 }, 0.010895],
  [C, { quality: 'low', size: '1536x1024' }, { output_tokens: 400 }, 0.016015],
  [C, { quality: 'medium', size: '1024x1536' }, { output_tokens: 1584 }, 0.063375],
  [C, { n: 2 }, { output_tokens: 8320, total_tokens: 8323 }, 0.332815],
  [C, { quality: 'auto', size: '1024x1536' }, { output_tokens: 6240 }, 0.249615],
]

test.each(spent)('image %s %j: uses %j and costs $%d', async (model, fields, usage, cost) => {
  const { answer, usage: counted } = await draw(app, { model, ...fields })
  const trace = await app.traceOf(answer)
  expect(trace.cost).toBe(cost)
  if (usage) {
    expect(counted).toMatchObject({ ...usage, input_tokens_details: { text_tokens: 3, image_tokens: 0 } })
    expect(trace.usage).toEqual(counted ?? {})
  } else {
    expect(counted).toBeUndefined()
    expect(trace.usage).toMatchObject({ images: (fields as { n?: number }).n ?? 1 })
  }
})

test('image: has a revised prompt only with dall-e-3, by its style', async () => {
  const revised = async (body: object) => (await draw(app, body)).data[0]?.revised_prompt
  expect(await revised({ model: A })).toBeUndefined()
  expect(await revised({ model: C })).toBeUndefined()
  const vivid = await revised({ model: B })
  expect(vivid).toMatch(/a red fox$/)
  expect(await revised({ model: B, style: 'natural' })).not.toBe(vivid)
})

test('image trace: contains name, metadata, identity and thread', async () => {
  const { answer, created } = await draw(app, {
    model: A,
    name: 'cover picture',
    metadata: { tier: 'gold' },
    svc: { identity: { id: 'user-1' } },
    thread: { id: 'thread-1', tags: ['covers'] },
  })
  expect(created).toBe(Date.UTC(2025, 0, 1) / 1000)
  expect(await app.traceOf(answer)).toMatchObject({
    name: 'cover picture',
    metadata: { tier: 'gold' },
    identity: { id: 'user-1' },
    thread: { id: 'thread-1', tags: ['covers'] },
    operation: 'images.generations',
    model: A,
    stream: false,
    attachments: [],
  })
})

interface Document {
  paths: Record<
    string,
    {
      get?: object
      post?: { requestBody: { content: Record<string, { examples: Record<string, { value: object }> }> } }
    }
  >
}

test('OpenAPI: has a working example for each image model and the path of the files', async () => {
  const { paths } = await openApiDocument<Document>()
  const content = paths[IMAGES]?.post?.requestBody.content['application/json']
  const examples = Object.values(content?.examples ?? {})
  expect(examples.map(({ value }) => value)).toEqual(Object.values(images.examples))
  const drawn = await Promise.all(examples.map(async ({ value }) => (await draw(app, value)).answer))
  expect(drawn.map(({ headers }) => headers.get('x-understudy-model'))).toEqual([A, B, C])
  expect(paths['/files/{name}']?.get).toMatchObject({
    security: [],
    responses: { 200: { content: { 'image/*': {} } } },
  })
})
