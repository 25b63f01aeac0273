// Identifiers that repeat when seed, time and order of calls repeat.
import { remembering } from './remember.ts'

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
/** The two digits of each number below 1,024 in Crockford's base 32. */
const PAIRS = Array.from({ length: 1_024 }, (_, pair) => `${DIGITS[pair >> 5]}${DIGITS[pair & 31]}`)
const pair = (number: number): string => PAIRS[number & 1_023] ?? ''
const four = (number: number): string => pair(number >> 10) + pair(number)
const TWENTY_BITS = 2 ** 20
/** Eight digits: the last forty bits of a number. */
const eight = (number: number): string => four((number / TWENTY_BITS) % TWENTY_BITS) + four(number % TWENTY_BITS)

const FORTY = 40
/** A hash and its two halves: each step of arithmetic on a bigint makes a new one. */
const hash = new BigUint64Array(1)
const halves = new Uint32Array(hash.buffer)
const [LOW, HIGH] = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? [0, 1] : [1, 0]
/** The last forty bits of the hash. */
const lowest = (): number => ((halves[HIGH] ?? 0) & 255) * 2 ** 32 + (halves[LOW] ?? 0)
/** The other twenty-four. */
const highest = (): number => (halves[HIGH] ?? 0) >>> 8

/** Ten digits of time. */
const timeDigits = remembering((now: number) => pair(Math.floor(now / 2 ** FORTY)) + eight(now))

/**
 * The ULID of one purpose and number (`trace`, 17) of a seed at an instant in ms since the epoch. Written here: there is one
 * for every call, and the package of that name asks for each digit by a function (test/ids.test.ts).
 */
export function ulidOf(seed: number, now: number, purpose: string, count: number): string {
  // It takes 80 bits of chance, more than one hash has to give: the last eight digits are of the first.
  const text = `${purpose}:${count}`
  const seeded = BigInt(seed)
  hash[0] = Bun.hash(text, seeded)
  const last = eight(lowest())
  hash[0] = Bun.hash(`${text}:more`, seeded ^ BigInt(highest()))
  return timeDigits(now) + eight(lowest()) + last
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
