// What a schema takes, as plain data: made of the schema (outline-of-schema.ts), and read by outline-parser.ts. The build leaves the outlines of
// what a start needs in the executable, where neither zod nor the schema is loaded before something is refused.
import type { RuleName } from '../contract/core/rules.ts'

/** What stands for a value that is not known to be valid. */
export const NOT_VALID = Symbol('refused')
/** What a schema makes of a value, or `REFUSED`. */
export type Parser = (value: unknown) => unknown

/** One rule that a value of the right kind has to follow; a live one is zod's own. */
export type SchemaRule =
  | { is: 'min' | 'max'; length: number }
  | { is: 'above' | 'below'; limit: number; inclusive: boolean }
  | { is: 'safeint' }
  | { is: 'pattern'; source: string; flags: string }
  | { is: 'test' | 'finds'; name: RuleName }
  | { is: 'live'; check: LiveCheck }
/** A value that zod's rules look at, and what they find. */
export interface Findings {
  value: unknown
  issues: object[]
}
/** A rule of zod's. */
export interface LiveCheck {
  check(findings: Findings): unknown
  def: { when?: (findings: Findings) => boolean }
}

/** A field of an object. */
export interface CompiledField {
  name: string
  /** What becomes of one that is not there: it stays so, or its parser says it; otherwise there is none without it. */
  absent: 'left out' | 'parsed' | 'refused'
  outline: CompiledSchema
}

/** What a schema takes, without its rules. */
export type CompiledKind =
  | { is: 'string' | 'boolean' | 'number' | 'unknown' }
  | { is: 'values'; values: readonly unknown[] }
  | { is: 'nullable' | 'optional' | 'array'; of: CompiledSchema }
  | { is: 'default' | 'prefault'; of: CompiledSchema; value: unknown }
  | { is: 'record'; key: CompiledSchema; of: CompiledSchema }
  | { is: 'pipe'; of: CompiledSchema; to: CompiledSchema }
  | { is: 'made'; by: RuleName }
  | { is: 'union'; options: readonly CompiledSchema[] }
  | {
      is: 'choice'
      by: string
      options: readonly { names: readonly string[]; absent: boolean; outline: CompiledSchema }[]
    }
  | { is: 'object'; fields: readonly CompiledField[]; others: 'kept' | 'dropped' | 'refused' }
  | { is: 'live'; parse: Parser }
/** What a schema takes; null is nothing that is known. */
export type CompiledSchema = (CompiledKind & { rules?: readonly SchemaRule[] }) | null
