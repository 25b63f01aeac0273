// Mono 16-bit samples as Opus in Ogg (RFC 7845). The encoder is loaded on first use.
import { readFileSync } from 'node:fs'
import wasm from 'opusscript/build/opusscript_native_wasm.wasm' with { type: 'file' }
import { once } from '../once.ts'
import { bytesOf } from './audio-encode.ts'

// Opus counts samples at 48 kHz, whatever the input (RFC 7845). The encoder delays by its look-ahead, 6.5 ms.
const OPUS_RATE = 48_000
const LOOK_AHEAD = 312
const FRAMES_A_SECOND = 50
// A packet of 20 ms takes at most 6 of a page's 255 segments.
const PACKETS_A_PAGE = 40

/** An Ogg file with one Opus stream of about 24 kbit/s, in packets of 20 ms. */
export async function oggOpusOf(pcm: Int16Array, rate: number): Promise<Uint8Array> {
  const length = (pcm.length / rate) * OPUS_RATE + LOOK_AHEAD
  const packets = await packetsOf(pcm, { rate, length })
  const pages = [
    oggPage({ index: 0, packets: [opusHead(rate)], granule: 0, last: false }),
    oggPage({ index: 1, packets: [opusTags()], granule: 0, last: false }),
  ]
  for (let at = 0; at < packets.length; at += PACKETS_A_PAGE) {
    const end = Math.min(at + PACKETS_A_PAGE, packets.length)
    // The last page ends with the sound, so that a player drops the padding of the last packet.
    const granule = Math.min((end * OPUS_RATE) / FRAMES_A_SECOND, length)
    pages.push(oggPage({ index: pages.length, packets: packets.slice(at, end), granule, last: end === packets.length }))
  }
  return Buffer.concat(pages)
}

const AUDIO = 2049
const SET_BITRATE = 4002
const SET_COMPLEXITY = 4010
// The maximum that the package allows for a packet.
const MAX_BYTES = 1276 * 3
// The package's own class looks for its WebAssembly next to itself at run time, so it is passed in.
const loadOpus = once(async () =>
  (await import('opusscript/build/opusscript_native_wasm.js')).default({ wasmBinary: readFileSync(wasm) }),
)

/** Encodes packets of 20 ms, in order; `length` is that of all in Opus samples. */
async function packetsOf(pcm: Int16Array, { rate, length }: { rate: number; length: number }): Promise<Uint8Array[]> {
  const opus = await loadOpus()
  const handler = new opus.OpusScriptHandler(rate, 1, AUDIO)
  handler._encoder_ctl(SET_BITRATE, 24_000)
  // The lower quality is sufficient, and takes a third of the time.
  handler._encoder_ctl(SET_COMPLEXITY, 0)
  const frame = rate / FRAMES_A_SECOND
  // It takes each byte of a sample as a 16-bit number.
  const input = opus._malloc(frame * 2 * 2)
  const output = opus._malloc(MAX_BYTES)
  const packets: Uint8Array[] = []
  for (let index = 0; (index * OPUS_RATE) / FRAMES_A_SECOND < length; index++) {
    const samples = new Int16Array(frame)
    samples.set(pcm.subarray(index * frame, (index + 1) * frame))
    opus.HEAPU16.set(bytesOf(samples), input / 2)
    const bytes = handler._encode(input, samples.byteLength, output, frame)
    if (bytes < 0) throw new Error(`the Opus encoder failed with ${bytes}`)
    packets.push(opus.HEAPU8.slice(output, output + bytes))
  }
  opus.OpusScriptHandler.destroy_handler(handler)
  opus._free(input)
  opus._free(output)
  return packets
}

function opusHead(rate: number): Uint8Array {
  const head = Buffer.alloc(19)
  head.write('OpusHead')
  head.writeUInt8(1, 8)
  head.writeUInt8(1, 9)
  head.writeUInt16LE(LOOK_AHEAD, 10)
  head.writeUInt32LE(rate, 12)
  return head
}

function opusTags(): Uint8Array {
  const vendor = 'understudy'
  const tags = Buffer.alloc(8 + 4 + vendor.length + 4)
  tags.write('OpusTags')
  tags.writeUInt32LE(vendor.length, 8)
  tags.write(vendor, 12)
  return tags
}

/** One Ogg page of whole packets (RFC 3533, section 6). */
function oggPage(page: { index: number; packets: Uint8Array[]; granule: number; last: boolean }): Uint8Array {
  const lacing = page.packets.flatMap(({ length }) => [...Array(Math.floor(length / 255)).fill(255), length % 255])
  const header = Buffer.alloc(27)
  header.write('OggS')
  header.writeUInt8((page.index === 0 ? 2 : 0) | (page.last ? 4 : 0), 5)
  header.writeBigUInt64LE(BigInt(Math.round(page.granule)), 6)
  header.writeUInt32LE(1, 14)
  header.writeUInt32LE(page.index, 18)
  header.writeUInt8(lacing.length, 26)
  const bytes = Buffer.concat([header, Uint8Array.from(lacing), ...page.packets])
  bytes.writeUInt32LE(oggChecksum(bytes), 22)
  return bytes
}

function oggChecksum(bytes: Uint8Array): number {
  let sum = 0
  for (const byte of bytes) {
    sum ^= byte << 24
    for (let bit = 0; bit < 8; bit++) sum = (sum << 1) ^ (sum < 0 ? 0x04c11db7 : 0)
  }
  return sum >>> 0
}
