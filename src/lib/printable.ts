// What others have written, as text that no terminal and no CI runner acts on: names of models and files, prompts, messages of providers.
// Every escape is one of JSON, so that JSON stays the same value.

// Controls (C0 but tab and line feed, DEL, C1), what changes the direction or cannot be seen (Unicode's Cf), its line separators, halves of
// pairs, and what is no character.
const UNSEEN = /(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\ufffe\uffff]/gu
/** Signs before numbers, which are Cf and can be seen. */
const SEEN = /[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}]/u
const JOINER = /[\u200c\u200d]/
/** What a joiner joins: emoji, and letters and marks of scripts that are written with it. */
const JOINED = /[\p{M}\p{sc=Arab}\p{sc=Syrc}\p{sc=Mong}\p{Extended_Pictographic}\p{Emoji_Modifier}]$/u
// Most of what is printed has none of these: that is found out faster.
const ASCII = /^[\t\n\x20-\x7e]*$/
/** `::name::`, `%%`: at the beginning of a line. Behind them, the colours in which a line may begin. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
const AT_START = /^((?:[^\S\n]|\x1b\[\d*m)*)(?:(::)|%%)/gm
/** `##[name`, `##vso[name`, `##teamcity[name`: anywhere, as runners look for them. */
const ANYWHERE = /##(?=[\w.-]*\[)/g

const unit = (code: number) => `\\u${code.toString(16).padStart(4, '0')}`
const escaped = (character: string): string =>
  Array.from({ length: character.length }, (_, index) => unit(character.charCodeAt(index))).join('')

function shown(character: string, at: number, text: string): string {
  if (SEEN.test(character)) return character
  // Two units are as much as a character takes.
  if (JOINER.test(character) && JOINED.test(text.slice(Math.max(0, at - 2), at))) return character
  return escaped(character)
}

/** A text, of lines, whose characters all are what they look like: others are `\uXXXX`. Tabs and line feeds stay. */
export const printable = (text: string): string => (ASCII.test(text) ? text : text.replace(UNSEEN, shown))

/**
 * The same, as one line: a line feed is `\n`.
 * @example
 * printableLine('a\nb') // => 'a\\nb'
 */
export const printableLine = (text: string): string => printable(text).replaceAll('\n', '\\n')

/**
 * A text, of lines, in which no line is a command to a CI runner (GitHub, Azure Pipelines, TeamCity): the first character of what would make it
 * one is `\uXXXX`.
 */
export const withoutCommands = (text: string): string =>
  text
    .replace(AT_START, (_, before: string, colons?: string) => `${before}${colons ? '\\u003a:' : '\\u0025%'}`)
    .replace(ANYWHERE, '\\u0023#')

/** A value as JSON of visible characters alone, in one line or so far indented, in which no line is a command either. */
export const printableJson = (value: unknown, indent?: number): string =>
  withoutCommands(printable(JSON.stringify(value, null, indent)))

/** A value whose texts, names of fields aside, are printable lines. */
export function printableValues<T>(value: T): T
export function printableValues(value: unknown): unknown {
  if (typeof value === 'string') return printableLine(value)
  if (Array.isArray(value)) return value.map((one) => printableValues(one))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, printableValues(inner)]))
}
