// Mono 16-bit samples as FLAC (RFC 9639): second-order fixed prediction with Rice-coded residuals. The packages for
// this start a worker thread or look up a file at run time, which does not work in the executable.
import { bytesOf } from './audio-encode.ts'

const BLOCK = 4096

/** A FLAC file of the samples; the rate is below 65,536 hertz. */
export function flacOf(pcm: Int16Array, rate: number): Uint8Array {
  const info = new BitWriter()
  info.put(0x664c6143, 32) // "fLaC"
  info.put(0x80, 8) // the last metadata block, of type STREAMINFO
  info.put(34, 24)
  info.put(BLOCK, 16)
  info.put(BLOCK, 16)
  info.put(0, 24) // smallest frame: not said
  info.put(0, 24) // largest frame: not said
  info.put(rate, 20)
  info.put(0, 3) // channels - 1
  info.put(15, 5) // bits a sample - 1
  info.put(0, 4) // the top of a 36-bit count
  info.put(pcm.length, 32)
  const parts: Uint8Array[] = [info.bytes(), new Bun.CryptoHasher('md5').update(bytesOf(pcm)).digest()]
  for (let at = 0; at < pcm.length; at += BLOCK) {
    parts.push(frameOf(pcm.subarray(at, at + BLOCK), { index: at / BLOCK, rate }))
  }
  return Buffer.concat(parts)
}

function frameOf(block: Int16Array, { index, rate }: { index: number; rate: number }): Uint8Array {
  const frame = new BitWriter()
  frame.put(0xfff8, 16) // sync code, blocks of one size
  frame.put(0b0111_1101, 8) // block size and rate in hertz follow
  frame.put(0b0000_1000, 8) // mono, 16 bits
  // The frame number is encoded like a UTF-8 code point.
  for (const byte of new TextEncoder().encode(String.fromCodePoint(index))) frame.put(byte, 8)
  frame.put(block.length - 1, 16)
  frame.put(rate, 16)
  frame.put(checksum(frame.bytes(), { bits: 8, polynomial: 0x07 }), 8)
  putBlock(frame, block)
  const bytes = frame.bytes()
  const sum = checksum(bytes, { bits: 16, polynomial: 0x8005 })
  return Buffer.concat([bytes, Uint8Array.of(sum >> 8, sum & 0xff)])
}

function putBlock(frame: BitWriter, block: Int16Array): void {
  const order = block.length < 2 ? 0 : 2
  const at = (index: number) => block[index] ?? 0
  frame.put(0b0001_0000 | (order << 1), 8)
  for (let index = 0; index < order; index++) frame.put(at(index) & 0xffff, 16)
  const folded: number[] = []
  for (let index = order; index < block.length; index++) {
    const difference = order === 0 ? at(index) : at(index) - 2 * at(index - 1) + at(index - 2)
    folded.push((difference << 1) ^ (difference >> 31))
  }
  const mean = folded.reduce((sum, value) => sum + value, 0) / Math.max(1, folded.length)
  const low = Math.min(14, Math.max(0, Math.floor(Math.log2(mean))))
  frame.put(0, 6) // four-bit Rice parameters, one partition
  frame.put(low, 4)
  for (const value of folded) {
    for (let zeros = value >> low; zeros > 0; zeros -= 32) frame.put(0, Math.min(32, zeros))
    frame.put(1, 1)
    frame.put(value & ((1 << low) - 1), low)
  }
}

/** CRC, highest bit first, starting at 0. */
function checksum(bytes: Uint8Array, { bits, polynomial }: { bits: number; polynomial: number }): number {
  const top = 1 << (bits - 1)
  const mask = top * 2 - 1
  let sum = 0
  for (const byte of bytes) {
    sum ^= byte << (bits - 8)
    for (let bit = 0; bit < 8; bit++) sum = ((sum << 1) ^ (sum & top ? polynomial : 0)) & mask
  }
  return sum
}

/** Bits, highest first. */
class BitWriter {
  private readonly whole: number[] = []
  private part = 0
  private free = 8

  /** Appends the lowest `bits` bits of a value, at most 32. */
  put(value: number, bits: number): void {
    let remaining = bits
    while (remaining > 0) {
      const taken = Math.min(remaining, this.free)
      remaining -= taken
      this.free -= taken
      this.part |= ((value >>> remaining) & ((1 << taken) - 1)) << this.free
      if (this.free > 0) continue
      this.whole.push(this.part)
      this.part = 0
      this.free = 8
    }
  }

  /** All bytes so far, the last one padded with zeros. */
  bytes(): Uint8Array {
    return Uint8Array.from(this.free < 8 ? [...this.whole, this.part] : this.whole)
  }
}
