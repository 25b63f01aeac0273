// Streamed images: partial ones that grow sharper, then the whole one with its usage; and the settings that a response reports.
import { afterAll, describe, expect, test } from 'bun:test'
import { imageSize } from 'image-size'
import { createTestApp, eventsOf } from '../support/app.ts'
import { openaiOf } from '../support/clients.ts'

const app = createTestApp()
const openai = openaiOf(app)
afterAll(app.close)

const PATH = '/v2/router/images/generations'
const model = 'openai/gpt-image-1'
const asked = { model, prompt: 'A lighthouse', quality: 'low' as const, size: '1024x1024' as const }
const settings = { output_format: 'png', size: '1024x1024', quality: 'low', background: 'opaque' }

describe('streamed images', () => {
  test.each([0, 1, 2, 3])('are %i partial ones, then the whole one', async (partial_images) => {
    const stream = await openai.images.generate({ ...asked, stream: true, partial_images })
    const files: string[] = []
    let end: unknown
    for await (const event of stream) {
      expect(event).toMatchObject({ ...settings, created_at: expect.any(Number) })
      if (event.type === 'image_generation.partial_image') expect(event.partial_image_index).toBe(files.length)
      else end = event
      files.push(event.b64_json)
    }
    expect(files).toHaveLength(partial_images + 1)
    expect(new Set(files).size).toBe(files.length)
    for (const file of files)
      expect(imageSize(Buffer.from(file, 'base64'))).toMatchObject({ type: 'png', width: 1024, height: 1024 })
    const { data, usage } = await openai.images.generate(asked)
    expect(files.at(-1)).toBe(data?.[0]?.b64_json ?? '')
    expect(end).toMatchObject({ type: 'image_generation.completed', usage })
  })

  test('are complete in the trace and the cache', async () => {
    const body = {
      ...asked,
      prompt: 'A cached harbour',
      cache: { type: 'exact_match' },
      stream: true,
      partial_images: 1,
    }
    const first = await app.post(PATH, body)
    const events = eventsOf(first.text)
    expect(events.pop()).toBe('[DONE]')
    const trace = await app.traceOf(first)
    expect(trace).toMatchObject({ outcome: 'succeeded', stream: true, usage: { output_tokens: 272 } })
    const again = await app.post(PATH, body)
    expect(again.headers.get('x-understudy-cache')).toBe('hit')
    expect(eventsOf(again.text).at(-2)).toMatchObject({ b64_json: (events.at(-1) as { b64_json: string }).b64_json })
    const whole = await app.post(PATH, { ...body, stream: false })
    expect(whole.headers.get('x-understudy-cache')).toBe('hit')
    expect(whole.json()).toMatchObject({ data: [{ b64_json: (events.at(-1) as { b64_json: string }).b64_json }] })
  })

  const wrong: [string, object, string][] = [
    ['a model that does not stream', { model: 'openai/dall-e-3', quality: 'standard', stream: true }, 'stream'],
    ['more partial images than allowed', { stream: true, partial_images: 4 }, 'partial_images'],
    ['several images', { stream: true, n: 2 }, 'n'],
  ]
  test.each(wrong)('reject %s', async (_, patch, param) => {
    const answer = await app.post(PATH, { ...asked, ...patch })
    expect({ status: answer.status, error: answer.json().error }).toMatchObject({ status: 400, error: { param } })
  })
})

describe('whole images', () => {
  const rows: [string, object, object][] = [
    ['defaults', { quality: 'auto', size: 'auto' }, { ...settings, quality: 'high' }],
    [
      'the requested ones',
      { output_format: 'webp', background: 'transparent' },
      { ...settings, output_format: 'webp', background: 'transparent' },
    ],
  ]
  test.each(rows)('report their settings: %s', async (_, patch, said) => {
    expect((await app.post(PATH, { ...asked, ...patch })).json()).toMatchObject(said)
  })

  test('report no settings for models without them', async () => {
    const answer = await app.post(PATH, {
      model: 'openai/dall-e-2',
      prompt: 'x',
      size: '256x256',
      response_format: 'b64_json',
    })
    expect(Object.keys(answer.json())).toEqual(['created', 'data'])
  })

  test('accept a compression of 100 for png, which means none', async () => {
    for (const patch of [{ output_compression: 100 }, { output_compression: 100, output_format: 'png' }])
      expect((await app.post(PATH, { ...asked, ...patch })).status).toBe(200)
    expect((await app.post(PATH, { ...asked, output_compression: 99 })).status).toBe(400)
  })
})
