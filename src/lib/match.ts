// Matching of texts, names and values, for fixtures and scenarios.
import { type BoundedRegex, boundedRegex, type RegexBudget } from './bounded-regex.ts'
import { addSizes, byteCache, type CacheSize } from './byte-cache.ts'

/** A text to match: equal as a whole, or by one of these. With `ignore_case`, letters of either case are equal. */
export type TextMatch =
  | string
  | {
      equals?: string | undefined
      contains?: string | undefined
      regex?: string | undefined
      ignore_case?: boolean | undefined
    }

const TEXT_MATCH_KEYS = ['equals', 'contains', 'regex', 'ignore_case']
/** Whether the expected value of an argument is a text comparison instead of a value. */
export const isTextMatch = (expected: unknown): expected is TextMatch =>
  typeof expected === 'object' &&
  expected !== null &&
  Object.keys(expected).length > 0 &&
  Object.keys(expected).every((key) => TEXT_MATCH_KEYS.includes(key))

/** Globs by pattern, at most 2 MiB. A lookup takes 0.04 us, parsing one 0.15 us, and a call may test hundreds. */
const globs = byteCache<Glob>(2 << 20)
/** Approximate size of a compiled pattern. */
const globBytes = (source: string) => 200 + source.length * 10
/** Approximate size of a compiled expression, with character tables. */
const regexBytes = (source: string) => 2_000 + source.length * 200

/** A pattern for whole texts. */
interface Glob {
  test(text: string): boolean
}

/**
 * A pattern for whole texts, in which `*` matches any characters.
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

/** A pattern is fixed between its stars: each piece is searched once, after the previous one. */
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
 * Expressions by source, at most 4 MiB for each set of flags (a combined key would have to be built for every lookup).
 * Compiling one takes 10 us.
 */
const regexes = { u: byteCache<BoundedRegex>(4 << 20), iu: byteCache<BoundedRegex>(4 << 20) }
/** The size of the caches of compiled patterns. */
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
 * The captures of a text that matches; undefined if it does not.
 * @param budget returns the steps that regular expressions may take
 * @throws RegexLimit if one takes more
 */
export function matchText(
  match: TextMatch,
  text: string,
  budget: () => RegexBudget,
): Record<string, string> | undefined {
  if (typeof match === 'string') return match === text ? {} : undefined
  const { ignore_case: folded = false } = match
  if (match.equals !== undefined) return fold(match.equals, folded) === fold(text, folded) ? {} : undefined
  if (match.contains !== undefined) return fold(text, folded).includes(fold(match.contains, folded)) ? {} : undefined
  return textRegex(match.regex ?? '', folded ? 'iu' : 'u').exec(text, budget()) as Record<string, string> | undefined
}

/** Whether a number equals the expected one, or is in the range, limits included. */
export function isWithin(
  value: number,
  range: number | { min?: number | undefined; max?: number | undefined },
): boolean {
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } =
    typeof range === 'number' ? { min: range, max: range } : range
  return value >= min && value <= max
}

/**
 * The value at a path such as `messages[0].content`; undefined if there is none.
 * @example
 * valueAtPath({ user: { tier: 'gold' } }, 'user.tier') // => 'gold'
 */
export const valueAtPath = (root: unknown, path: string): unknown =>
  path
    .split(/[.[\]]/)
    .filter((step) => step !== '')
    .reduce<unknown>((value, step) => (value as Record<string, unknown> | null | undefined)?.[step], root)

/** Whether a number is in a range, limits included. */
export const inRange = (value: number, [first, last]: readonly [number, number]) => value >= first && value <= last
