// Many texts as one: threads share a text, and copy a list of them one by one.

/** Some texts, joined, and where each ends. */
export interface PackedTexts {
  text: string
  /** Their lengths in UTF-16 units, with commas between them: a text too, since a message of texts alone is the fastest. */
  lengths: string
}

/** Texts as they are sent to a worker. */
export const packTexts = (texts: readonly string[]): PackedTexts => ({
  text: texts.join(''),
  lengths: texts.map(({ length }) => length).join(),
})

/** The texts again. */
export function unpackTexts({ text, lengths }: PackedTexts): string[] {
  if (lengths === '') return []
  let end = 0
  return lengths.split(',').map((length) => text.slice(end, (end += Number(length))))
}
