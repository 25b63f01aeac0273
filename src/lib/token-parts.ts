// Splits long texts such that the tokens of the parts are those of the whole.

/** Between a letter and a single space with a letter after it: no token spans it (test/api/token-parts.test.ts). */
const BETWEEN_WORDS = /\p{L}(?= \p{L})/u
/** Characters in which such a position is searched. A text without spaces is not split. */
const WINDOW = 2_000

/** The parts of a text, of about `size` characters; the last one may be longer by half. */
export function splitByWords(text: string, size: number): string[] {
  const parts: string[] = []
  let begin = 0
  let looked = begin + size
  while (looked + size / 2 < text.length) {
    const end = betweenWords(text, looked)
    if (end !== undefined) {
      parts.push(text.slice(begin, end))
      begin = end
    }
    looked = (end ?? looked) + size
  }
  parts.push(text.slice(begin))
  return parts
}

function betweenWords(text: string, from: number): number | undefined {
  const found = text.slice(from, from + WINDOW).search(BETWEEN_WORDS)
  if (found < 0) return undefined
  // A code point above 65,535 takes two units.
  return text.indexOf(' ', from + found)
}
