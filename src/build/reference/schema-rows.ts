// The keys of a schema as rows of a table: each with its type, its default and what it means, in two columns that fit a phone.

import { z } from 'zod'
import { Duration } from '../../contract/core/duration.ts'
import { textMatchSchema } from '../../contract/core/text-match-schema.ts'
import { Amount, Range } from '../../scenarios/schema.ts'
import { code, table } from './markdown.ts'

/** The part of JSON Schema that zod makes of our schemas. */
interface Schema {
  type?: string | readonly string[]
  description?: string
  default?: unknown
  const?: unknown
  enum?: readonly unknown[]
  anyOf?: readonly Schema[]
  oneOf?: readonly Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: readonly string[]
  additionalProperties?: Schema | boolean
  pattern?: string
  format?: string
  $ref?: string
  $defs?: Record<string, Schema>
}

type Direction = 'input' | 'output'

const toJson = (schema: z.ZodType, io: Direction) => z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as Schema

/** The form of a schema without what differs from one use to the next. */
const formOf = ({ description: _, default: __, ...schema }: Schema): string => JSON.stringify(schema)
const named = ([name, schema]: [string, z.ZodType]) => {
  const { $schema: _, ...form } = toJson(schema, 'input') as Schema & { $schema?: string }
  return [formOf(form), name] as const
}
/** Forms that have a name of their own, which a page explains once. */
const NAMES = new Map(
  (
    [
      ['duration', Duration],
      ['text match', textMatchSchema],
      ['number or range', Range],
      ['amount or range', Amount],
    ] as [string, z.ZodType][]
  ).map(named),
)

/** A type in words. */
function typeOf(schema: Schema): string {
  const name = NAMES.get(formOf(schema))
  if (name) return name
  if (schema.const !== undefined) return code(JSON.stringify(schema.const))
  if (schema.enum) return schema.enum.map((value) => code(String(value))).join(', ')
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) {
    const types = choices.filter(({ type }) => type !== 'null').map(typeOf)
    const all = [...new Set(types), ...(types.length < choices.length ? ['null'] : [])]
    return all.join(' or ')
  }
  if (Array.isArray(schema.type)) return schema.type.map((type: string) => typeOf({ ...schema, type })).join(' or ')
  if (schema.format === 'date-time') return schema.type === 'null' ? 'null' : 'time'
  if (schema.type === 'array') return `list of ${typeOf(schema.items ?? {})}`
  if (schema.type === 'object') return 'mapping'
  if (schema.type === 'integer' || schema.type === 'number') return 'number'
  return String(schema.type ?? 'any value')
}

/** One key with everything below it. */
interface Row {
  path: string
  schema: Schema
  required: boolean
}

/** The keys below a schema, down to `depth` levels; named forms are not opened. */
function rowsOf(schema: Schema, prefix: string, depth: number): Row[] {
  if (NAMES.has(formOf(schema))) return []
  if (schema.items) return rowsOf(schema.items, `${prefix}[]`, depth)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) {
    const rows = choices.flatMap((choice) => rowsOf(choice, prefix, depth))
    return rows.filter(({ path }, index) => rows.findIndex((row) => row.path === path) === index)
  }
  const join = (key: string) => (prefix === '' ? key : `${prefix}.${key}`)
  return Object.entries(schema.properties ?? {}).flatMap(([key, value]) => {
    const row: Row = { path: join(key), schema: value, required: schema.required?.includes(key) === true }
    return [row, ...(depth > 1 ? rowsOf(value, row.path, depth - 1) : [])]
  })
}

/** What may differ from table to table. */
interface TableOptions {
  io?: Direction
  /** What the first column is called. */
  key?: string
  /** How many levels of keys are shown. */
  depth?: number
  /** Keys that are left out, with everything below them. */
  without?: readonly string[]
  /** Meanings by key, for descriptions that a page says in another place. */
  meanings?: Readonly<Record<string, string>>
}

/** The keys of a schema as a table. */
export function keyTable(schema: z.ZodType, options: TableOptions = {}): string {
  const { io = 'input', key = 'key' } = options
  const rows = keysOf(schema, options).map(({ path, schema: value, required }) => {
    const given =
      value.default === undefined || typeof value.default === 'object' ? '' : `, default ${code(String(value.default))}`
    const facts = `${typeOf(value)}${io === 'input' && required ? ', required' : ''}${given}`
    return [code(path), `*${facts}.* ${options.meanings?.[path] ?? value.description ?? ''}`]
  })
  return rows.length === 0 ? '' : table([key, 'type and meaning'], rows)
}

/** The keys of a schema. */
export function keysOf(schema: z.ZodType, { io = 'input', depth = 1, without = [] }: TableOptions = {}): Row[] {
  const isLeft = (path: string) =>
    without.some((one) => path === one || path.startsWith(`${one}.`) || path.startsWith(`${one}[`))
  return rowsOf(toJson(schema, io), '', depth).filter(({ path }) => !isLeft(path))
}
