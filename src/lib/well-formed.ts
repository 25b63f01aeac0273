// Lone surrogates: UTF-16 writes code points above 65,535 as two surrogates, and a text may contain only one of them,
// which UTF-8 cannot represent, so that no file, hash or other program accepts it.

/** Whether JSON or YAML may contain one: only an escape can represent it. */
export const mayHoldHalf = (text: string): boolean => text.includes('\\u') || text.includes('\\U')

/** The position of the first text with a lone surrogate in a value, keys included; undefined if there is none. */
export function halfCharacterIn(value: unknown): { path: (string | number)[]; half: string } | undefined {
  const seen = new Set<object>()
  const search = (inner: unknown): { path: (string | number)[]; half: string } | undefined => {
    if (typeof inner === 'string') return inner.isWellFormed() ? undefined : { path: [], half: halfOf(inner) }
    // YAML may contain references to itself.
    if (typeof inner !== 'object' || inner === null || seen.has(inner)) return undefined
    seen.add(inner)
    // Listing the entries of an array is slow.
    const entries = Array.isArray(inner) ? inner.entries() : Object.entries(inner)
    for (const [key, item] of entries) {
      if (typeof key === 'string' && !key.isWellFormed()) return { path: [], half: halfOf(key) }
      const found = search(item)
      if (found) return { ...found, path: [key, ...found.path] }
    }
  }
  return search(value)
}

/** The problem of a text that contains it, as the continuation of a sentence. */
export const halfCharacterProblem = (half: string): string =>
  `has half of a character in it (${half}, a lone surrogate): a text must be of whole characters`

const halfOf = (text: string): string => {
  const half = [...text].find((character) => !character.isWellFormed()) ?? ''
  return `U+${half.charCodeAt(0).toString(16).toUpperCase()}`
}

/** The value with U+FFFD in place of every lone surrogate, in keys too. */
export function wholeCharacters(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(wholeCharacters)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key.toWellFormed(), wholeCharacters(inner)]))
}

/** The start of a text, of at most so many UTF-16 units, without a cut surrogate pair. */
export function cutWhole(text: string, length: number): string {
  const cut = text.slice(0, length)
  return cut.isWellFormed() || !text.isWellFormed() ? cut : cut.slice(0, -1)
}

/** The parts of a text, of at most so many UTF-16 units each, without cut surrogate pairs. */
export function wholeParts(text: string, length: number): string[] {
  const parts: string[] = []
  for (let begin = 0; begin < text.length; ) {
    const last = text.charCodeAt(begin + length - 1)
    const end = begin + (last >= 0xd800 && last < 0xdc00 ? length - 1 : length)
    parts.push(text.slice(begin, end))
    begin = end
  }
  return parts
}
