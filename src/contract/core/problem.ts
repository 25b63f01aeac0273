// Validation problems.

/** One problem of a value: its path, and what would be valid. */
export interface Problem {
  path: PropertyKey[]
  message: string
  /** The new name, if the key or the value at `path` is a former one. */
  rename?: { part: 'key' | 'value'; to: string }
}
