// How deep a value may be nested, whoever sent it: what is nested deeper than a stack is high can be read, but not written.

/** Levels of arrays and objects: far more than anybody needs, far fewer than exhaust the stack. */
export const MAX_DEPTH = 500

/** Whether a JSON text may be nested too deep: each level takes two characters at least. */
export const mayNestTooDeep = (text: string): boolean => text.length > 2 * MAX_DEPTH

/** What is wrong with a value that is nested too deep, in words that follow its name; undefined when nothing is. */
export const nestingProblem = (value: unknown): string | undefined =>
  deeperThan(MAX_DEPTH, value) ? `is nested more than ${MAX_DEPTH} levels deep` : undefined

function deeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  if (Array.isArray(value)) {
    for (const inner of value) if (deeperThan(levels - 1, inner)) return true
    return false
  }
  // A body may have many objects: a list of the values of each would take most of the time.
  for (const key in value) if (deeperThan(levels - 1, (value as Record<string, unknown>)[key])) return true
  return false
}
