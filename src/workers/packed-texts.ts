// Packs many texts as one: threads share a text, but copy a list item by item.

/** Several texts, joined, with their lengths. */
export interface PackedTexts {
  text: string
  /** Their lengths in UTF-16 units, separated by commas: as a text, since a message of texts alone is the fastest. */
  lengths: string
}

/** Packs texts for a worker. */
export const packTexts = (texts: readonly string[]): PackedTexts => ({
  text: texts.join(''),
  lengths: texts.map(({ length }) => length).join(),
})

/** Unpacks them. */
export function unpackTexts({ text, lengths }: PackedTexts): string[] {
  if (lengths === '') return []
  let end = 0
  return lengths.split(',').map((length) => text.slice(end, (end += Number(length))))
}
