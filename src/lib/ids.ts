// Identifiers that repeat when seed, time and order of calls repeat.
import { once } from './once.ts'

/** The digits of Crockford's base 32 as bytes. */
const DIGITS = Buffer.from('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 'latin1')
/** Scratch space: a hash with its two halves, the low one first, and the id that is being written. */
const hash = new BigUint64Array(1)
const halves = new Uint32Array(hash.buffer)
const id = Buffer.alloc(26)

/** Writes the low digits of a number in base 32, ending before a position of the id. */
function writeDigits(value: number, digits: number, end: number): void {
  let bits = value % 2 ** 25
  for (let at = end - 1; at >= end - digits; at--) {
    // 32-bit integers are fast: digits before the last five come from the rest of the value.
    if (at === end - 6) bits = Math.floor(value / 2 ** 25)
    id[at] = DIGITS[bits & 31] ?? 0
    bits >>>= 5
  }
}

/** Writes eight digits of the hash of a text. Returns its 24 unused bits. */
function writeHash(text: string, seed: bigint, end: number): number {
  hash[0] = Bun.hash(text, seed)
  const low = halves[0] ?? 0
  const high = halves[1] ?? 0
  writeDigits((high & 255) * 2 ** 32 + low, 8, end)
  return high >>> 8
}

/**
 * The ULID of one purpose and number (`trace`, 17) of a seed: ten digits of time, sixteen of randomness.
 * Each call has one, so it is written into one buffer: 0.5 us per id, 2 us by joining digits. The package `ulid` calls
 * a function for each digit; test/unit/ids.test.ts compares with it.
 * @param now milliseconds since the epoch, below 2 ** 48
 * @example
 * ulidOf(1, 0, 'trace', 17) === ulidOf(1, 0, 'trace', 17) // => true
 * ulidOf(1, 0, 'trace', 17).slice(0, 10) // => '0000000000'
 */
export function ulidOf(seed: number, now: number, purpose: string, count: number): string {
  const text = `${purpose}:${count}`
  // A digit takes five bits, and 80 bits are more than one hash has: its 24 unused bits seed a second one.
  const unused = writeHash(text, BigInt(seed), 26)
  writeHash(`${text}:more`, BigInt(seed) ^ BigInt(unused), 18)
  writeDigits(now, 10, 10)
  return id.toString('latin1')
}

/**
 * A short hexadecimal fingerprint of a text.
 * @example
 * fingerprint('a') === fingerprint('a') // => true
 * fingerprint('a').length // => 16
 */
export const fingerprint = (text: string): string => Bun.hash(text).toString(16).padStart(16, '0')

/** A random text that only this process knows, constant while it runs. */
export const processSecret = once(() => crypto.randomUUID())

/** A name that cannot be guessed without the secret: 32 hexadecimal digits of an HMAC-SHA256. */
export const unguessable = (secret: string, text: string): string =>
  new Bun.CryptoHasher('sha256', secret).update(text).digest('hex').slice(0, 32)

/** SHA-256 of some bytes, in hexadecimal. */
export const sha256 = (data: Uint8Array | string): string => new Bun.CryptoHasher('sha256').update(data).digest('hex')

/** A UUID (in the form of version 4) that is a function of a text. */
export function uuidOf(text: string): string {
  const half = (part: number) => Bun.hash(text, BigInt(part)).toString(16).padStart(16, '0')
  const hex = `${half(1)}${half(2)}`
  const variant = '89ab'[Number.parseInt(hex.charAt(16), 16) & 3]
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`
}
