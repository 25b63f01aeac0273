// Cuts long texts so that the tokens of their parts are those of the whole.

/** Between a letter and a single space with a letter behind it: no token reaches over it (test/api/token-parts.test.ts). */
const BETWEEN_WORDS = /\p{L}(?= \p{L})/u
/** Characters in which such a place is looked for; a text without spaces stays whole. */
const WINDOW = 2_000

/** The parts of a text, of about so many characters; the last may be longer by half. */
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
  // A letter beyond the first 65,536 characters takes two units.
  return text.indexOf(' ', from + found)
}
