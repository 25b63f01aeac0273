// Long content of spans: shortened where it is long, so that what is exported is whole JSON and says what it lacks.

/** Characters that are kept of each text, from much to little: what makes a message long is nearly always one text of it. */
const TEXT_LENGTHS = [16_000, 4_000, 1_000, 200]

/** A list as JSON of at most so many characters, and how many characters its whole JSON has where that is more. */
export interface LimitedJson {
  json: string
  /** Of the whole; undefined when nothing was left out. */
  whole?: number
}

/**
 * A list of values as JSON. Of one that is too long, texts are shortened, each says how much of it is missing; when that is not enough, elements
 * between the first and the last ones are left out.
 */
export function limitedJson(values: readonly unknown[], longest: number): LimitedJson {
  const json = JSON.stringify(values)
  const whole = json.length
  if (whole <= longest) return { json }
  let shortened = values
  for (const length of TEXT_LENGTHS) {
    shortened = values.map((value) => shortenedIn(value, length))
    const text = JSON.stringify(shortened)
    if (text.length <= longest) return { json: text, whole }
  }
  return { json: `[${endsOf(shortened, longest).join(',')}]`, whole }
}

/** A text's beginning, never half a character, and how much more there was. */
function shortenedText(text: string, length: number): string {
  if (text.length <= length) return text
  const kept = text.slice(0, endWithin(text, length))
  return `${kept}... (${text.length - kept.length} more characters)`
}

/** Where a text may be cut at or before a place: not between the halves of a surrogate pair. */
export const endWithin = (text: string, length: number): number =>
  length > 0 && /[\ud800-\udbff]/.test(text[length - 1] ?? '') && /[\udc00-\udfff]/.test(text[length] ?? '')
    ? length - 1
    : length

function shortenedIn(value: unknown, length: number): unknown {
  if (typeof value === 'string') return shortenedText(value, length)
  if (Array.isArray(value)) return value.map((one) => shortenedIn(one, length))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shortenedIn(one, length)]))
}

/** The first and the last elements as JSON, as many as fit: a conversation begins with its instructions and ends with its question. */
function endsOf(values: readonly unknown[], longest: number): string[] {
  const texts = values.map((value) => JSON.stringify(value))
  // The brackets, and a comma for each.
  let left = longest - 2
  const fits = (text: string | undefined) => text !== undefined && (left -= text.length + 1) >= 0
  const first = fits(texts[0]) ? texts.slice(0, 1) : []
  if (first.length === 0) left = longest - 2
  const last: string[] = []
  for (let index = texts.length - 1; index >= 1 && fits(texts[index]); index--) last.unshift(texts[index] ?? '')
  return [...first, ...last]
}
