// JSON Schemas of the document (2020-12, the dialect of OpenAPI 3.1), each shape once and by its name.
import { z } from 'zod'
import { onceFor } from '../lib/once.ts'
import { describe } from './common.ts'
import { ANSWER_NAMES, REQUEST_NAMES } from './names.ts'

/** A JSON Schema or another part of the OpenAPI document. */
export type SchemaJson = Record<string, unknown>
type Io = 'input' | 'output'

/** JSON Schema of a zod schema, in the most readable form. */
const jsonSchema = (schema: z.ZodType, io: Io): SchemaJson => converted[io](schema)
// Once per schema: a process may have many applications, whose documents share nearly all schemas.
const converted = {
  input: onceFor((schema: z.ZodType) => convert(schema, 'input')),
  output: onceFor((schema: z.ZodType) => convert(schema, 'output')),
}

function convert(schema: z.ZodType, io: Io): SchemaJson {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    reused: 'inline',
    override: ({ jsonSchema }) => withoutBounds(jsonSchema as SchemaJson),
  }) as SchemaJson
  return rest
}

/** Drops the limits that only define an integer. */
function withoutBounds(schema: SchemaJson): void {
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
}

/** Keywords that may stand beside a reference. */
const BESIDE = ['description', 'default', 'deprecated', 'examples'] as const
const signatureOf = (schema: SchemaJson): string =>
  JSON.stringify(schema, (key, value) =>
    key === '' ? { ...value, ...Object.fromEntries(BESIDE.map((one) => [one])) } : value,
  )
const isShape = (schema: SchemaJson) => 'properties' in schema || 'oneOf' in schema || 'anyOf' in schema

/** The named schemas of a document. */
export type Schemas = ReturnType<typeof createSchemas>

/** A new collection with the names of shared schemas. */
export function createSchemas() {
  const known = new Map<string, { name: string; schema: SchemaJson }>()
  const used = new Map<string, SchemaJson>()
  const add = (name: string, schema: SchemaJson) => known.getOrInsert(signatureOf(schema), { name, schema })
  for (const [name, schema] of Object.entries(ANSWER_NAMES())) add(name, jsonSchema(schema, 'output'))
  for (const [name, schema] of Object.entries(REQUEST_NAMES())) {
    const output = jsonSchema(schema, 'output')
    const input = add(name, jsonSchema(schema, 'input'))
    if (signatureOf(input.schema) !== signatureOf(output)) add(`${name}Output`, output)
  }
  const reference = ({ name, schema }: { name: string; schema: SchemaJson }, extra: SchemaJson): SchemaJson => {
    if (!used.has(name)) {
      used.set(name, {})
      used.set(name, partsOf(schema))
    }
    const more = BESIDE.filter((key) => extra[key] !== undefined && extra[key] !== schema[key])
    return { $ref: `#/components/schemas/${name}`, ...Object.fromEntries(more.map((key) => [key, extra[key]])) }
  }
  const walk = (schema: unknown): unknown => {
    if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return schema
    const found = isShape(schema as SchemaJson) ? known.get(signatureOf(schema as SchemaJson)) : undefined
    return found ? reference(found, schema as SchemaJson) : partsOf(schema as SchemaJson)
  }
  const partsOf = (schema: SchemaJson): SchemaJson => {
    const changed: SchemaJson = { ...schema }
    const [value, other] = (schema.anyOf ?? []) as SchemaJson[]
    if (other?.type === 'null' && value?.description !== undefined) changed.description ??= value.description
    if ('items' in schema) changed.items = walk(schema.items)
    for (const key of ['additionalProperties', 'propertyNames', 'not'])
      if (key in schema) changed[key] = walk(schema[key])
    for (const key of ['anyOf', 'oneOf', 'allOf', 'prefixItems'])
      if (key in schema) changed[key] = (schema[key] as unknown[]).map(walk)
    if (schema.oneOf && !isExclusive(schema.oneOf as SchemaJson[])) {
      changed.anyOf = changed.oneOf
      delete changed.oneOf
    }
    if (schema.properties) {
      const own = Object.entries(schema.properties as Record<string, SchemaJson>)
      changed.properties = Object.fromEntries(
        own.map(([name, property]) => [name, describe(orNull(walk(property) as SchemaJson), name)]),
      )
    }
    return orNull(changed)
  }
  return {
    /** A reference to a schema, which gets a name unless it has one. */
    refer: (schema: z.ZodType, io: Io, name: string) => reference(add(name, jsonSchema(schema, io)), {}),
    /** An inline schema that may contain references. */
    inline: (schema: z.ZodType, io: Io) => walk(jsonSchema(schema, io)) as SchemaJson,
    /** All referenced schemas, by name. */
    all: (): Record<string, SchemaJson> =>
      Object.fromEntries([...used].sort(([one], [other]) => (one < other ? -1 : 1))),
  }
}

/** Whether one and the same property identifies every choice; otherwise a value may match several. */
function isExclusive(choices: readonly SchemaJson[]): boolean {
  const saysSo = (choice: SchemaJson, key: string) => {
    const property = ((choice.properties ?? {}) as Record<string, SchemaJson>)[key] ?? {}
    return ((choice.required ?? []) as string[]).includes(key) && ('const' in property || 'enum' in property)
  }
  return Object.keys((choices[0]?.properties ?? {}) as SchemaJson).some((key) =>
    choices.every((choice) => saysSo(choice, key)),
  )
}

/** The schema with null as a type instead of a choice of two. */
function orNull(schema: SchemaJson): SchemaJson {
  const [value, other, ...more] = (schema.anyOf ?? []) as SchemaJson[]
  if (!value || other?.type !== 'null' || more.length > 0) return schema
  const { anyOf, ...rest } = schema
  if (typeof value.type !== 'string' || 'const' in value) return schema
  const folded: SchemaJson = { ...value, ...rest, type: [value.type, 'null'] }
  return value.enum ? { ...folded, enum: [...(value.enum as unknown[]), null] } : folded
}
