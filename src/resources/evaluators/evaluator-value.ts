// The value of an evaluator: its kind, how it is requested and parsed, and whether it passes as a guardrail.

import type { Evaluation } from '../../contract/core/trace.ts'
import type { EvaluatorFields, GuardrailConfig } from '../../contract/workspace/evaluator.ts'
import { quote } from '../../schema/validation.ts'

type Value = Evaluation['value']

/** A kind of value. */
interface ValueKind {
  /** Its JSON Schema. */
  schema: object
  /** Its description. */
  description: string
  /** Parses a model's value; null if it is not of this kind. */
  read(written: string): Value
  /** A plausible default value. */
  plausible: Value
}

const boolean: ValueKind = {
  schema: { type: 'boolean' },
  description: 'true or false',
  read: (written) => (/^(?:true|yes)\b/i.test(written) ? true : /^(?:false|no)\b/i.test(written) ? false : null),
  plausible: true,
}
const number: ValueKind = {
  schema: { type: 'number' },
  description: 'a number',
  read: (written) => (written !== '' && Number.isFinite(Number(written)) ? Number(written) : null),
  plausible: 1,
}
const string: ValueKind = {
  schema: { type: 'string' },
  description: 'a text',
  read: (written) => written,
  plausible: '',
}
const categorical = (categories: readonly string[]): ValueKind => ({
  schema: { type: 'string', enum: categories },
  description: `one of ${categories.map(quote).join(', ')}`,
  read: (written) => categories.find((one) => one.toLowerCase() === written.toLowerCase()) ?? null,
  plausible: categories[0] ?? null,
})

/** The kind of an evaluator's value: the declared one, else that of its guardrail, else boolean. */
export function kindOf({
  output_type,
  guardrail_config: config,
  categories,
  categorical_labels,
}: EvaluatorFields): ValueKind {
  const labels = categorical_labels?.map(({ value }) => value)
  const named = categories ?? labels ?? (config?.type === 'categorical' ? config.values : [])
  const type = output_type ?? config?.type ?? (named.length > 0 ? 'categorical' : 'boolean')
  if (type === 'categorical') return named.length > 0 ? categorical(named) : string
  return { boolean, number, string }[type]
}

/** Combines values: the mean of numbers; otherwise the most frequent value, the earliest of equally frequent ones. */
export function together(values: readonly Value[]): Value {
  const numbers = values.filter((value) => typeof value === 'number')
  if (numbers.length === values.length) return numbers.reduce((sum, value) => sum + value, 0) / numbers.length
  const times = (value: Value) => values.filter((one) => one === value).length
  return values.toSorted((a, b) => times(b) - times(a))[0] ?? null
}

const COMPARED: Record<string, { holds(value: number, limit: number): boolean; step: number }> = {
  eq: { holds: (value, limit) => value === limit, step: 0 },
  ne: { holds: (value, limit) => value !== limit, step: 1 },
  gt: { holds: (value, limit) => value > limit, step: 1 },
  gte: { holds: (value, limit) => value >= limit, step: 0 },
  lt: { holds: (value, limit) => value < limit, step: -1 },
  lte: { holds: (value, limit) => value <= limit, step: 0 },
}

/** A value that passes. */
export function passing(config: GuardrailConfig): Value {
  if (config.type === 'number') return config.value + (COMPARED[config.operator]?.step ?? 0)
  return config.type === 'boolean' ? config.value : (config.values[0] ?? null)
}

/** Whether a value passes. */
export function passes(value: Value, config: GuardrailConfig): boolean {
  if (config.type === 'boolean') return value === config.value
  if (config.type === 'categorical') return typeof value === 'string' && config.values.includes(value)
  return typeof value === 'number' && COMPARED[config.operator]?.holds(value, config.value) === true
}

/** A description of passing values. */
export function expectedValue(config: GuardrailConfig): string {
  if (config.type === 'boolean') return String(config.value)
  return config.type === 'categorical' ? config.values.map(quote).join(' or ') : `${config.operator} ${config.value}`
}
