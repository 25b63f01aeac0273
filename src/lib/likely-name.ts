// Finds the known name, or the known path, that a misspelled or unknown one probably means.

import { presentName } from './former-names.ts'

/** Maximum number of wrong letters. */
const MAX_WRONG = 2

/** The known name that replaced the given one, or is similar to it; undefined if none is. */
function likelyName(written: string, known: readonly string[]): string | undefined {
  const present = presentName(written, known)
  if (present !== undefined) return present
  const near = known
    .map((name) => ({ name, wrong: lettersBetween(name.toLowerCase(), written.toLowerCase()) }))
    .filter(({ name, wrong }) => wrong <= Math.min(MAX_WRONG, name.length - 2))
  return near.toSorted((one, other) => one.wrong - other.wrong)[0]?.name ?? beginningWith(written, known)
}

/** The only name that starts with the given text. */
function beginningWith(written: string, known: readonly string[]): string | undefined {
  const longer = known.filter((name) => name.startsWith(`${written}.`))
  return longer.length === 1 ? longer[0] : undefined
}

/**
 * " (did you mean 'x'?)", or an empty text if no known name is similar.
 * @example
 * suggestion('modle', ['model', 'messages']) // => " (did you mean 'model'?)"
 * suggestion('temperature', ['model', 'messages']) // => ''
 */
export function suggestion(written: string, known: readonly string[]): string {
  const name = likelyName(written, known)
  return name === undefined ? '' : ` (did you mean '${name}'?)`
}

/** The edit distance (Levenshtein). Beyond `MAX_WRONG`, only that it is larger. */
export function lettersBetween(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > MAX_WRONG) return MAX_WRONG + 1
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let index = 0; index < one.length; index++) {
    const next = [index + 1]
    for (let column = 0; column < other.length; column++) {
      const change = (row[column] ?? 0) + (one[index] === other[column] ? 0 : 1)
      next.push(Math.min(change, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1))
    }
    row = next
  }
  return row[other.length] ?? 0
}

/** Path segments for a version or a location, which do not identify the operation. */
const PREFIXES = /^(v\d+(beta|alpha)?|api|openai|router|proxy|gateway|s)$/

/** The known path that ends like the called one, with undefined segments as `:name`; null if none does. */
export function likelyPath(called: string, known: readonly string[]): string | null {
  const intended = meaningOf(called)
  if (intended.length === 0) return null
  const parts = partsOf(called)
  // Several APIs have some paths: that which shares most with the called path, or the shortest.
  const [exact] = known
    .filter((path) => sameParts(meaningOf(path), intended))
    .toSorted((one, other) => shared(other, parts) - shared(one, parts) || one.length - other.length)
  if (exact !== undefined) return exact
  // A path within a longer one: a base URL that contains the operation already, or a proxy's own folder.
  const within = known
    .filter((path) => {
      const parts = meaningOf(path)
      return parts.length > 1 && sameParts(intended.slice(-parts.length), parts)
    })
    .toSorted((one, other) => other.length - one.length)
  return within[0] ?? typoOf(called, known)
}

const shared = (path: string, parts: readonly string[]): number =>
  partsOf(path).filter((part) => parts.includes(part)).length
const partsOf = (path: string): string[] => path.split('/').filter((part) => part !== '')
function meaningOf(path: string): string[] {
  const parts = partsOf(path.toLowerCase())
  const first = parts.findIndex((part) => !PREFIXES.test(part))
  return first < 0 ? [] : parts.slice(first)
}

const sameParts = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length &&
  one.every((part, index) => part === other[index] || part.startsWith(':') || other[index]?.startsWith(':'))

function typoOf(called: string, known: readonly string[]): string | null {
  const intended = meaningOf(called).join('/')
  let best: { path: string; wrong: number } | undefined
  for (const path of known) {
    if (path.includes(':')) continue
    const wrong = lettersBetween(meaningOf(path).join('/'), intended)
    if (wrong <= MAX_WRONG && wrong < (best?.wrong ?? Number.POSITIVE_INFINITY)) best = { path, wrong }
  }
  return best?.path ?? null
}
