// How texts, names and values are matched: fixtures and scenarios say it in the same words.
import { type BoundedRegex, boundedRegex, type RegexBudget } from './bounded-regex.ts'
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

/** Globs by pattern, at most 2 MiB: a look-up takes 0.04 us, to read one 0.15 us, and a call may test hundreds. */
const globs = byteCache<Glob>(2 << 20)
/** What a compiled pattern takes, about. */
const globBytes = (source: string) => 200 + source.length * 10
/** Steps, with a table of characters for some of them. */
const regexBytes = (source: string) => 2_000 + source.length * 200

/** A pattern for whole texts. */
interface Glob {
  test(text: string): boolean
}

/**
 * A pattern in which `*` stands for any characters, for whole texts.
 * @example
 * globRegex('gpt-*').test('gpt-4o') // => true
 * globRegex('gpt-*').test('my-gpt-4o') // => false
 */
export function globRegex(pattern: string): Glob {
  let glob = globs.get(pattern)
  if (!glob) {
    glob = globOf(pattern)
    globs.set(pattern, glob, globBytes(pattern))
  }
  return glob
}

/** Between its stars a pattern is fixed: each piece is looked for once, behind the one before. */
function globOf(pattern: string): Glob {
  const [head = '', ...rest] = pattern.split('*')
  const tail = rest.pop()
  if (tail === undefined) return { test: (text) => text === pattern }
  const pieces = rest.filter((piece) => piece !== '')
  return {
    test(text) {
      const end = text.length - tail.length
      if (end < head.length || !text.startsWith(head) || !text.endsWith(tail)) return false
      let at = head.length
      for (const piece of pieces) {
        const found = text.indexOf(piece, at)
        if (found < 0) return false
        at = found + piece.length
      }
      return at <= end
    },
  }
}

/**
 * Expressions by source, at most 4 MiB for each of the flags (a key of both would be put together for every look-up): to
 * compile one takes 10 us.
 */
const regexes = { u: byteCache<BoundedRegex>(4 << 20), iu: byteCache<BoundedRegex>(4 << 20) }
/** How much is remembered of compiled patterns. */
export const patternCacheSize = (): CacheSize => addSizes([globs.size(), regexes.u.size(), regexes.iu.size()])

function textRegex(source: string, flags: keyof typeof regexes): BoundedRegex {
  let regex = regexes[flags].get(source)
  if (!regex) {
    regex = boundedRegex(source, { ignoreCase: flags === 'iu' })
    regexes[flags].set(source, regex, regexBytes(source))
  }
  return regex
}

const fold = (text: string, folded: boolean) => (folded ? text.toLowerCase() : text)

/**
 * The captures of a text that matches, else undefined.
 * @param budget steps that regular expressions may take
 * @throws RegexLimit when one takes more
 */
export function matchText(match: TextMatch, text: string, budget: RegexBudget): Record<string, string> | undefined {
  if (typeof match === 'string') return match === text ? {} : undefined
  const { ignore_case: folded = false } = match
  if (match.equals !== undefined) return fold(match.equals, folded) === fold(text, folded) ? {} : undefined
  if (match.contains !== undefined) return fold(text, folded).includes(fold(match.contains, folded)) ? {} : undefined
  return textRegex(match.regex ?? '', folded ? 'iu' : 'u').exec(text, budget) as Record<string, string> | undefined
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

/**
 * The value at a path such as `messages[0].content`, undefined where there is none.
 * @example
 * valueAtPath({ user: { tier: 'gold' } }, 'user.tier') // => 'gold'
 */
export const valueAtPath = (root: unknown, path: string): unknown =>
  path
    .split(/[.[\]]/)
    .filter((step) => step !== '')
    .reduce<unknown>((value, step) => (value as Record<string, unknown> | null | undefined)?.[step], root)

/** Whether a number lies from the first to the last one. */
export const inRange = (value: number, [first, last]: readonly [number, number]) => value >= first && value <= last
