// The maximum nesting of untrusted values: a value nested deeper than the stack allows can be read, but not written.

/** Levels of arrays and objects: far more than anyone needs, far fewer than exhaust the stack. */
export const MAX_DEPTH = 500

/** A JSON text is nested too deep. The message continues a sentence about the text. */
export class NestedTooDeep extends Error {}

/**
 * The value of a JSON text.
 * @throws SyntaxError if the text is not JSON
 * @throws NestedTooDeep
 */
export function parseNested(text: string): unknown {
  const value: unknown = JSON.parse(text)
  // Each level takes at least two characters.
  const problem = text.length > 2 * MAX_DEPTH ? nestingProblem(value) : undefined
  if (problem) throw new NestedTooDeep(problem)
  return value
}

/** The problem of a value that is nested too deep, as the continuation of a sentence; undefined if it is not. */
export const nestingProblem = (value: unknown): string | undefined =>
  deeperThan(MAX_DEPTH, value) ? `is nested more than ${MAX_DEPTH} levels deep` : undefined

function deeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  if (Array.isArray(value)) {
    for (const inner of value) if (deeperThan(levels - 1, inner)) return true
    return false
  }
  // A body may have many objects: making a list of each one's values would take most of the time.
  for (const key in value) if (deeperThan(levels - 1, (value as Record<string, unknown>)[key])) return true
  return false
}
