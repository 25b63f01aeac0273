// Placeholders for redacted values, in cassettes and in everything else that is kept of a recorded or replayed call.

/** Kinds of redacted numbers, in the order of their codes. A number of any other kind has the last code. */
const NUMBER_KINDS = ['field', 'card-number', 'password', 'pin', 'ssn', 'phone', 'secret'] as const
/** Digits of a redacted number before its code. It stays below 2^53, so that it is exact in every language. */
const NUMBER_MARK = '-1111111111'
const MAX_NUMBER = 9_999

/** Matches placeholders in texts, and percent-encoded ones in URLs: kind and number. */
const TEXT = /(?:<|%3C)secret(?::|%3A)([a-z0-9-]{1,40})(?::|%3A)(\d{1,9})(?:>|%3E)/gi
const NUMBER = new RegExp(`(?<![\\w.+-])${NUMBER_MARK}(\\d\\d)(\\d{4})(?![\\w.])`, 'g')

/** A placeholder in a text. The end of the range is exclusive. */
interface PlaceholderFound {
  start: number
  end: number
  kind: string
  number: number
}

/**
 * The placeholder for a redacted text: its kind, and its number within the cassette.
 * @example
 * placeholder('email', 2) // => '<secret:email:2>'
 */
export const placeholder = (kind: string, number: number): string => `<secret:${kind}:${number}>`

/**
 * The placeholder for a redacted JSON number, which must stay a number: ten ones, a code for the kind, and its number within the
 * cassette, below zero.
 * @example
 * numberPlaceholder('card-number', 2) // => '-1111111111110002'
 */
export function numberPlaceholder(kind: string, number: number): string {
  const index = (NUMBER_KINDS as readonly string[]).indexOf(kind)
  const code = 10 + (index < 0 ? NUMBER_KINDS.length : index)
  return `${NUMBER_MARK}${code}${String(Math.min(number, MAX_NUMBER)).padStart(4, '0')}`
}

/**
 * The placeholders in a text, in order. Percent-encoded ones are not among them.
 * @example
 * placeholdersIn('a <secret:email:2>') // => [{ start: 2, end: 18, kind: 'email', number: 2 }]
 */
export function placeholdersIn(text: string): PlaceholderFound[] {
  if (!text.includes('<secret:')) return []
  return [...text.matchAll(TEXT)]
    .filter(({ 0: found }) => found.startsWith('<'))
    .map(({ 0: found, 1: kind = '', 2: number, index }) => ({
      start: index,
      end: index + found.length,
      kind,
      number: Number(number),
    }))
}

/** The kind and number of a redacted JSON number; undefined if the number is another one. */
export function redactedNumber(text: string): Pick<PlaceholderFound, 'kind' | 'number'> | undefined {
  if (!text.startsWith(NUMBER_MARK)) return undefined
  const [, code, number] = new RegExp(`^${NUMBER.source}$`).exec(text) ?? []
  return code === undefined ? undefined : { kind: NUMBER_KINDS[Number(code) - 10] ?? 'number', number: Number(number) }
}

/** The first placeholder in a text, of any form; undefined if it contains no placeholder. */
export const placeholderIn = (text: string): string | undefined =>
  (TEXT_ONCE.exec(text) ?? (text.includes(NUMBER_MARK) ? NUMBER_ONCE.exec(text) : null))?.[0]
/** Whether a text contains a placeholder of any form. */
export const hasPlaceholder = (text: string): boolean => placeholderIn(text) !== undefined
/** Whether a body certainly has no placeholder, in any encoding. */
export const hasNoPlaceholder = (body: string): boolean =>
  !body.includes('secret') && !body.includes(NUMBER_MARK) && !body.includes('%') && !body.includes('\\u')
const TEXT_ONCE = new RegExp(TEXT.source, 'i')
const NUMBER_ONCE = new RegExp(NUMBER.source)

/**
 * A text in which placeholders have other numbers.
 * @param number the new number, by the former one
 * @example
 * renumbered('<secret:email:7> -1111111111110007', () => 1) // => '<secret:email:1> -1111111111110001'
 */
export const renumbered = (text: string, number: (former: number) => number): string =>
  text
    .replace(TEXT, (found, _, former: string) => found.replace(/\d+(?=>$|%3E$)/i, () => String(number(Number(former)))))
    .replace(NUMBER, (_, code: string, former: string) => {
      const next = Math.min(number(Number(former)), MAX_NUMBER)
      return `${NUMBER_MARK}${code}${String(next).padStart(4, '0')}`
    })
