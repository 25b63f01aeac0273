// POST /v2/router/audio/speech and /v1/audio/speech: a text as an audio file, through the gateway like everything else.
import { afterAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createOpenAI } from '@ai-sdk/openai'
import { experimental_generateSpeech as generateSpeech } from 'ai'
import { parseBuffer } from 'music-metadata'
import OpenAI, { BadRequestError, RateLimitError } from 'openai'
import { readForwarding } from '../../src/config/providers.ts'
import { testApps } from '../support/app.ts'
import { fetchInto } from '../support/clients.ts'
import { folderWith } from '../support/fixtures.ts'
import { at, startProvider } from '../support/forward.ts'
import { playing } from '../support/scenario.ts'

const tone = readFileSync(join(import.meta.dir, '..', 'support', 'media', 'tone.webm'))
const folder = folderWith({
  'audio.speech/own.yaml': `
- match: { user: a file }
  reply: { audio: ${tone.toString('base64')}, content_type: audio/webm }
- match: { user: other words }
  reply: { text: Good evening! }
`,
})
const { appWith, close } = testApps()
const app = appWith({ fixtures: [folder.path] })
afterAll(async () => {
  await close()
  folder.remove()
})
const PATH = '/v2/router/audio/speech'
const clientOf = (more: object = {}) =>
  new OpenAI({ baseURL: 'http://localhost/v1', apiKey: 'any', maxRetries: 0, fetch: fetchInto(app), ...more })
const speak = (input: string, more: object = {}) => ({ model: 'tts-1', voice: 'nova', input, ...more })
const bytesFrom = async (body: object, client = clientOf()) => {
  const answer = await client.audio.speech.create(body as never)
  return { type: answer.headers.get('content-type'), bytes: Buffer.from(await answer.arrayBuffer()) }
}

test.each([
  ['mp3', 'audio/mpeg', 'MPEG'],
  ['opus', 'audio/ogg', 'Ogg'],
  ['flac', 'audio/flac', 'FLAC'],
  ['wav', 'audio/wav', 'WAVE'],
])('speech: returns a %s file, the same for the same call', async (response_format, mimeType, container) => {
  const { bytes, type } = await bytesFrom(speak('Good morning!', { response_format }))
  expect(type).toBe(mimeType)
  expect((await parseBuffer(bytes, { mimeType })).format.container).toBe(container)
  expect((await bytesFrom(speak('Good morning!', { response_format }))).bytes.equals(bytes)).toBe(true)
  expect((await bytesFrom(speak('Good morning!', { response_format, voice: 'onyx' }))).bytes.equals(bytes)).toBe(false)
})

test('speech: returns two bytes a sample as pcm, and fewer of them at a higher speed', async () => {
  const length = async (speed: number) =>
    (await bytesFrom(speak('Good morning!', { response_format: 'pcm', speed }))).bytes.length
  const [slow, usual, fast] = [await length(0.5), await length(1), await length(2)]
  expect([slow, fast]).toEqual([2 * usual, usual / 2])
})

test('speech fixture: supplies a file or another text', async () => {
  const given = await bytesFrom(speak('a file'))
  expect([given.type, given.bytes.equals(tone)]).toEqual(['audio/webm', true])
  const { bytes } = await bytesFrom(speak('other words'))
  expect(bytes.equals((await bytesFrom(speak('Good evening!'))).bytes)).toBe(true)
})

test('speech: works with the AI SDK', async () => {
  const openai = createOpenAI({ baseURL: 'http://localhost/v1', apiKey: 'any', fetch: fetchInto(app) })
  const { audio } = await generateSpeech({ model: openai.speech('tts-1'), text: 'Good morning!', voice: 'nova' })
  expect(Buffer.from(audio.uint8Array).equals((await bytesFrom(speak('Good morning!'))).bytes)).toBe(true)
})

test('speech: is traced with the content type of the audio', async () => {
  const answer = await app.post(PATH, speak('Good morning!', { model: 'openai/tts-1' }))
  expect(answer.headers.get('x-understudy-model')).toBe('openai/tts-1')
  const trace = await app.traceOf(answer)
  expect(trace).toMatchObject({ operation: 'audio.speech', status: 200, outcome: 'succeeded' })
  expect((trace as unknown as { response: { content_type: string } }).response.content_type).toBe('audio/mpeg')
})

describe('speech under faults', () => {
  test('returns errors in the shape of the called API', async () => {
    const { prefix } = await playing(app, [{ match: {}, fault: { type: 'rate-limit', requests: 0 } }])
    const client = clientOf({ baseURL: `http://localhost${prefix}/v1` })
    await expect(bytesFrom(speak('Good morning!'), client)).rejects.toBeInstanceOf(RateLimitError)
  })

  test('is cut in transit', async () => {
    const healthy = (await bytesFrom(speak('Good morning!'))).bytes
    const fault = { type: 'truncate-body' }
    const { prefix } = await playing(app, [{ at: 'gateway', match: {}, fault }])
    const { bytes } = await bytesFrom(speak('Good morning!'), clientOf({ baseURL: `http://localhost${prefix}/v1` }))
    expect(bytes.equals(healthy.subarray(0, bytes.length))).toBe(true)
    expect(bytes.length).toBeLessThan(healthy.length)
  })

  test('names the input that cannot be spoken', async () => {
    const error = await bytesFrom(speak('x', { response_format: 'aac' })).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(BadRequestError)
    expect((error as Error).message).toContain('\'response_format\' must be one of "mp3", "opus", "flac", "wav", "pcm"')
  })
})

test("speech: forwards the provider's own request and returns its bytes unchanged", async () => {
  const provider = startProvider(() => new Response(tone, { headers: { 'content-type': 'audio/webm' } }))
  const section = { value: { openai: at(provider.url) }, locationOf: () => '' }
  const real = appWith({ clock: 'real', forwarding: readForwarding({ section, backend: 'fixture', environment: {} }) })
  const { type, bytes } = await bytesFrom(speak('Hello!'), clientOf({ fetch: fetchInto(real) }))
  provider.stop()
  expect([type, bytes.equals(tone)]).toEqual(['audio/webm', true])
  expect([provider.last().path, provider.lastJson()]).toEqual([
    '/audio/speech',
    expect.objectContaining(speak('Hello!')),
  ])
})
