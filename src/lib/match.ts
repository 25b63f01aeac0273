// How texts, names and values are matched: fixtures and scenarios say it in the same words.
import { addSizes, byteCache, type CacheSize } from './byte-cache.ts'

/** A text to match: equal as a whole, or by one of these; letters of either case alike with `ignore_case`. */
export type TextMatch =
  | string
  | {
      equals?: string | undefined
      contains?: string | undefined
      regex?: string | undefined
      ignore_case?: boolean | undefined
    }

const TEXT_MATCH_KEYS = ['equals', 'contains', 'regex', 'ignore_case']
/** Whether the value wanted of an argument is no value, but says how its text is compared. */
export const isTextMatch = (wanted: unknown): wanted is TextMatch =>
  typeof wanted === 'object' &&
  wanted !== null &&
  Object.keys(wanted).length > 0 &&
  Object.keys(wanted).every((key) => TEXT_MATCH_KEYS.includes(key))

// Sessions come with patterns of their own, and go.
const globs = byteCache<RegExp>(2 << 20)
/** What a compiled pattern takes, about. */
const regexBytes = (source: string) => 500 + source.length * 10
/** A pattern in which `*` stands for any characters, for whole texts. */
export function globRegex(glob: string): RegExp {
  let regex = globs.get(glob)
  if (!regex) {
    regex = new RegExp(`^${glob.split('*').map(RegExp.escape).join('.*')}$`, 's')
    globs.set(glob, regex, regexBytes(glob))
  }
  return regex
}

// By their flags: a key of flags and source would be put together for every look-up.
const regexes = { u: byteCache<RegExp>(1 << 20), iu: byteCache<RegExp>(1 << 20) }
/** How much is remembered of compiled patterns. */
export const patternCacheSize = (): CacheSize => addSizes([globs.size(), regexes.u.size(), regexes.iu.size()])

function textRegex(source: string, flags: keyof typeof regexes): RegExp {
  let regex = regexes[flags].get(source)
  if (!regex) {
    regex = new RegExp(source, flags)
    regexes[flags].set(source, regex, regexBytes(source))
  }
  return regex
}

const fold = (text: string, folded: boolean) => (folded ? text.toLowerCase() : text)

/** The captures of a text that matches, else undefined. */
export function matchText(match: TextMatch, text: string): Record<string, string> | undefined {
  if (typeof match === 'string') return match === text ? {} : undefined
  const { ignore_case: folded = false } = match
  if (match.equals !== undefined) return fold(match.equals, folded) === fold(text, folded) ? {} : undefined
  if (match.contains !== undefined) return fold(text, folded).includes(fold(match.contains, folded)) ? {} : undefined
  const found = textRegex(match.regex ?? '', folded ? 'iu' : 'u').exec(text)
  return found ? { ...found.groups } : undefined
}

/** Whether a number is the one wanted, or in the range, its ends included. */
export function isWithin(
  value: number,
  range: number | { min?: number | undefined; max?: number | undefined },
): boolean {
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } =
    typeof range === 'number' ? { min: range, max: range } : range
  return value >= min && value <= max
}

/** The value at a path such as `messages[0].content`, undefined where there is none. */
export const valueAtPath = (root: unknown, path: string): unknown =>
  path
    .split(/[.[\]]/)
    .filter((step) => step !== '')
    .reduce<unknown>((value, step) => (value as Record<string, unknown> | null | undefined)?.[step], root)

/** Whether a number lies from the first to the last one. */
export const inRange = (value: number, [first, last]: readonly [number, number]) => value >= first && value <= last
