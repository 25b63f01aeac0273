// A built-in guardrail: a function of texts that returns what is wrong with them.

/** A check that needs no model. */
export interface BuiltIn {
  /** Its id without the namespace, such as `pii_detection`. */
  readonly name: string
  /** The reason why the texts do not pass, without quoting them; null if they pass. */
  check(texts: readonly string[]): Promise<string | null>
}
