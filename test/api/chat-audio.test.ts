// Audio as a response: a real file of the requested format, with its transcript and expiry, whole and streamed.
import { afterAll, describe, expect, test } from 'bun:test'
import { FLACDecoder } from '@wasm-audio-decoders/flac'
import { MPEGDecoder } from 'mpg123-decoder'
import { parseBuffer } from 'music-metadata'
import { OggOpusDecoder } from 'ogg-opus-decoder'
import { createTestApp } from '../support/app.ts'
import { both, FIXTURES, messageOf, refused, streamed, user, whole } from '../support/chat.ts'

const app = createTestApp({ fixtures: [FIXTURES] })
afterAll(app.close)

const RATE = 24_000
const spoken = (format: string, more: object = {}) => ({
  model: 'openai/gpt-4o-audio-preview',
  modalities: ['text', 'audio'],
  audio: { voice: 'nova', format },
  ...user('count'),
  ...more,
})
async function soundOf(patch: object) {
  const completion = await both(app, patch)
  const { audio, content } = messageOf(completion)
  if (!audio) throw new Error('there is no sound')
  return { audio, content, completion, bytes: new Uint8Array(Buffer.from(audio.data, 'base64')) }
}
const loudness = (signal: Float32Array) =>
  Math.sqrt(signal.reduce((sum, value) => sum + value * value, 0) / signal.length)

describe('audio file of a chat response', () => {
  test.each([
    ['wav', 'WAVE', 'PCM'],
    ['mp3', 'MPEG', 'MPEG 2 Layer 3'],
    ['flac', 'FLAC', 'FLAC'],
    ['opus', 'Ogg', 'Opus'],
  ])('has the requested format: %s', async (format, container, codec) => {
    const { bytes, audio } = await soundOf(spoken(format))
    const found = (await parseBuffer(bytes, {}, { duration: true })).format
    expect(found).toMatchObject({ container, codec, sampleRate: RATE, numberOfChannels: 1 })
    // About 15 characters a second.
    expect(Math.abs((found.duration ?? 0) - audio.transcript.length / 15)).toBeLessThan(0.3)
  })

  const decoders = {
    mp3: async (bytes: Uint8Array) => {
      const decoder = new MPEGDecoder()
      await decoder.ready
      return decoder.decode(bytes)
    },
    flac: async (bytes: Uint8Array) => {
      const decoder = new FLACDecoder()
      await decoder.ready
      return decoder.decodeFile(bytes)
    },
    opus: async (bytes: Uint8Array) => {
      const decoder = new OggOpusDecoder()
      await decoder.ready
      return decoder.decodeFile(bytes)
    },
  }
  test.each(['mp3', 'flac', 'opus'] as const)('decodes without an error and is not silent: %s', async (format) => {
    const { bytes } = await soundOf(spoken(format))
    const { channelData, errors } = await decoders[format](bytes)
    expect(errors).toEqual([])
    expect(loudness(channelData[0] ?? new Float32Array())).toBeGreaterThan(0.01)
  })

  test('has the samples of the WAV file as pcm16', async () => {
    const [pcm, wav] = [await soundOf(spoken('pcm16')), await soundOf(spoken('wav'))]
    expect(wav.bytes.subarray(44)).toEqual(pcm.bytes)
    const samples = new Int16Array(pcm.bytes.buffer)
    expect(samples.some((sample) => Math.abs(sample) > 1000)).toBe(true)
  })

  test('differs by voice and is the same for the same call', async () => {
    const dataOf = async (voice: string) =>
      messageOf((await whole(app, spoken('mp3', { audio: { voice, format: 'mp3' } }))).completion).audio?.data
    const nova = await dataOf('nova')
    expect(await dataOf('onyx')).not.toBe(nova as string)
    expect(await dataOf('nova')).toBe(nova as string)
  })
})

describe('audio message of a chat response', () => {
  test('has the transcript instead of content, its own id and expires after an hour', async () => {
    const { audio, content, completion } = await soundOf(spoken('wav'))
    expect(content).toBeNull()
    expect(audio.transcript).toBe('one two three four five six seven eight')
    expect(audio.expires_at).toBe(completion.created + 3600)
    expect(audio.id).not.toBe((await soundOf(spoken('wav'))).audio.id)
  })

  test('counts the tokens of the audio', async () => {
    const { completion } = await soundOf(spoken('wav'))
    const { usage } = completion
    const silent = (await both(app, { model: 'openai/gpt-4o-audio-preview', ...user('count') })).usage
    expect(usage.completion_tokens_details.audio_tokens).toBeGreaterThan(20)
    expect(usage.completion_tokens).toBe(silent.completion_tokens + usage.completion_tokens_details.audio_tokens)
    const twice = (await both(app, spoken('wav', { n: 2 }))).usage
    expect(twice.completion_tokens).toBe(2 * usage.completion_tokens)
  })

  test('is cut with its text', async () => {
    const { audio, completion } = await soundOf(spoken('pcm16', { max_completion_tokens: 2 }))
    expect(audio.transcript).toBe('one two')
    expect(completion.choices[0]?.finish_reason).toBe('length')
  })

  test('streams the transcript first, then the audio in chunks, then the expiry', async () => {
    const { chunks } = await streamed(app, spoken('wav'))
    const pieces = chunks.flatMap(({ choices }) => choices[0]?.delta.audio ?? [])
    const kinds = pieces.map(({ data, transcript }) => (transcript ? 'transcript' : data ? 'data' : 'end'))
    expect(kinds).toEqual([...Array(8).fill('transcript'), ...Array(kinds.length - 9).fill('data'), 'end'])
    expect(kinds.length).toBeGreaterThan(11)
    // Each piece decodes by itself, so a player can begin at once.
    for (const { data } of pieces) if (data) expect(data).not.toMatch(/=./)
  })

  const silent: [string, object][] = [
    ['a refusal', user('no way')],
    ['a tool call', { tools: [{ function: { name: 'f' } }], tool_choice: 'required' }],
    ['modalities without audio', { modalities: ['text'] }],
    ['no modalities', { modalities: null }],
  ]
  test.each(silent)('is missing for %s', async (_, patch) => {
    expect(messageOf(await both(app, spoken('mp3', patch))).audio).toBeUndefined()
  })

  test('can be referred to in a later call', async () => {
    const { audio } = await soundOf(spoken('wav'))
    const assistant = { role: 'assistant', content: null, audio: { id: audio.id } }
    const messages = [...user('count').messages, assistant, ...user('Again?').messages]
    const { completion } = await whole(app, spoken('wav', { messages }))
    expect(messageOf(completion).audio?.transcript).toContain('"Again?"')
  })
})

const wrong: [string, object, string][] = [
  ['the audio modality without its options', { modalities: ['text', 'audio'] }, 'audio'],
  ['the audio modality with null options', { modalities: ['audio'], audio: null }, 'audio'],
  ['a missing voice', { audio: { format: 'mp3' } }, 'audio.voice'],
  ['a missing format', { audio: { voice: 'nova' } }, 'audio.format'],
  ['an invalid format', { audio: { voice: 'nova', format: 'aac' } }, 'audio.format'],
  ['an invalid voice', { audio: { voice: 'bob', format: 'mp3' } }, 'audio.voice'],
]
test.each(wrong)('audio options: reject %s', async (_, patch, param) => {
  expect((await refused(app, patch)).param).toBe(param)
})
