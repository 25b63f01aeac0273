// The real OpenAI SDK sends audio to the compiled executable and reads the response.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createReadStream, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI, { APIError, toFile } from 'openai'
import type { VerboseTranslation } from '../../src/contract/router/translations.ts'
import { emptyFolder, type Server, startServer } from '../support/server.ts'
import { fileOf, speak, WHISPER } from '../support/translations.ts'

const folder = emptyFolder()
const audio = join(folder.path, 'interview.mp3')
let server: Server
let client: OpenAI
beforeAll(async () => {
  writeFileSync(audio, await speak('mp3', 'It is a long interview. '.repeat(5)))
  server = await startServer(['--db', ':memory:', '--shipped-fixtures'], { cwd: folder.path })
  client = new OpenAI({ baseURL: `${server.url}/v2/router`, apiKey: 'any', maxRetries: 0 })
})
afterAll(async () => {
  await server.stop()
  folder.remove()
})

const TEXT =
  'Welcome back, and thank you for coming. Thank you for having me. (laughter) How did it all begin? With a letter that was never meant for me.'

test('translation client: gets the same text for a path, bytes and a File object', async () => {
  const bytes = await Bun.file(audio).bytes()
  const files = [createReadStream(audio), await toFile(bytes, 'interview.mp3'), fileOf(bytes, 'interview.mp3')]
  for (const file of files) {
    expect(await client.audio.translations.create({ file, model: WHISPER })).toEqual({ text: TEXT })
  }
})

test('translation client: reads every response format', async () => {
  const ask = async <Format extends 'json' | 'text' | 'srt' | 'vtt' | 'verbose_json'>(response_format: Format) =>
    client.audio.translations.create({ file: createReadStream(audio), model: WHISPER, response_format })
  expect((await ask('json')).text).toBe(TEXT)
  // The SDK does not say so in its types, but these are strings.
  expect((await ask('text')) as unknown).toBe(TEXT)
  expect((await ask('srt')) as unknown).toStartWith('1\n00:00:00,000 --> 00:00:0')
  expect((await ask('vtt')) as unknown).toStartWith('WEBVTT\n\n00:00:00.000 --> 00:00:0')
  const answer = (await ask('verbose_json')) as VerboseTranslation
  expect(answer).toMatchObject({ text: TEXT, language: 'english', task: 'translate' })
  expect(answer.segments).toHaveLength(4)
  expect(answer.segments.at(-1)?.end).toBe(answer.duration)
  expect(answer.words?.at(-1)).toMatchObject({ word: 'me.', end: answer.duration })
})

test('translation client: sends fields that only this API has', async () => {
  const body = {
    file: createReadStream(audio),
    model: WHISPER,
    prompt: 'An interview.',
    diarize: true,
    tag_audio_events: false,
    num_speakers: 2,
    temperature: 0,
    timestamps_granularity: 'none',
    retry: JSON.stringify({ count: 2, on_codes: [429] }),
    fallbacks: JSON.stringify([{ model: 'groq/whisper-large-v3' }]),
  }
  const { text } = await client.audio.translations.create(body)
  expect(text.split('\n').map((line) => line.slice(0, 12))).toEqual([
    '[speaker_0] ',
    '[speaker_1] ',
    '[speaker_0] ',
    '[speaker_1] ',
  ])
  expect(text).not.toContain('laughter')
})

test.each([
  [{ temperature: 2 }, 'temperature', 'at most 1, got 2'],
  [{ retry: { count: 2 } }, 'retry', "got a field 'retry[count]'"],
  [{ file: fileOf(Buffer.from('no sound'), 'talk.mp3') }, 'file', 'contains no readable audio'],
])('translation client: gets an error that names the field for %j: %s', async (fields, param, words) => {
  const file = createReadStream(audio)
  const error = await client.audio.translations.create({ file, model: WHISPER, ...fields }).catch((thrown) => thrown)
  expect(error).toBeInstanceOf(APIError)
  expect(error).toMatchObject({ status: 422, param, type: 'invalid_request_error' })
  expect(error.message).toContain(words)
})
