// Which known name somebody probably meant who wrote another.

import { presentName } from './former-names.ts'

/** So many letters may be wrong. */
export const MAX_WRONG = 2

/** The known name that replaces the one that was written, or is nearly it; undefined when none is. */
function likelyName(written: string, known: readonly string[]): string | undefined {
  const present = presentName(written, known)
  if (present !== undefined) return present
  const near = known
    .map((name) => ({ name, wrong: lettersBetween(name.toLowerCase(), written.toLowerCase()) }))
    .filter(({ name, wrong }) => wrong <= Math.min(MAX_WRONG, name.length - 2))
  return near.toSorted((one, other) => one.wrong - other.wrong)[0]?.name ?? beginningWith(written, known)
}

/** The one name that begins like this. */
function beginningWith(written: string, known: readonly string[]): string | undefined {
  const longer = known.filter((name) => name.startsWith(`${written}.`))
  return longer.length === 1 ? longer[0] : undefined
}

/**
 * " (did you mean 'x'?)", or nothing when no known name is near.
 * @example
 * suggestion('modle', ['model', 'messages']) // => " (did you mean 'model'?)"
 * suggestion('temperature', ['model', 'messages']) // => ''
 */
export function suggestion(written: string, known: readonly string[]): string {
  const name = likelyName(written, known)
  return name === undefined ? '' : ` (did you mean '${name}'?)`
}

/** How many letters must be changed, added or left out (Levenshtein); beyond `MAX_WRONG` only that it is more. */
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
