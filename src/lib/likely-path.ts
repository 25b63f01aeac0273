// Finds the known path that an unknown one probably means.
import { lettersBetween, MAX_WRONG } from './likely-name.ts'

/** Path segments for a version or a location, which do not identify the operation. */
const PREFIXES = /^(v\d+(beta|alpha)?|api|openai|router|proxy|gateway|s)$/

/** The known path that ends like the called one, with undefined segments as `:name`; null if none does. */
export function likelyPath(called: string, known: readonly string[]): string | null {
  const intended = meaningOf(called)
  if (intended.length === 0) return null
  const exact = known.find((path) => sameParts(meaningOf(path), intended))
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
