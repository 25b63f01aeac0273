// The smaller operations beside chat: transcriptions, moderations, reranking, edited and varied images, on both APIs.
import { afterAll, describe, expect, test } from 'bun:test'
import { createOpenAI } from '@ai-sdk/openai'
import { experimental_transcribe as transcribe } from 'ai'
import OpenAI, { BadRequestError, UnprocessableEntityError } from 'openai'
import { testApps } from '../support/app.ts'
import { fetchInto } from '../support/clients.ts'
import { PNG } from '../support/example-calls.ts'
import { folderWith } from '../support/fixtures.ts'
import { playing } from '../support/scenario.ts'
import { fileOf, formOf, speak } from '../support/translations.ts'

const folder = folderWith({
  'small.yaml': `
- match: { operation: audio.transcriptions, file: { name: known.mp3 } }
  reply: { text: Guten Morgen., language: german }
- match: { operation: moderations, user: an odd text }
  reply: { flagged: [harassment] }
- match: { operation: rerank, user: by hand }
  reply: { scores: [0.1, 0.9] }
`,
})
const { appWith, close } = testApps()
const app = appWith({ fixtures: [folder.path] })
afterAll(async () => {
  await close()
  folder.remove()
})
const clientOf = (more: object = {}) =>
  new OpenAI({ baseURL: 'http://localhost/v1', apiKey: 'any', maxRetries: 0, fetch: fetchInto(app), ...more })
const client = clientOf()
const talk = await speak('mp3')
const refusalOf = (call: PromiseLike<unknown>) => Promise.resolve(call).catch((thrown: unknown) => thrown)

describe('transcription', () => {
  const model = 'whisper-1'
  test('follows the fixture in each response format', async () => {
    const file = fileOf(talk, 'known.mp3')
    expect(await client.audio.transcriptions.create({ model, file })).toEqual({ text: 'Guten Morgen.' } as never)
    const verbose = await client.audio.transcriptions.create({ model, file, response_format: 'verbose_json' })
    expect(verbose).toMatchObject({ task: 'transcribe', language: 'german', text: 'Guten Morgen.' } as never)
    expect(verbose.segments).toHaveLength(1)
    const subtitles = await client.audio.transcriptions.create({ model, file, response_format: 'srt' })
    expect(String(subtitles)).toStartWith('1\n00:00:00,000 --> ')
  })

  test('has the requested timestamps', async () => {
    const errorText = async (granularity: 'word' | 'segment') => {
      const more = { response_format: 'verbose_json' as const, timestamp_granularities: [granularity] }
      return (await client.audio.transcriptions.create({ model, file: fileOf(talk, 'known.mp3'), ...more })).words
    }
    expect(await errorText('word')).toHaveLength(2)
    expect(await errorText('segment')).toBeUndefined()
  })

  test('works with the AI SDK for any file', async () => {
    const openai = createOpenAI({ baseURL: 'http://localhost/v1', apiKey: 'any', fetch: fetchInto(app) })
    const { text } = await transcribe({ model: openai.transcription(model), audio: talk })
    expect(text).not.toBe('')
  })

  test('is rejected for a file without audio', async () => {
    const file = new File(['no sound'], 'x.mp3')
    expect(await refusalOf(client.audio.transcriptions.create({ model, file }))).toBeInstanceOf(
      UnprocessableEntityError,
    )
  })
})

describe('moderation', () => {
  const asked = { model: 'omni-moderation-latest' }
  test('flags words of its lists, the same for the same text', async () => {
    const { results, model } = await client.moderations.create({
      ...asked,
      input: ['A quiet day.', 'I will kill him.'],
    })
    expect([model, results.map(({ flagged }) => flagged)]).toEqual(['omni-moderation-latest', [false, true]])
    expect(results[1]?.categories).toMatchObject({ violence: true, hate: false })
    expect(results[1]?.category_scores.violence).toBeGreaterThan(0.9)
    expect(Object.keys(results[0]?.categories ?? {})).toHaveLength(13)
    expect((await client.moderations.create({ input: 'I will kill him.' })).results[0]).toEqual(results[1])
  })

  test('follows a fixture, and accepts content parts', async () => {
    const parts = [
      { type: 'text' as const, text: 'an odd text' },
      { type: 'image_url' as const, image_url: { url: 'https://example.com/x.png' } },
    ]
    const { results } = await client.moderations.create({ input: parts })
    expect(results.map(({ flagged, categories }) => [flagged, categories.harassment])).toEqual([[true, true]])
  })
})

