// Canonical JSON: the same text for equal values, whatever the order of their keys.
import { sha256 } from './ids.ts'
import { wholeCharacters } from './well-formed.ts'

/**
 * Canonical JSON (RFC 8785) of a JSON value. A lone surrogate, which it cannot represent, becomes U+FFFD. A bigint has all
 * of its digits.
 * @example
 * canonicalJson({ b: 1, a: [2] }) // => '{"a":[2],"b":1}'
 */
export const canonicalJson = (value: unknown): string => canonicalText(value) ?? 'null'

/** Texts that JSON writes as they are. To find that out is faster than `JSON.stringify`. */
const WRITTEN_AS_IS = /^[\x20\x21\x23-\x5b\x5d-\x7e]{0,64}$/
const quoted = (text: string): string => (WRITTEN_AS_IS.test(text) ? `"${text}"` : JSON.stringify(text))

/** Undefined for values that JSON omits from objects. */
function canonicalText(value: unknown): string | undefined {
  if (typeof value === 'string') return quoted(value.toWellFormed())
  // Numbers are written as JavaScript writes them: RFC 8785, section 3.2.2.3.
  if (typeof value !== 'object' || value === null)
    return typeof value === 'bigint' ? String(value) : JSON.stringify(value)
  if (Array.isArray(value)) {
    let items = ''
    for (const item of value) items += `${items && ','}${canonicalText(item) ?? 'null'}`
    return `[${items}]`
  }
  const names = Object.keys(value)
  if (!names.every((name) => name.isWellFormed())) return canonicalText(wholeCharacters(value))
  let members = ''
  for (const name of sorted(names)) {
    const inner = canonicalText((value as Record<string, unknown>)[name])
    if (inner !== undefined) members += `${members && ','}${quoted(name)}:${inner}`
  }
  return `{${members}}`
}

/** Most objects have few names, and `sort` takes longer for those. */
const FEW = 16

/** Sorts names by UTF-16 units, as `sort` does: RFC 8785, section 3.2.3. */
function sorted(names: string[]): string[] {
  if (names.length > FEW) return names.sort()
  for (let index = 1; index < names.length; index++) {
    const name = names[index] ?? ''
    let to = index
    for (; to > 0 && (names[to - 1] ?? '') > name; to--) names[to] = names[to - 1] ?? ''
    names[to] = name
  }
  return names
}

/** SHA-256 of the canonical JSON of a value, in hexadecimal. */
export const checksumOf = (value: unknown): string => sha256(canonicalJson(value))
