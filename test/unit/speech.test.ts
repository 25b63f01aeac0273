import { expect, test } from 'bun:test'
import { FLACDecoder } from '@wasm-audio-decoders/flac'
import { MPEGDecoder } from 'mpg123-decoder'
import { parseBuffer } from 'music-metadata'
import { OggOpusDecoder } from 'ogg-opus-decoder'
import { pcmOf, renderSpeech, SPEECH_RATE, type SpeechFormat, type SpeechVoice } from '../../src/lib/media/speech.ts'

const text = 'Good morning, Zürich! The weather is fine today, and so am I. 你好。'
const voices: SpeechVoice[] = ['alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer']
const formats: SpeechFormat[] = ['wav', 'mp3', 'flac', 'opus', 'pcm16']
const original = Float32Array.from(pcmOf(text, 'nova'), (sample) => sample / 32768)

const loudness = (signal: Float32Array) =>
  Math.sqrt(signal.reduce((sum, value) => sum + value * value, 0) / signal.length)

const ready = async <Decoder extends { ready: Promise<void> }>(decoder: Decoder) => {
  await decoder.ready
  return decoder
}

/** The samples that a package other than the encoder's reads from a file. */
const decoders = {
  mp3: async (bytes: Uint8Array) => (await ready(new MPEGDecoder())).decode(bytes),
  flac: async (bytes: Uint8Array) => (await ready(new FLACDecoder())).decodeFile(bytes),
  opus: async (bytes: Uint8Array) => (await ready(new OggOpusDecoder())).decodeFile(bytes),
}

test.each([
  ['wav', 'WAVE', 'PCM', SPEECH_RATE],
  ['mp3', 'MPEG', 'MPEG 2 Layer 3', SPEECH_RATE],
  ['flac', 'FLAC', 'FLAC', SPEECH_RATE],
  ['opus', 'Ogg', 'Opus', SPEECH_RATE],
] as const)('speech: has the right container, codec and length as %s', async (format, container, codec, sampleRate) => {
  const { bytes, seconds } = await renderSpeech({ text, voice: 'nova', format })
  const found = (await parseBuffer(bytes, {}, { duration: true })).format
  expect(found).toMatchObject({ container, codec, sampleRate, numberOfChannels: 1 })
  expect(Math.abs((found.duration ?? 0) / seconds - 1)).toBeLessThan(0.05)
})

test.each(['mp3', 'flac', 'opus'] as const)('speech: decodes from %s to the rendered signal', async (format) => {
  const { bytes, seconds } = await renderSpeech({ text, voice: 'nova', format })
  const { channelData, sampleRate, errors } = await decoders[format](bytes)
  expect(errors).toEqual([])
  const [signal = new Float32Array()] = channelData
  expect(Math.abs(signal.length / sampleRate / seconds - 1)).toBeLessThan(0.05)
  expect(Math.abs(loudness(signal) / loudness(original) - 1)).toBeLessThan(0.1)
})

test('FLAC: keeps every sample, with a last block of one sample and a full-scale jump', async () => {
  const { flacOf } = await import('../../src/lib/media/flac.ts')
  const pcm = Int16Array.from({ length: 8193 }, (_, index) =>
    index % 3 === 0 ? 32767 : index % 3 === 1 ? -32768 : index,
  )
  const { channelData, errors } = await decoders.flac(flacOf(pcm, SPEECH_RATE))
  expect(errors).toEqual([])
  // The decoder's 1 is 32,767.
  expect(Int16Array.from(channelData[0] ?? [], (value) => Math.round(value * 32767))).toEqual(pcm)
})

test('Ogg Opus: ends where the audio ends', async () => {
  const { bytes, seconds } = await renderSpeech({ text: 'Hello', voice: 'echo', format: 'opus' })
  const { samplesDecoded } = await decoders.opus(bytes)
  // The decoder rounds the look-ahead that it drops; a packet is 960 samples.
  expect(Math.abs(samplesDecoded - seconds * 48_000)).toBeLessThan(10)
})

test('WAV and pcm16: contain the samples unchanged', async () => {
  const pcm = pcmOf(text, 'alloy')
  const [wav, bare] = await Promise.all(
    (['wav', 'pcm16'] as const).map((format) => renderSpeech({ text, voice: 'alloy', format })),
  )
  expect(bare?.bytes).toEqual(new Uint8Array(pcm.buffer))
  expect(wav?.bytes.subarray(44)).toEqual(new Uint8Array(pcm.buffer))
})

test.each(formats)(
  'speech: has the same bytes in %s for the same text, and others for other texts and voices',
  async (format) => {
    const render = async (words: string, voice: SpeechVoice) =>
      (await renderSpeech({ text: words, voice, format })).bytes
    const first = await render('Grüezi!', 'onyx')
    expect(await render('Grüezi!', 'onyx')).toEqual(first)
    expect(await render('Grüezi!', 'fable')).not.toEqual(first)
    expect(await render('Bonsoir', 'onyx')).not.toEqual(first)
  },
)

test.each([
  ['fifteen letters a second', 'abcdefghijklmnopqrstuvwxyzabcd', 2],
  ['a pause of three letters for a full stop', 'abcdefghijkl.', 1],
  ['one letter of silence for an empty text', '', 1 / 15],
  ['no more than a minute', 'on and on '.repeat(500), 60],
])('speech length: is %s', async (_, words, seconds) => {
  expect((await renderSpeech({ text: words, voice: 'echo', format: 'pcm16' })).seconds).toBeCloseTo(seconds, 6)
})

test('speech voice: has its own pitch, a fifth of full scale, and pauses between words', () => {
  const turns = voices.map((voice) => {
    const pcm = pcmOf('aaa aaa', voice)
    const peak = pcm.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0)
    expect(peak).toBeGreaterThan(4000)
    expect(peak).toBeLessThanOrEqual(6000)
    expect(pcm.subarray(3 * (SPEECH_RATE / 15), 4 * (SPEECH_RATE / 15)).every((sample) => sample === 0)).toBe(true)
    return Bun.hash(pcm)
  })
  expect(new Set(turns).size).toBe(voices.length)
})
