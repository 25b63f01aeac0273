// Cuts a text into chunks, with optional clean-up steps first.

/** The clean-up steps, in the order in which they run. */
export const CLEAN_UPS: Record<string, (text: string) => string> = {
  delete_emails: (text) =>
    text.replace(/(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}._%+-]+@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/gu, ''),
  delete_credit_cards: (text) =>
    text.replace(/\b\d(?:[ -]?\d){12,18}\b/g, (digits) => (passesLuhn(digits.replace(/\D/g, '')) ? '' : digits)),
  // Two groups of digits are a phone number only if they start like one.
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

/** The check digit rule of payment cards (Luhn). */
function passesLuhn(digits: string): boolean {
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 1 ? 2 : 1)
    return total + (value > 9 ? value - 9 : value)
  }, 0)
  return sum % 10 === 0
}

/** A text after the named clean-up steps. */
export const cleaned = (text: string, names: readonly string[]): string =>
  Object.entries(CLEAN_UPS).reduce((rest, [name, clean]) => (names.includes(name) ? clean(rest) : rest), text)

/** Maximum length of a chunk and of the overlap of neighboring chunks, in characters. */
interface ChunkLengths {
  size: number
  overlap: number
}

/** Maximum number of chunks of one text. */
const MAX_CHUNKS = 100_000
/** Maximum number of characters of all chunks of a text. With a large overlap, each character is in many chunks. */
const MAX_CHARACTERS = 100_000_000

/** The approximate total length of a text's chunks, in characters. */
export const chunkedLength = (length: number, { size, overlap }: ChunkLengths): number =>
  (length * Math.min(length, size)) / (size - overlap)

/** Where a text is cut: between paragraphs, lines or words, and inside a word only if it is too long. */
const SEPARATORS = ['\n\n', '\n', ' ', '']

/**
 * Chunks of at most `size` characters, cut between paragraphs, lines or words. Neighbors share at most `overlap`
 * characters.
 * @throws RangeError if there are too many chunks or characters
 */
export function chunkText(text: string, { size, overlap }: ChunkLengths): string[] {
  const together = chunkedLength(text.length, { size, overlap })
  if (together > MAX_CHARACTERS || together / size > MAX_CHUNKS) throw tooManyChunks(together / size, { size, overlap })
  const chunks = [...chunksOf(text, SEPARATORS, { size, overlap })]
  if (chunks.length > MAX_CHUNKS) throw tooManyChunks(chunks.length, { size, overlap })
  return chunks
}

const tooManyChunks = (count: number, { size, overlap }: ChunkLengths) =>
  new RangeError(
    `with chunks of ${size} characters that share ${overlap} it makes about ${Math.round(count)} of them; at most ${MAX_CHUNKS}, of ${MAX_CHARACTERS} characters together`,
  )

/** The number of characters of a text; a surrogate pair counts once. */
const lengthOf = (text: string): number => text.length - (text.match(/[\u{10000}-\u{10ffff}]/gu)?.length ?? 0)

/** Cuts a text at the coarsest separator that it contains, and parts that are still too long at finer ones. */
function* chunksOf(text: string, separators: readonly string[], lengths: ChunkLengths): Generator<string> {
  const index = separators.findIndex((separator) => text.includes(separator))
  const separator = separators[index] ?? ''
  // A separator stays with the text after it. No surrogate pair is cut.
  const parts = separator === '' ? [...text] : text.split(new RegExp(`(?=${separator})`))
  let short: string[] = []
  for (const part of parts) {
    if (lengthOf(part) < lengths.size) {
      short.push(part)
      continue
    }
    yield* merged(short, lengths)
    short = []
    if (separator === '') yield part
    else yield* chunksOf(part, separators.slice(index + 1), lengths)
  }
  yield* merged(short, lengths)
}

/** Joins neighboring parts to chunks. Each chunk starts with the last parts of the previous one, up to the overlap. */
function* merged(parts: readonly string[], { size, overlap }: ChunkLengths): Generator<string> {
  const lengths = parts.map(lengthOf)
  let first = 0
  let total = 0
  for (const [index, length] of lengths.entries()) {
    if (first < index && total + length > size) {
      yield* trimmed(parts.slice(first, index))
      while (total > overlap || total + length > size) total -= lengths[first++] ?? 0
    }
    total += length
  }
  yield* trimmed(parts.slice(first))
}

/** The text of a chunk, unless it is only white space. */
function trimmed(parts: readonly string[]): string[] {
  const text = parts.join('').trim()
  return text === '' ? [] : [text]
}
