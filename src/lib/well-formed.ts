// Half of a character: UTF-16 writes those beyond the first 65,536 in two halves (surrogates), and a text may hold one alone,
// which no UTF-8 can say, so neither a file nor a hash nor another program takes it.

/** Whether the JSON or YAML may hold one: only an escape can say it. */
export const mayHoldHalf = (text: string): boolean => text.includes('\\u') || text.includes('\\U')

/** Where the first text with a lone surrogate stands in a value, keys included; undefined when there is none. */
export function halfCharacterIn(value: unknown): { path: (string | number)[]; half: string } | undefined {
  const seen = new Set<object>()
  const search = (inner: unknown): { path: (string | number)[]; half: string } | undefined => {
    if (typeof inner === 'string') return inner.isWellFormed() ? undefined : { path: [], half: halfOf(inner) }
    // Files of YAML may refer to themselves.
    if (typeof inner !== 'object' || inner === null || seen.has(inner)) return undefined
    seen.add(inner)
    // To list the entries of an array takes long.
    const entries = Array.isArray(inner) ? inner.entries() : Object.entries(inner)
    for (const [key, item] of entries) {
      if (typeof key === 'string' && !key.isWellFormed()) return { path: [], half: halfOf(key) }
      const found = search(item)
      if (found) return { ...found, path: [key, ...found.path] }
    }
  }
  return search(value)
}

/** What is wrong with a text that holds it; ends a sentence that begins with the name of the text. */
export const halfCharacterProblem = (half: string): string =>
  `has half of a character in it (${half}, a lone surrogate): a text must be of whole characters`

const halfOf = (text: string): string => {
  const half = [...text].find((character) => !character.isWellFormed()) ?? ''
  return `U+${half.charCodeAt(0).toString(16).toUpperCase()}`
}

/** The value with U+FFFD in the place of every half character, in keys too. */
export function wholeCharacters(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(wholeCharacters)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key.toWellFormed(), wholeCharacters(inner)]))
}

/** The beginning of a text, of at most so many UTF-16 units, cut between characters. */
export function cutWhole(text: string, length: number): string {
  const cut = text.slice(0, length)
  return cut.isWellFormed() || !text.isWellFormed() ? cut : cut.slice(0, -1)
}
