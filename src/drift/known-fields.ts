// What the schema of an API says of a field of its responses.
import { asObject, type JsonObject } from '../lib/values.ts'

/** The JSON Schemas of an API's whole responses and of the data of its events. */
export interface ResponseSchemas {
  whole: object
  event?: object | undefined
}

/** What a schema says of a field. */
export type KnownField = NonNullable<ReturnType<typeof knownField>>

/**
 * What the schema says of a field, by its path in a `WireShape`; undefined for a field that it does not have. Event
 * kinds of typed events choose the branch with that type.
 */
export function knownField({ whole, event }: ResponseSchemas, path: string) {
  const at = path.indexOf(': ')
  const kind = at < 0 ? undefined : path.slice(0, at)
  const root = kind === undefined ? whole : event
  if (!root) return undefined
  const steps = [...path.slice(kind === undefined ? 0 : at + 2).matchAll(/[[(]([^\])]*)[\])]|[^.[\]()]+/g)]
  let found = required(branches(root as JsonObject, kind))
  for (const [step, type] of steps) {
    found = found.flatMap(({ schema }) =>
      step.startsWith('[')
        ? itemsOf(schema, type || undefined)
        : step.startsWith('(')
          ? required(ofType([schema], type))
          : memberOf(schema, step),
    )
  }
  if (found.length === 0) return undefined
  const schemas = found.map(({ schema }) => schema)
  return {
    /** JSON types; empty if any is allowed. */
    types: new Set(schemas.flatMap(typesOf)),
    /** Allowed values; empty if they are not limited. */
    values: new Set<unknown>(
      schemas
        .flatMap(({ const: only, enum: some }) => [only, ...(Array.isArray(some) ? some : [])])
        .filter((one) => typeof one === 'string'),
    ),
    isRequired: found.every(({ isRequired }) => isRequired),
  }
}

interface FoundSchema {
  schema: JsonObject
  isRequired: boolean
}

const required = (schemas: readonly JsonObject[]): FoundSchema[] =>
  schemas.map((schema) => ({ schema, isRequired: true }))

function memberOf(schema: JsonObject, name: string): FoundSchema[] {
  const member = asObject(asObject(schema.properties)?.[name])
  if (!member) return []
  const isRequired = Array.isArray(schema.required) && schema.required.includes(name)
  return branches(member).map((one) => ({ schema: one, isRequired }))
}

function itemsOf(schema: JsonObject, type: string | undefined): FoundSchema[] {
  const items = asObject(schema.items)
  return items ? required(branches(items, type)) : []
}

/** The alternatives of a schema; with a type, only those of objects with that `type`, if it has any. */
function branches(schema: JsonObject, type?: string): JsonObject[] {
  const alternatives = [schema.anyOf, schema.oneOf].find(Array.isArray) as JsonObject[] | undefined
  if (!alternatives) return [schema]
  const all = alternatives.flatMap((one) => branches(one))
  return type === undefined ? all : ofType(all, type)
}

/** Those that can have this `type`; all of them if none has a constant one. */
function ofType(schemas: JsonObject[], type = ''): JsonObject[] {
  const constant = (one: JsonObject) => asObject(asObject(one.properties)?.type)?.const
  return schemas.filter((one) => constant(one) === undefined || constant(one) === type)
}

/** JSON types; an integer is a number on the wire. */
function typesOf({ type, const: only, enum: some }: JsonObject): string[] {
  if (typeof type === 'string') return [type === 'integer' ? 'number' : type]
  if (Array.isArray(type)) return type.map((one) => (one === 'integer' ? 'number' : String(one)))
  if (only !== undefined) return [typeof only]
  return Array.isArray(some) ? some.map((one) => typeof one) : []
}
