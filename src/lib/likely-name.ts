// Finds the known name that a misspelled one probably means.

import { presentName } from './former-names.ts'

/** Maximum number of wrong letters. */
export const MAX_WRONG = 2

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
