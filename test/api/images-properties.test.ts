// Generated image requests: valid ones are answered as declared, invalid ones are rejected by name.
import { afterAll, expect } from 'bun:test'
import fc from 'fast-check'
import sharp from 'sharp'
import { ImageResult } from '../../src/contract/router/images.ts'
import { createTestApp } from '../support/app.ts'
import { notOf, oneOf, routingFields, routingMistakes } from '../support/arbitrary.ts'
import { errorOf } from '../support/errors.ts'
import { A, B, browse, bytesOf, C, draw, IMAGES } from '../support/images.ts'
import { property, runs } from '../support/property.ts'

const app = createTestApp()
afterAll(app.close)

const optional = (...values: string[]) => fc.option(fc.constantFrom(...values))
const shared = {
  prompt: fc.string({ minLength: 1, maxLength: 200, unit: 'grapheme' }),
  user: fc.option(fc.string()),
  stream: fc.option(fc.constant(false)),
  ...routingFields,
}
const address = optional('url', 'b64_json')
/** What the properties look at of a request. */
interface Wish {
  model: string
  n?: number | null
  size?: string | null
  output_format?: string | null
  response_format?: string | null
}
/** Requests of a model: `needed` fields are there, `other` ones may be left out. */
const request = (needed: Fields, other: Fields) => {
  const fields: Fields = { ...shared, ...needed, ...other }
  return fc.record(fields, { requiredKeys: ['prompt', ...Object.keys(needed)] }) as unknown as fc.Arbitrary<Wish>
}
type Fields = Record<string, fc.Arbitrary<unknown>>

// Small pictures, and few: what is large is slow to decode, and tried in images.test.ts.
const valid = fc.oneof(
  request(
    { model: fc.constant(A), size: fc.constant('256x256') },
    {
      n: fc.option(fc.integer({ min: 1, max: 4 })),
      quality: optional('standard', 'auto'),
      response_format: address,
    },
  ),
  request(
    { model: fc.constant(B) },
    {
      n: fc.option(fc.constant(1)),
      size: optional('1024x1024', '1792x1024', '1024x1792'),
      quality: optional('standard', 'hd', 'auto'),
      style: optional('vivid', 'natural'),
      response_format: address,
    },
  ),
  request(
    { model: fc.constant(C), output_format: fc.constantFrom('jpeg', 'webp') },
    {
      size: optional('1024x1024', '1536x1024', '1024x1536', 'auto'),
      quality: optional('high', 'medium', 'low', 'auto'),
      background: optional('opaque', 'auto'),
      moderation: optional('low', 'auto'),
      output_compression: fc.option(fc.integer({ min: 0, max: 100 })),
      response_format: optional('b64_json'),
    },
  ),
  request(
    { model: fc.constant('google/imagen-4') },
    {
      n: fc.option(fc.integer({ min: 1, max: 3 })),
      size: fc
        .tuple(fc.integer({ min: 16, max: 300 }), fc.integer({ min: 16, max: 300 }))
        .map((sides) => sides.join('x')),
      background: optional('opaque', 'transparent', 'auto'),
      output_format: optional('png', 'webp'),
      response_format: address,
    },
  ),
)

property(
  'property: any valid image request returns the requested number of files in size and format',
  async () => {
    await fc.assert(
      fc.asyncProperty(valid, async (body) => {
        const { answer, data, usage } = await draw(app, body)
        expect(ImageResult.parse(answer.json())).toEqual(answer.json() as ImageResult)
        expect(data).toHaveLength(body.n ?? 1)
        const { n: _, ...one } = body
        const again = (await draw(app, one)).data[0]
        for (const [index, { url, b64_json }] of data.entries()) {
          const asked = body.response_format ?? (body.model === C ? 'b64_json' : 'url')
          expect([url !== undefined, b64_json !== undefined]).toEqual([asked === 'url', asked === 'b64_json'])
          const file = url ? Buffer.from(await (await browse(app, url)).bytes()) : bytesOf({ b64_json })
          const { width, height, format } = await sharp(file).metadata()
          const size = body.size == null || body.size === 'auto' ? '1024x1024' : body.size
          expect([`${width}x${height}`, format as string]).toEqual([size, body.output_format ?? 'png'])
          if (index === 0 && b64_json) expect(again?.b64_json).toBe(b64_json)
        }
        expect(usage !== undefined).toBe(body.model === C)
        if (usage) expect(usage.total_tokens).toBe((usage.input_tokens ?? 0) + (usage.output_tokens ?? 0))
      }),
      { numRuns: runs(15) },
    )
  },
  60_000,
)

const wrongWord = fc.oneof(notOf('string'), fc.constantFrom('', 'none', 'AUTO', '1x1'))
const mistakes = oneOf({
  ...routingMistakes,
  prompt: fc.oneof(notOf('string'), fc.constantFrom('', null)),
  n: fc.oneof(notOf('number'), fc.constantFrom(0, -1, 11, 1.5)),
  size: wrongWord,
  quality: wrongWord,
  style: wrongWord,
  background: wrongWord,
  moderation: wrongWord,
  output_format: wrongWord,
  output_compression: fc.oneof(notOf('number'), fc.constantFrom(-1, 101, 0.5)),
  response_format: wrongWord,
  stream: notOf('boolean'),
  partial_images: fc.oneof(notOf('number'), fc.constantFrom(-1, 4, 0.5)),
  user: notOf('string'),
  metadata: notOf('object'),
})

property('property: an invalid field of an image request is a 400 that names it', async () => {
  await fc.assert(
    fc.asyncProperty(valid, mistakes, async (body, [field, wrong]) => {
      const answer = await app.post(IMAGES, { ...body, [field]: wrong })
      const { type, param, message } = errorOf(answer.text, answer.status)
      expect([answer.status, type]).toEqual([400, 'invalid_request_error'])
      expect(param).toMatch(new RegExp(`^${field}\\b`))
      expect(message).toContain(`'${param}'`)
    }),
    { numRuns: runs(300) },
  )
})
