// What a built-in guardrail is: a function of texts that says what is wrong with them.

/** A check that needs no model. */
export interface BuiltIn {
  /** Its id without the namespace before it, such as `pii_detection`. */
  readonly name: string
  /** What is wrong with the texts, in words that quote nothing of them; null when they pass. */
  check(texts: readonly string[]): Promise<string | null>
}
