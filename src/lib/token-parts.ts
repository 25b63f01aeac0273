// Splits long texts such that the tokens of the parts are those of the whole.

/** Between a letter and a single space with a letter after it: no token spans it (test/api/token-parts.test.ts). */
const BETWEEN_WORDS = /\p{L}(?= \p{L})/u
/** Characters in which such a position is searched. */
const WINDOW = 2_000
/**
 * Maximum length of a part, whose tokens take a second or two. A text without such positions, such as base64 or Chinese,
 * is cut there, and may have a token more for each part.
 */
const MAX_PART = 400_000

/**
 * The parts of a text, of about `size` characters, or up to `MAX_PART` where no words are; the last one may be longer by
 * half.
 */
export function splitByWords(text: string, size: number): string[] {
  const parts: string[] = []
  let begin = 0
  let looked = begin + size
  while (looked + size / 2 < text.length) {
    const isFull = looked + size + WINDOW > begin + MAX_PART
    const end = betweenWords(text, looked) ?? (isFull ? betweenCharacters(text, looked) : undefined)
    if (end !== undefined) {
      parts.push(text.slice(begin, end))
      begin = end
    }
    looked = (end ?? looked) + size
  }
  parts.push(text.slice(begin))
  return parts
}

/** A code point above 65,535 takes two units. */
const betweenCharacters = (text: string, at: number): number => at + Number(/^[\udc00-\udfff]/.test(text.charAt(at)))

function betweenWords(text: string, from: number): number | undefined {
  const found = text.slice(from, from + WINDOW).search(BETWEEN_WORDS)
  if (found < 0) return undefined
  // A code point above 65,535 takes two units.
  return text.indexOf(' ', from + found)
}
