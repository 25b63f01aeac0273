// Mono 16-bit samples as WAV or MP3. The encoder is loaded on first use.
import { once } from '../once.ts'

/** The samples as little-endian bytes, which is the byte order of every supported platform. */
export const bytesOf = (pcm: Int16Array): Uint8Array => new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength)

/** A WAV file: the 44-byte RIFF header and the samples. */
export function wavOf(pcm: Int16Array, rate: number): Uint8Array {
  const file = new Uint8Array(44 + pcm.byteLength)
  const header = new DataView(file.buffer)
  const text = (at: number, value: string) => file.set(new TextEncoder().encode(value), at)
  text(0, 'RIFF')
  header.setUint32(4, file.length - 8, true)
  text(8, 'WAVEfmt ')
  header.setUint32(16, 16, true)
  header.setUint16(20, 1, true)
  header.setUint16(22, 1, true)
  header.setUint32(24, rate, true)
  header.setUint32(28, rate * 2, true)
  header.setUint16(32, 2, true)
  header.setUint16(34, 16, true)
  text(36, 'data')
  header.setUint32(40, pcm.byteLength, true)
  file.set(bytesOf(pcm), 44)
  return file
}

// Compiling it costs more than encoding a sentence. One instance suffices: no call is interrupted by another one.
const loadEncoder = once(async () => (await import('wasm-media-encoders')).createMp3Encoder())

/** An MP3 file of a constant 48 kbit/s. */
export async function mp3Of(pcm: Int16Array, rate: number): Promise<Uint8Array> {
  const encoder = await loadEncoder()
  encoder.configure({ channels: 1, sampleRate: rate, bitrate: 48 })
  // Each call returns a view of the encoder's own memory, which the next one overwrites.
  const body = encoder.encode([Float32Array.from(pcm, (sample) => sample / 32768)]).slice()
  return Buffer.concat([body, encoder.finalize()])
}
