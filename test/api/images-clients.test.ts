// Real clients that request images, and another library that reads what they received.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { DallEAPIWrapper } from '@langchain/openai'
import { generateImage } from 'ai'
import OpenAI, { BadRequestError } from 'openai'
import sharp from 'sharp'
import { serveHere } from '../support/cli.ts'
import { A, B, C } from '../support/images.ts'
import { emptyFolder, type Server } from '../support/server.ts'

const prompt = 'A lighthouse at dusk'
const folder = emptyFolder()
let server: Server
let baseURL: string
beforeAll(async () => {
  server = await serveHere(['--db', ':memory:'], { cwd: folder.path })
  baseURL = `${server.url}/v2/router`
})
afterAll(async () => {
  await server.stop()
  folder.remove()
})
const openai = () => new OpenAI({ baseURL, apiKey: 'session:pictures', maxRetries: 0 })

/** What the file is, with all its pixels decoded: a broken one throws, a blank one has no entropy. */
async function decode(bytes: Uint8Array) {
  const [{ format, width, height }, { entropy }] = await Promise.all([sharp(bytes).metadata(), sharp(bytes).stats()])
  return { format: format as string, size: `${width}x${height}`, blank: entropy < 1 }
}
const fetched = async (url: string | undefined) => (await fetch(url ?? '')).bytes()
const picture = (format: string, size: string) => ({ format, size, blank: false })

test('OpenAI SDK images: URLs and base64 give the same bytes', async () => {
  const wish = { model: A, prompt, n: 2, size: '512x512' } as const
  const byAddress = await openai().images.generate(wish)
  const byValue = await openai().images.generate({ ...wish, response_format: 'b64_json' })
  expect(byAddress.data?.map(({ b64_json }) => b64_json)).toEqual([undefined, undefined])
  for (const [index, { url }] of (byAddress.data ?? []).entries()) {
    const bytes = await fetched(url)
    expect(Buffer.from(bytes).toString('base64')).toBe(byValue.data?.[index]?.b64_json ?? '')
    expect(await decode(bytes)).toEqual(picture('png', '512x512'))
  }
})

test('OpenAI SDK images: include the revised prompt of dall-e-3 and the token counts of gpt-image-1', async () => {
  const second = await openai().images.generate({
    model: B,
    prompt,
    size: '1024x1792',
    quality: 'hd',
    style: 'natural',
  })
  expect(second.data?.[0]?.revised_prompt).toContain(prompt)
  expect(second.usage).toBeUndefined()
  expect(await decode(await fetched(second.data?.[0]?.url))).toEqual(picture('png', '1024x1792'))

  const newest = await openai().images.generate({
    model: C,
    prompt,
    size: '1536x1024',
    quality: 'low',
    output_format: 'jpeg',
    output_compression: 60,
  })
  expect(newest.usage).toEqual({
    input_tokens: 4,
    input_tokens_details: { text_tokens: 4, image_tokens: 0 },
    output_tokens: 400,
    total_tokens: 404,
  })
  expect(await decode(Buffer.from(newest.data?.[0]?.b64_json ?? '', 'base64'))).toEqual(picture('jpeg', '1536x1024'))
})

test.each([
  [{ model: B, n: 2 }, 'n'],
  [{ model: C, size: '256x256' }, 'size'],
] as const)('OpenAI SDK images: reject %j for %s', async (fields, param) => {
  const refused = await openai()
    .images.generate({ prompt, ...fields } as OpenAI.ImageGenerateParams)
    .catch((error) => error)
  expect(refused).toBeInstanceOf(BadRequestError)
  expect(refused).toMatchObject({ status: 400, param, type: 'invalid_request_error' })
})

const providers: [string, () => { imageModel(id: string): Parameters<typeof generateImage>[0]['model'] }][] = [
  ['openai', () => createOpenAI({ baseURL, apiKey: 'any' })],
  ['openai-compatible', () => createOpenAICompatible({ name: 'router', baseURL, apiKey: 'any' })],
]
test.each(providers)(
  'Vercel AI SDK images, %s provider: are generated in several sizes and numbers',
  async (_, provider) => {
    const imageModel = (id: string) => provider().imageModel(id)
    const several = await generateImage({ model: imageModel(A), prompt, n: 3, size: '256x256', maxRetries: 0 })
    expect(several.images).toHaveLength(3)
    for (const { uint8Array, mediaType } of several.images) {
      expect(mediaType).toBe('image/png')
      expect(await decode(uint8Array)).toEqual(picture('png', '256x256'))
    }
    const { image, warnings } = await generateImage({
      model: imageModel(B),
      prompt,
      size: '1792x1024',
      providerOptions: { openai: { style: 'natural', quality: 'hd' } },
    })
    expect(warnings).toEqual([])
    expect(await decode(image.uint8Array)).toEqual(picture('png', '1792x1024'))
  },
)

test('Vercel AI SDK images: include formats, usage and revised prompts', async () => {
  const provider = createOpenAI({ baseURL, apiKey: 'any' })
  const { image, usage } = await generateImage({
    model: provider.imageModel(C),
    prompt,
    providerOptions: { openai: { outputFormat: 'webp', background: 'transparent', quality: 'low' } },
  })
  expect(image.mediaType).toBe('image/webp')
  expect(usage).toMatchObject({ inputTokens: 4, outputTokens: 272, totalTokens: 276 })
  expect(await sharp(image.uint8Array).metadata()).toMatchObject({ format: 'webp', width: 1024, hasAlpha: true })
  const { providerMetadata } = await generateImage({ model: provider.imageModel(B), prompt })
  expect(providerMetadata.openai?.images?.[0]).toMatchObject({ revisedPrompt: expect.stringContaining(prompt) })
})

test('LangChain image tool: returns a URL and base64 of the same image', async () => {
  const options = { model: B, apiKey: 'any', baseUrl: baseURL, size: '1024x1792' } as const
  const url = await new DallEAPIWrapper({ ...options, dallEResponseFormat: 'url' }).invoke(prompt)
  const base64 = await new DallEAPIWrapper({ ...options, dallEResponseFormat: 'b64_json' }).invoke(prompt)
  const bytes = await fetched(url)
  expect(Buffer.from(bytes).toString('base64')).toBe(base64)
  expect(await decode(bytes)).toEqual(picture('png', '1024x1792'))
})
