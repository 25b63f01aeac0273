// A schema as JSON, by which it is remembered and sent to a worker, unless it is larger than any that is worked with.

/** Characters of the largest schema that is read, about. */
const MAX_SCHEMA = 1_000_000

/** What is wrong with a larger one. */
export const SCHEMA_TOO_LARGE = `it has more than ${MAX_SCHEMA} characters`

/** The schema as JSON; undefined, and not written, when it is too large. */
export const schemaText = (schema: object | boolean): string | undefined =>
  sizeUpTo(schema, MAX_SCHEMA) > MAX_SCHEMA ? undefined : JSON.stringify(schema)

/** The characters of a value as JSON, about; no further than it matters. */
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
