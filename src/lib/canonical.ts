// One text for equal JSON values, whatever the order of their keys.
import canonicalize from 'canonicalize'

/** Canonical JSON (RFC 8785) of a value. */
export const canonicalJson = (value: unknown): string => canonicalize(value) ?? 'null'

/** SHA-256 of the canonical JSON of a value, in hexadecimal. */
export const checksumOf = (value: unknown): string =>
  new Bun.CryptoHasher('sha256').update(canonicalJson(value)).digest('hex')
