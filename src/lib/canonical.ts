// Canonical JSON: the same text for equal values, whatever the order of their keys.
import { wholeCharacters } from './well-formed.ts'

/**
 * Canonical JSON (RFC 8785) of a JSON value. A lone surrogate, which it cannot represent, becomes U+FFFD. A bigint has all
 * of its digits.
 * @example
 * canonicalJson({ b: 1, a: [2] }) // => '{"a":[2],"b":1}'
 */
export const canonicalJson = (value: unknown): string => canonicalText(value) ?? 'null'

/** Undefined for values that JSON omits from objects. */
function canonicalText(value: unknown): string | undefined {
  if (typeof value === 'string') return JSON.stringify(value.toWellFormed())
  // Numbers are written as JavaScript writes them: RFC 8785, section 3.2.2.3.
  if (typeof value !== 'object' || value === null)
    return typeof value === 'bigint' ? String(value) : JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map((item) => canonicalText(item) ?? 'null').join()}]`
  const names = Object.keys(value)
  if (!names.every((name) => name.isWellFormed())) return canonicalText(wholeCharacters(value))
  // Section 3.2.3 sorts names by UTF-16 units, as `sort` does.
  let members = ''
  for (const name of names.sort()) {
    const inner = canonicalText((value as Record<string, unknown>)[name])
    if (inner !== undefined) members += `${members && ','}${JSON.stringify(name)}:${inner}`
  }
  return `{${members}}`
}

/** SHA-256 of the canonical JSON of a value, in hexadecimal. */
export const checksumOf = (value: unknown): string =>
  new Bun.CryptoHasher('sha256').update(canonicalJson(value)).digest('hex')
