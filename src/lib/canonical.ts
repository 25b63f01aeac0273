// One text for equal JSON values, whatever the order of their keys.
import canonicalize from 'canonicalize'
import { wholeCharacters } from './well-formed.ts'

/** Canonical JSON (RFC 8785) of a value; what it cannot say, half of a character, becomes U+FFFD. */
export function canonicalJson(value: unknown): string {
  try {
    return canonicalize(value) ?? 'null'
  } catch {
    return canonicalize(wholeCharacters(value)) ?? 'null'
  }
}

/** SHA-256 of the canonical JSON of a value, in hexadecimal. */
export const checksumOf = (value: unknown): string =>
  new Bun.CryptoHasher('sha256').update(canonicalJson(value)).digest('hex')
