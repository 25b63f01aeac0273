// Identifiers that repeat when seed, time and order of calls repeat.
import { remembering } from './remember.ts'

/** The digits of Crockford's base 32 as bytes. */
const DIGITS = Buffer.from('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 'latin1')

/** A hash and its two halves: each step of arithmetic on a bigint makes a new one. */
const hash = new BigUint64Array(1)
const halves = new Uint32Array(hash.buffer)
const [LOW, HIGH] = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? [0, 1] : [1, 0]

/** A ULID while it is written: ten digits of time, sixteen of chance. To join texts of its digits makes a text for each step. */
const ulid = Buffer.alloc(26)
const [TIME, CHANCE] = [10, 8]

/** Writes some digits of a number that ends before `end`, the last of them first. */
function write(number: number, digits: number, end: number): void {
  for (let at = end - 1; at >= end - digits; at--) {
    ulid[at] = DIGITS[number & 31] ?? 0
    number >>>= 5
  }
}

/** Writes the last forty bits of the hash as eight digits. */
function writeHash(end: number): void {
  const low = halves[LOW] ?? 0
  const high = halves[HIGH] ?? 0
  write(low, 6, end)
  write((low >>> 30) | ((high & 255) << 2), 2, end - 6)
}

const TWENTY_FIVE_BITS = 2 ** 25
let written = Number.NaN
/** Writes the time; many calls begin at the same. */
function writeTime(now: number): void {
  if (now === written) return
  write(now % TWENTY_FIVE_BITS, 5, TIME)
  write(Math.floor(now / TWENTY_FIVE_BITS), 5, 5)
  written = now
}

const seedOf = remembering(BigInt)

/**
 * The ULID of one purpose and number (`trace`, 17) of a seed at an instant in ms since the epoch. Written here: there is one
 * for every call, and the package of that name asks for each digit by a function (test/unit/ids.test.ts).
 */
export function ulidOf(seed: number, now: number, purpose: string, count: number): string {
  // It takes 80 bits of chance, more than one hash has to give: the last eight digits are of the first.
  const text = `${purpose}:${count}`
  const seeded = seedOf(seed)
  hash[0] = Bun.hash(text, seeded)
  writeHash(TIME + 2 * CHANCE)
  // The other twenty-four bits.
  const more = BigInt((halves[HIGH] ?? 0) >>> 8)
  hash[0] = Bun.hash(`${text}:more`, seeded ^ more)
  writeHash(TIME + CHANCE)
  writeTime(now)
  return ulid.toString('latin1')
}

/** A short hexadecimal fingerprint of a text. */
export const fingerprint = (text: string): string => Bun.hash(text).toString(16).padStart(16, '0')

let secret: string | undefined
/** A text that only this process knows, the same for as long as it runs. */
export function processSecret(): string {
  secret ??= crypto.randomUUID()
  return secret
}

/** A name that cannot be guessed without the secret: 32 hexadecimal digits of a keyed hash (HMAC-SHA256). */
export const unguessable = (secret: string, text: string): string =>
  new Bun.CryptoHasher('sha256', secret).update(text).digest('hex').slice(0, 32)

/** SHA-256 of some bytes, in hexadecimal. */
export const sha256 = (bytes: Uint8Array): string => new Bun.CryptoHasher('sha256').update(bytes).digest('hex')

/** A UUID (version 4 in form) that is a function of a text. */
export function uuidOf(text: string): string {
  const half = (part: number) => Bun.hash(text, BigInt(part)).toString(16).padStart(16, '0')
  const hex = `${half(1)}${half(2)}`
  const variant = '89ab'[Number.parseInt(hex.charAt(16), 16) & 3]
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`
}
