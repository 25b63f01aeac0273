// What is wrong with a value.

/** One thing wrong with a value: where, and what would be right. */
export interface Problem {
  path: PropertyKey[]
  message: string
  /** The new name, where the key or the value at `path` has a former one. */
  rename?: { part: 'key' | 'value'; to: string }
}
