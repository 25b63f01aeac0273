// The forms in which a key may be written: plain, in JSON, in a URL, escaped, encoded.

/** Shorter keys are placeholders for servers that require some key. */
const MIN_LENGTH = 8

/** The forms in which a key may appear in a response: plain, JSON, URL-encoded, escaped. */
export const secretFormsOf = (key: string | undefined): readonly string[] =>
  key === undefined || key.length < MIN_LENGTH ? [] : forms.getOrInsertComputed(key, formsOf)
function formsOf(key: string): readonly string[] {
  const json = JSON.stringify(key).slice(1, -1)
  const inSlashes = json.replaceAll('/', '\\/')
  return [...new Set([key, json, inSlashes, encodeURIComponent(key.toWellFormed()), escaped(key)])]
}
const escaped = (key: string) =>
  key.replaceAll(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
// By key; the keys in the settings do not change.
const forms = new Map<string, readonly string[]>()

/** All of them, with the encoded ones: hexadecimal, and base64 at each of the three offsets that a key can have in it. */
export function encodedFormsOf(key: string): readonly string[] {
  const plain = secretFormsOf(key)
  if (plain.length === 0) return []
  const bytes = Buffer.from(key)
  const hex = bytes.toString('hex')
  const base64 = [0, 1, 2].map((offset) => base64At(bytes, offset))
  const base64url = base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'))
  return [...new Set([...plain, hex, hex.toUpperCase(), ...base64, ...base64url])]
}

/** The characters of base64 that depend on the key alone, when as many other bytes come before it. */
function base64At(key: Buffer, offset: number): string {
  const encoded = Buffer.concat([Buffer.alloc(offset), key])
    .toString('base64')
    .replace(/=+$/, '')
  const isWhole = (offset + key.length) % 3 === 0
  return encoded.slice(offset === 0 ? 0 : offset + 1, isWhole ? undefined : -1)
}
