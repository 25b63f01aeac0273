// Identifiers that repeat when seed, time and order of calls repeat.
import { ulid } from 'ulid'

/** The ULID of one purpose and number (`trace`, 17) of a seed at an instant in ms since the epoch. */
export function ulidOf(seed: number, now: number, purpose: string, count: number): string {
  // ulid asks for 16 characters of chance; one hash holds ten of them.
  let bits = Bun.hash(`${purpose}:${count}`, BigInt(seed))
  let asked = 0
  return ulid(now, () => {
    if (asked++ === 8) bits = Bun.hash(`${purpose}:${count}:more`, BigInt(seed) ^ bits)
    const five = Number(bits & 31n)
    bits >>= 5n
    return five / 32
  })
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
