// Cuts a text into chunks, after cleaning it as asked.

/** What may be taken out of a text before it is cut, in the order in which it happens. */
export const CLEAN_UPS: Record<string, (text: string) => string> = {
  delete_emails: (text) =>
    text.replace(/(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}._%+-]+@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/gu, ''),
  delete_credit_cards: (text) =>
    text.replace(/\b\d(?:[ -]?\d){12,18}\b/g, (digits) => (passesLuhn(digits.replace(/\D/g, '')) ? '' : digits)),
  // Two groups of digits are a number to call only when they begin like one.
  delete_phone_numbers: (text) =>
    text.replace(
      /(?<![\p{L}\p{N}])(?:(?:\+|0|\()\d{1,5}\)?(?:[ ./-]?\(?\d{2,8}\)?){1,5}|\d{2,4}(?:[ ./-]\d{2,5}){2,5})(?![\p{L}\p{N}])/gu,
      (found) => {
        const digits = found.replace(/\D/g, '').length
        return digits >= 7 && digits <= 15 && !DATE.test(found) ? '' : found
      },
    ),
  clean_bullet_points: (text) => text.replace(/^[ \t]*[•‣◦▪●○*+-][ \t]+/gmu, ''),
  clean_numbered_list: (text) => text.replace(/^[ \t]*(?:\d{1,3}|[a-z])[.)][ \t]+/gim, ''),
  clean_unicode: (text) =>
    text
      .normalize('NFKC')
      .replace(/[\u2018\u2019]/g, "'")
      .replace(/[\u201c\u201d]/g, '"')
      .replace(/[\u200b-\u200f\u202a-\u202e\u2060\ufeff\ufffd]/g, ''),
  clean_dashes: (text) => text.replace(/[\u2010-\u2015\u2212]/g, '-').replace(/-{2,}/g, '-'),
  clean_whitespaces: (text) =>
    text
      .replace(/[^\S\n]+/g, ' ')
      .replace(/ ?\n ?/g, '\n')
      .replace(/\n{3,}/g, '\n\n')
      .trim(),
}
const DATE = /^\d{1,4}[./-]\d{1,2}[./-]\d{1,4}$/

/** The check digit rule of payment cards. */
function passesLuhn(digits: string): boolean {
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 1 ? 2 : 1)
    return total + (value > 9 ? value - 9 : value)
  }, 0)
  return sum % 10 === 0
}

/** A text without what the named clean-ups take out. */
export const cleaned = (text: string, names: readonly string[]): string =>
  Object.entries(CLEAN_UPS).reduce((rest, [name, clean]) => (names.includes(name) ? clean(rest) : rest), text)

/** How a text is cut: the greatest length of a chunk, and of what neighbours share, in characters. */
interface ChunkLengths {
  size: number
  overlap: number
}

/** Chunks that are made of one text at most. */
const MAX_CHUNKS = 100_000
/** Characters of all chunks of a text at most: with a large overlap each stands in many. */
const MAX_CHARACTERS = 100_000_000

/** How many characters the chunks of a text have together, about. */
export const chunkedLength = (length: number, { size, overlap }: ChunkLengths): number =>
  (length * Math.min(length, size)) / (size - overlap)

/**
 * Chunks of at most `size` characters, cut between paragraphs, lines or words; neighbours share at most `overlap` characters.
 * @throws RangeError when that makes too many, or too much text
 */
export async function chunkText(text: string, { size, overlap }: ChunkLengths): Promise<string[]> {
  const together = chunkedLength(text.length, { size, overlap })
  if (together > MAX_CHARACTERS || together / size > MAX_CHUNKS) throw tooManyChunks(together / size, { size, overlap })
  const { RecursiveCharacterTextSplitter } = await import('@langchain/textsplitters')
  const { short, back } = shortened(text)
  const chunks = await new RecursiveCharacterTextSplitter({ chunkSize: size, chunkOverlap: overlap }).splitText(short)
  if (chunks.length > MAX_CHUNKS) throw tooManyChunks(chunks.length, { size, overlap })
  return chunks.map(back)
}

const tooManyChunks = (count: number, { size, overlap }: ChunkLengths) =>
  new RangeError(
    `with chunks of ${size} characters that share ${overlap} it makes about ${Math.round(count)} of them; at most ${MAX_CHUNKS}, of ${MAX_CHARACTERS} characters together`,
  )

const PRIVATE_START = 0xe000
const PRIVATE_END = 0xf8ff
/**
 * The text with every character of two UTF-16 units as one that nobody uses, so that none is cut in half, and the way back.
 * Beyond some thousand different ones, which no document has, a cut one becomes U+FFFD.
 */
function shortened(text: string): { short: string; back(chunk: string): string } {
  const long = new Set(text.match(/[\u{10000}-\u{10ffff}]/gu))
  if (long.size === 0) return { short: text, back: (chunk) => chunk }
  const stands = new Map<string, string>()
  const standsFor = new Map<string, string>()
  let next = PRIVATE_START
  for (const character of long) {
    while (next <= PRIVATE_END && text.includes(String.fromCharCode(next))) next++
    if (next > PRIVATE_END) break
    stands.set(character, String.fromCharCode(next))
    standsFor.set(String.fromCharCode(next++), character)
  }
  return {
    short: text.replace(/[\u{10000}-\u{10ffff}]/gu, (character) => stands.get(character) ?? character),
    back: (chunk) =>
      chunk.replace(/[\ue000-\uf8ff]/g, (character) => standsFor.get(character) ?? character).toWellFormed(),
  }
}
