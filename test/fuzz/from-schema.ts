// A value of a JSON Schema, valid for the most part: what gets past the first check reaches the code behind it.
import { hostileText, hostileValue } from './hostile.ts'
import type { Chance } from './random.ts'

/** A JSON Schema, as far as documents of ours use it. */
export interface Schema {
  $ref?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  examples?: unknown[]
  default?: unknown
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  format?: string
  pattern?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  exclusiveMaximum?: number
  minItems?: number
  maxItems?: number
  items?: Schema | boolean
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema | boolean
  propertyNames?: Schema
}

/** What values are made with. */
export interface Making {
  chance: Chance
  /** The schema that a reference names. */
  resolve(reference: string): Schema
  /** Ids and names that the server has said. */
  known: readonly string[]
  /** How seldom a part is replaced by any value at all: one in so many. */
  sanity: number
}

const MAX_DEPTH = 7
const FORMATS: Record<string, readonly string[]> = {
  'date-time': ['2025-01-01T00:00:00Z', '2025-01-01T00:00:00.000+02:00', '0001-01-01T00:00:00Z'],
  uuid: ['00000000-0000-4000-8000-000000000000'],
  uri: ['https://example.com/a', 'data:,x'],
  email: ['ada@example.com'],
  base64: ['', 'YQ==', 'AAAA'],
}
const WORDS = [
  'openai/gpt-4o',
  'anthropic/claude-sonnet-4',
  'hello',
  'a',
  'Default',
  'look_up',
  'gpt-4o',
  'outage',
  'x'.repeat(90),
]

/** A value of a schema. */
export function schemaValue(schema: Schema, making: Making, depth = 0): unknown {
  const { chance, resolve, sanity } = making
  if (chance.oneIn(sanity)) return hostileValue(chance)
  if (schema.$ref) return schemaValue(resolve(schema.$ref), making, depth + 1)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return schemaValue(chance.pick(choices), making, depth + 1)
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map((part) => schemaValue(part, making, depth + 1)))
  if ('const' in schema) return schema.const
  if (schema.enum) return chance.pick(schema.enum)
  if (schema.examples && chance.oneIn(2)) return chance.pick(schema.examples)
  if ('default' in schema && chance.oneIn(4)) return schema.default
  return typed(schema, making, depth)
}

function typed(schema: Schema, making: Making, depth: number): unknown {
  const { chance } = making
  const type = Array.isArray(schema.type) ? chance.pick(schema.type) : schema.type
  switch (type) {
    case 'string':
      return textOf(schema, making)
    case 'integer':
    case 'number':
      return numberOf(schema, chance, type)
    case 'boolean':
      return chance.oneIn(2)
    case 'null':
      return null
    case 'array':
      return arrayOf(schema, making, depth)
    case 'object':
      return objectOf(schema, making, depth)
    default:
      return hostileValue(chance)
  }
}

function textOf({ format, pattern, minLength = 0, maxLength }: Schema, { chance, known }: Making): string {
  if (chance.oneIn(12)) return hostileText(chance)
  if (known.length > 0 && chance.oneIn(3)) return chance.pick(known)
  if (format && FORMATS[format]) return chance.pick(FORMATS[format])
  if (pattern && chance.oneIn(2)) return chance.pick(['a', 'A', '1', 'a-b', 'a/b', '1s'])
  if (maxLength !== undefined && chance.oneIn(8)) return 'x'.repeat(Math.min(20_000, maxLength + chance.below(2)))
  return chance.pick(WORDS).padEnd(Math.min(minLength, 1_000), 'x')
}

function numberOf(schema: Schema, chance: Chance, type: 'integer' | 'number'): number {
  const low = schema.minimum ?? schema.exclusiveMinimum ?? 0
  const high = schema.maximum ?? schema.exclusiveMaximum ?? low + 10
  const inside = low + chance.next() * (high - low)
  const value = chance.pick([low, high, inside, inside, inside, low - 1, high + 1])
  return type === 'integer' ? Math.round(value) : value
}

function arrayOf({ items, minItems = 0, maxItems = 4 }: Schema, making: Making, depth: number): unknown[] {
  if (depth > MAX_DEPTH || typeof items === 'boolean' || !items) return []
  const length = Math.min(maxItems + making.chance.below(2), minItems + making.chance.below(3), 20)
  return Array.from({ length }, () => schemaValue(items, making, depth + 1))
}

function objectOf(schema: Schema, making: Making, depth: number): object {
  const { properties = {}, required = [], additionalProperties } = schema
  const { chance } = making
  const object: Record<string, unknown> = {}
  for (const [name, property] of Object.entries(properties)) {
    const wanted = required.includes(name) ? !chance.oneIn(60) : depth <= MAX_DEPTH && chance.oneIn(5)
    if (wanted) object[name] = schemaValue(property, making, depth + 1)
  }
  if (additionalProperties && chance.oneIn(2)) {
    const value = typeof additionalProperties === 'object' ? schemaValue(additionalProperties, making, depth + 1) : 'x'
    object[chance.oneIn(3) ? hostileText(chance) : 'key'] = value
  }
  return object
}
