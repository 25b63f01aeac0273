// A schema as JSON, for caches and workers, unless it is too large to process.

/** Approximate size of the largest schema that is processed, in characters. */
const MAX_SCHEMA = 1_000_000

/** The error for a larger one. */
export const SCHEMA_TOO_LARGE = `it has more than ${MAX_SCHEMA} characters`

/** The schema as JSON; undefined, without serializing it, if it is too large. */
export const schemaText = (schema: object | boolean): string | undefined =>
  sizeUpTo(schema, MAX_SCHEMA) > MAX_SCHEMA ? undefined : JSON.stringify(schema)

/** The approximate length of a value as JSON; stops when the limit is reached. */
function sizeUpTo(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 4
  let size = 2
  if (Array.isArray(value)) {
    for (const inner of value) if ((size += 1 + sizeUpTo(inner, most - size)) > most) break
    return size
  }
  for (const key in value)
    if ((size += key.length + 4 + sizeUpTo((value as Record<string, unknown>)[key], most - size)) > most) break
  return size
}
