import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { AUDIO_EXTENSIONS, readAudioInfo } from '../../src/lib/media/audio-info.ts'
import { renderSpeech, type SpeechFormat } from '../../src/lib/media/speech.ts'

const media = (name: string) => Bun.file(join(import.meta.dir, '..', 'support', 'media', name)).bytes()
const speak = (format: SpeechFormat) =>
  renderSpeech({ text: 'The quick brown fox. '.repeat(3), voice: 'alloy', format })

test.each([
  ['wav', { container: 'wav', codec: 'pcm-s16', sampleRate: 24_000, channels: 1 }],
  ['mp3', { container: 'mp3', codec: 'mp3', sampleRate: 24_000, channels: 1 }],
  ['flac', { container: 'flac', codec: 'flac', sampleRate: 24_000, channels: 1 }],
  ['opus', { container: 'ogg', codec: 'opus', sampleRate: 48_000, channels: 1 }],
] as const)('readAudioInfo: reads speech rendered as %s', async (format, expected) => {
  const { bytes, seconds } = await speak(format)
  const info = await readAudioInfo(bytes)
  expect(info).toMatchObject(expected)
  expect(Math.abs((info?.seconds ?? 0) / seconds - 1)).toBeLessThan(0.05)
})

// Recorded by a browser (in fragments, without a length in the header) and written by a muxer (with one).
test.each([
  ['tone.webm', { container: 'webm', codec: 'opus', sampleRate: 48_000, channels: 1 }, 1.92],
  ['tone-opus.mp4', { container: 'mp4', codec: 'opus', sampleRate: 48_000, channels: 1 }, 1.94],
  ['silence.m4a', { container: 'mp4', codec: 'aac', sampleRate: 24_000, channels: 1 }, 2.005],
] as const)('readAudioInfo: reads %s', async (name, expected, seconds) => {
  const info = await readAudioInfo(await media(name))
  expect(info).toMatchObject(expected)
  expect(info?.seconds).toBeCloseTo(seconds, 2)
})

test('readAudioInfo: measures an MP3 file without a header, behind a tag, by its frames', async () => {
  const { bytes, seconds } = await speak('mp3')
  const tag = Buffer.alloc(10 + 300)
  tag.write('ID3\x04')
  tag.writeUInt16BE((2 << 8) | (300 - 256), 8)
  const info = await readAudioInfo(Buffer.concat([tag, bytes]))
  expect(info?.container).toBe('mp3')
  expect(Math.abs((info?.seconds ?? 0) / seconds - 1)).toBeLessThan(0.05)
})

test.each(['wav', 'mp3', 'flac'] as const)(
  'readAudioInfo: measures half of a %s file as half as long, whatever its header says',
  async (format) => {
    const { bytes, seconds } = await speak(format)
    const info = await readAudioInfo(bytes.subarray(0, bytes.length / 2))
    expect(Math.abs((info?.seconds ?? 0) / seconds - 0.5)).toBeLessThan(0.05)
  },
)

const noise = Uint8Array.from({ length: 20_000 }, (_, index) => Number(Bun.hash(String(index)) & 0xffn))
test.each([
  ['an empty file', new Uint8Array()],
  ['one byte', Uint8Array.of(0xff)],
  ['noise', noise],
  ['text', new TextEncoder().encode('RIFF is a word, and this is no audio. '.repeat(50))],
  ['zeros', new Uint8Array(5000)],
  ['only a WAV header', async () => (await speak('wav')).bytes.subarray(0, 44)],
  ['only a FLAC header', async () => (await speak('flac')).bytes.subarray(0, 42)],
  ['only an Ogg header', async () => (await speak('opus')).bytes.subarray(0, 47)],
  ['an MP4 file cut in its header', async () => (await media('silence.m4a')).subarray(0, 300)],
  ['a WebM file cut in its header', async () => (await media('tone.webm')).subarray(0, 150)],
  ['an Ogg file cut in its first audio page', async () => (await speak('opus')).bytes.subarray(0, 200)],
  ['an image', Buffer.from('R0lGODlhAQABAAAAACwAAAAAAQABAAA=', 'base64')],
])('readAudioInfo: rejects %s', async (_, bytes) => {
  expect(await readAudioInfo(typeof bytes === 'function' ? await bytes() : bytes)).toBeUndefined()
})

test.each([
  ['mp3', 'wav', false],
  ['mp3', 'mp3', true],
  ['mpeg', 'mp3', true],
  ['mpga', 'mp3', true],
  ['m4a', 'mp4', true],
  ['ogg', 'ogg', true],
  ['webm', 'webm', true],
  ['webm', 'mp4', false],
  ['flac', 'flac', true],
] as const)('AUDIO_EXTENSIONS: accepts a file named .%s that is %s: %p', (extension, container, fine) => {
  expect(AUDIO_EXTENSIONS[extension]?.includes(container)).toBe(fine)
})

test('AUDIO_EXTENSIONS: has the nine extensions of the API and no other', () => {
  expect(Object.keys(AUDIO_EXTENSIONS).sort()).toEqual('flac m4a mp3 mp4 mpeg mpga ogg wav webm'.split(' '))
})
