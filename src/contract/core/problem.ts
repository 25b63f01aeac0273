// What is wrong with a value.

/** One thing wrong with a value: where, and what would be right. */
export interface Problem {
  path: PropertyKey[]
  message: string
}
