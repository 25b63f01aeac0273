// Escapes untrusted text, such as model and file names, prompts and provider messages, so that no terminal and no CI
// runner interprets it. Every escape is one of JSON, so that the value of JSON is unchanged.
import { mapTexts } from './values.ts'

// Control characters (C0 except tab and line feed, DEL, C1), directional and invisible ones (Unicode's Cf), line
// separators, surrogates, and noncharacters.
const UNSEEN = /(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\ufffe\uffff]/gu
/** Signs before numbers, which are Cf but visible. */
const SEEN = /[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}]/u
const JOINER = /[\u200c\u200d]/
/** Characters before a joiner: emoji, and letters and marks of scripts that use joiners. */
const JOINED = /[\p{M}\p{sc=Arab}\p{sc=Syrc}\p{sc=Mong}\p{Extended_Pictographic}\p{Emoji_Modifier}]$/u
// A fast test: most texts have none of these.
const ASCII = /^[\t\n\x20-\x7e]*$/
/** `::name::` and `%%` at the start of a line, possibly after color codes. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
const AT_START = /^((?:[^\S\n]|\x1b\[\d*m)*)(?:(::)|%%)/gm
/** `##[name`, `##vso[name`, `##teamcity[name`: anywhere, as runners search for them. */
const ANYWHERE = /##(?=[\w.-]*\[)/g

const unit = (code: number) => `\\u${code.toString(16).padStart(4, '0')}`
const escaped = (character: string): string =>
  Array.from({ length: character.length }, (_, index) => unit(character.charCodeAt(index))).join('')

function shown(character: string, at: number, text: string): string {
  if (SEEN.test(character)) return character
  // A character takes at most two units.
  if (JOINER.test(character) && JOINED.test(text.slice(Math.max(0, at - 2), at))) return character
  return escaped(character)
}

/** A text of lines in which every character is visible; others are escaped as `\uXXXX`. Tabs and line feeds stay. */
export const printable = (text: string): string => (ASCII.test(text) ? text : text.replace(UNSEEN, shown))

/**
 * The same as one line: a line feed becomes `\n`.
 * @example
 * printableLine('a\nb') // => 'a\\nb'
 */
export const printableLine = (text: string): string => printable(text).replaceAll('\n', '\\n')

/**
 * A text in which no line is a command to a CI runner (GitHub, Azure Pipelines, TeamCity): the first character of such
 * a command is escaped as `\uXXXX`.
 */
export const withoutCommands = (text: string): string =>
  text
    .replace(AT_START, (_, before: string, colons?: string) => `${before}${colons ? '\\u003a:' : '\\u0025%'}`)
    .replace(ANYWHERE, '\\u0023#')

/** A value as JSON of visible characters, in one line or indented, in which no line is a command. */
export const printableJson = (value: unknown, indent?: number): string =>
  withoutCommands(printable(JSON.stringify(value, null, indent)))

/** A value whose texts, except for the names of fields, are printable lines. */
export const printableValues = <T>(value: T): T => mapTexts(value, printableLine) as T
