// A schema as plain data, created by compile.ts and read by parser.ts. The build embeds the compiled schemas that a
// start needs, so that neither zod nor the schema is loaded before a value is rejected.
import type { RuleName } from '../contract/core/rules.ts'

/** Returned for a value that is not known to be valid. */
export const NOT_VALID = Symbol('refused')
/** Parses a value, or returns `NOT_VALID`. */
export type Parser = (value: unknown) => unknown

/** A rule for a value of the right type; a live one is zod's own. */
export type SchemaRule =
  | { is: 'min' | 'max'; length: number }
  | { is: 'above' | 'below'; limit: number; inclusive: boolean }
  | { is: 'safeint' }
  | { is: 'pattern'; source: string; flags: string }
  | { is: 'test' | 'finds'; name: RuleName }
  | { is: 'live'; check: LiveCheck }
/** A value and the issues that zod's rules find. */
export interface Findings {
  value: unknown
  issues: object[]
}
/** A rule of zod. */
export interface LiveCheck {
  check(findings: Findings): unknown
  def: { when?: (findings: Findings) => boolean }
}

/** A field of an object. */
export interface CompiledField {
  name: string
  /** What happens to an absent field: it is omitted, its parser supplies a value, or the object is rejected. */
  absent: 'left out' | 'parsed' | 'refused'
  outline: CompiledSchema
}

/** A type of values, without its rules. */
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
/** A compiled schema; null means unknown. */
export type CompiledSchema = (CompiledKind & { rules?: readonly SchemaRule[] }) | null