describe('rerank', () => {
  const documents = ['Our offices are closed on Sunday.', 'To reset a password, follow the link.', 'Nothing.']
  const ask = (more: object, path = '/v2/router/rerank') =>
    app.post(path, { model: 'cohere/rerank-v3.5', query: 'How do I reset my password?', documents, ...more })
  interface List {
    object: string
    results: { object: string; index: number; relevance_score: number; document?: { text: string } }[]
  }
  const listOf = async (more: object, path?: string) => (await ask(more, path)).json() as unknown as List

  test('puts documents with shared words first', async () => {
    for (const path of ['/v2/router/rerank', '/v1/rerank']) {
      const { object, results } = await listOf({ top_n: 2 }, path)
      expect([object, results.length, results[0]]).toEqual([
        'list',
        2,
        { object: 'rerank', index: 1, relevance_score: expect.any(Number), document: { text: documents[1] ?? '' } },
      ])
      expect(results[0]?.relevance_score).toBeGreaterThan(results[1]?.relevance_score ?? 1)
    }
  })

  test('has the order of a fixture, and no texts when they are not requested', async () => {
    const { results } = await listOf({ query: 'by hand', return_documents: false })
    expect(results.map(({ index, relevance_score, document }) => [index, relevance_score, document])).toEqual([
      [1, 0.9, undefined],
      [2, 0.9, undefined],
      [0, 0.1, undefined],
    ])
  })

  test('requires documents', async () => {
    const answer = await ask({ documents: [] })
    expect([answer.status, answer.text.includes("'documents' must be at least 1 item")]).toEqual([400, true])
  })
})

describe('image edit', () => {
  const drawing = async (prompt: string) => {
    const { data } = await client.images.generate({
      model: 'dall-e-2',
      prompt,
      size: '256x256',
      response_format: 'b64_json',
    })
    return new File([Buffer.from(data?.[0]?.b64_json ?? '', 'base64')], 'sea.png', { type: 'image/png' })
  }
  const asked = { model: 'dall-e-2', size: '256x256', response_format: 'b64_json' } as const

  test('and variation are the same only for the same call', async () => {
    const [sea, hill] = [await drawing('the sea'), await drawing('a hill')]
    const edit = async (image: File, prompt: string) =>
      (await client.images.edit({ ...asked, image, prompt })).data?.[0]?.b64_json ?? ''
    const night = await edit(sea, 'at night')
    expect(Buffer.from(night, 'base64').subarray(1, 4).toString()).toBe('PNG')
    expect(await edit(sea, 'at night')).toBe(night)
    expect(await edit(hill, 'at night')).not.toBe(night)
    expect(await edit(sea, 'at noon')).not.toBe(night)
    const varied = await client.images.createVariation({ ...asked, image: sea, n: 2 })
    const pictures = varied.data?.map(({ b64_json }) => b64_json) ?? []
    expect([pictures.length, new Set(pictures).size]).toEqual([2, 2])
  })

  test('accepts one or several images and requires one', async () => {
    const image = [await drawing('the sea'), await drawing('a hill')]
    const { data } = await client.images.edit({
      model: 'gpt-image-1',
      image,
      prompt: 'both',
      size: '1024x1024',
      quality: 'low',
    })
    expect(data).toHaveLength(1)
    const none = client.images.edit({ ...asked, image: new File(['no picture'], 'x.png'), prompt: 'x' })
    expect(await refusalOf(none)).toBeInstanceOf(BadRequestError)
    const missing = await app.fetch('/v2/router/images/edits', { method: 'POST', body: formOf({ prompt: 'x' }) })
    expect([missing.status, missing.text.includes("'image' is required")]).toEqual([400, true])
  })
})

test('small operations: are subject to the faults of a scenario under their own names', async () => {
  const names = ['moderations', 'rerank', 'audio.transcriptions', 'images.edits', 'images.variations', 'audio.speech']
  const rules = names.map((operation) => ({
    name: operation,
    match: { operation },
    fault: { type: 'http-error', status: 503 },
  }))
  const { prefix, rule } = await playing(app, rules)
  const png = new File([PNG], 'x.png')
  const calls: [string, object | FormData][] = [
    ['moderations', { input: 'x' }],
    ['rerank', { model: 'cohere/x', query: 'x', documents: ['x'] }],
    ['audio/transcriptions', formOf({ model: 'openai/whisper-1', file: fileOf(talk, 'x.mp3') })],
    ['images/edits', formOf({ prompt: 'x', image: png })],
    ['images/variations', formOf({ image: png })],
    ['audio/speech', { model: 'openai/tts-1', input: 'x', voice: 'nova' }],
  ]
  for (const [path, body] of calls) {
    const url = `${prefix}/v2/router/${path}`
    const answer = body instanceof FormData ? await app.fetch(url, { method: 'POST', body }) : await app.post(url, body)
    expect([path, answer.status]).toEqual([path, 503])
    expect(await rule(path.replace('/', '.'))).toMatchObject({ applied: 1 })
  }
})
