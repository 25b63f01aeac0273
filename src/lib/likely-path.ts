// Which known path somebody probably meant who called another.

/** Parts of a path that say a version or a place, not what is asked for. */
const PREFIXES = /^(v\d+(beta|alpha)?|api|openai|router|proxy|gateway|s)$/

/** The known path that ends like the one that was called, undefined parts as `:name`; null when none does. */
export function likelyPath(called: string, known: readonly string[]): string | null {
  const wanted = meaningOf(called)
  if (wanted.length === 0) return null
  const exact = known.find((path) => sameParts(meaningOf(path), wanted))
  if (exact !== undefined) return exact
  // A path within a longer one: a base URL that names the operation already, or a proxy's own folder.
  const within = known
    .filter((path) => {
      const parts = meaningOf(path)
      return parts.length > 1 && sameParts(wanted.slice(-parts.length), parts)
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

/** So many letters may be wrong. */
const MOST_WRONG = 2

function typoOf(called: string, known: readonly string[]): string | null {
  const wanted = meaningOf(called).join('/')
  let best: { path: string; wrong: number } | undefined
  for (const path of known) {
    if (path.includes(':')) continue
    const wrong = lettersBetween(meaningOf(path).join('/'), wanted)
    if (wrong <= MOST_WRONG && wrong < (best?.wrong ?? Number.POSITIVE_INFINITY)) best = { path, wrong }
  }
  return best?.path ?? null
}

/** How many letters must be changed, added or left out (Levenshtein). */
function lettersBetween(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > MOST_WRONG) return MOST_WRONG + 1
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
