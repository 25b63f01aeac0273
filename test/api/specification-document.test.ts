// The OpenAPI document against the specification, field by field.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createTestApp } from '../support/app.ts'
import { openApiDocument } from '../support/document.ts'
import { type Field, type Fields, SPECIFICATION, type SpecifiedOperation } from '../support/specification.ts'
import type { Json } from '../support/workspace.ts'

interface Schema extends Json {
  $ref?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema
  propertyNames?: Schema
}
interface Described {
  parameters?: { name: string; in: string; required?: boolean; schema: Schema }[]
  requestBody?: { required?: boolean; content: Record<string, { schema: Schema }> }
  responses: Record<string, { content: Record<string, { schema: Schema }> }>
}

const app = createTestApp()
afterAll(app.close)
let document: Json = {}
beforeAll(async () => {
  document = await openApiDocument<Json>()
})

/** A schema and all that it may be instead: what it refers to, and its choices. */
function choicesOf(schema: Schema): Schema[] {
  const { $ref, ...beside } = schema
  const steps = $ref?.replace('#/', '').split('/') ?? []
  const named = steps.reduce<unknown>((at, step) => (at as Json)[step], document) as Schema
  const whole: Schema = $ref === undefined ? schema : { ...named, ...beside }
  const choices = ['anyOf', 'oneOf', 'allOf'].flatMap((key) => (whole[key] ?? []) as Schema[])
  return [whole, ...choices.flatMap((one) => choicesOf(one as Schema))]
}

/** Everything that the schema says of a path, and whether the path must be there. */
function at(schema: Schema, path: string): { choices: Schema[]; required: boolean } {
  let choices = choicesOf(schema)
  let required = false
  for (const step of path.match(/\[\]|[^.[\]]+/g) ?? []) {
    const next = choices.flatMap((one) => (step === '[]' ? one.items : one.properties?.[step]) ?? [])
    required = choices.some((one) => one.required?.includes(step))
    choices = next.flatMap((one) => choicesOf(one as Schema))
  }
  return { choices, required }
}

const typesOf = ({ type, const: constant, enum: values = [] }: Schema): unknown[] =>
  type === undefined ? [...values, constant].filter((one) => one !== undefined).map((one) => typeof one) : [type].flat()
const setOf = (values: readonly unknown[]) =>
  [...new Set(values)].filter((one) => one !== null && one !== 'null').sort()

/** What the document has of a field, as the specification would say it. */
function documented(schema: Schema, path: string, field: Field): Json {
  const { choices, required } = at(schema, path)
  if (choices.length === 0) return { type: 'the document has no such field' }
  const all = (name: string) => choices.map((one) => one[name]).filter((one) => one !== undefined)
  const said = (name: string, values: unknown[], expected: unknown) =>
    values.some((one) => Bun.deepEquals(one, expected)) ? expected : `${name} is ${JSON.stringify(values)}`
  const values = setOf(
    choices.flatMap((one) => [...(one.enum ?? []), one.const].filter((value) => value !== undefined)),
  )
  const inside = (key: 'propertyNames' | 'additionalProperties') =>
    choices.flatMap((one) => (typeof one[key] === 'object' ? (one[key].maxLength ?? []) : []))
  return Object.fromEntries(
    Object.entries(field).map(([name, expected]) => {
      if (name === 'type') return [name, setOf(choices.flatMap(typesOf))]
      if (name === 'required') return [name, required]
      if (name === 'enum') return [name, values]
      if (name === 'values') return [name, setOf((expected as unknown[]).filter((one) => values.includes(one)))]
      if (name === 'maxKeyLength') return [name, said(name, inside('propertyNames'), expected)]
      if (name === 'maxValueLength') return [name, said(name, inside('additionalProperties'), expected)]
      return [name, said(name, all(name), expected)]
    }),
  )
}
/** A field in the same form; in an answer there may be more types, as of base64 beside numbers. */
const expectedOf = (field: Field, found: Json, isAnswer: boolean): Json => ({
  ...field,
  type: isAnswer ? setOf([...(found.type as unknown[]), ...[field.type].flat()]) : setOf([field.type].flat()),
  ...(field.enum && { enum: setOf(field.enum) }),
  ...(field.values && { values: setOf(field.values) }),
})

const nameOf = ({ method, path }: SpecifiedOperation) => `${method.toUpperCase()} ${path}`
const operationOf = ({ method, path }: SpecifiedOperation) =>
  ((document.paths as Record<string, Record<string, Described>>)[path]?.[method] ?? {}) as Described
const rowsOf = (part: (operation: SpecifiedOperation) => Fields | undefined) =>
  SPECIFICATION.flatMap((operation) =>
    Object.entries(part(operation) ?? {}).map(
      ([path, field]) => [nameOf(operation), path, { operation, field }] as const,
    ),
  )

test('specification: has 20 operations', () => {
  expect(new Set(SPECIFICATION.map(nameOf)).size).toBe(20)
})

describe('OpenAPI document of the specification', () => {
  test.each(rowsOf(({ body }) => body))('%s documents %s', (_, path, { operation, field }) => {
    const type = operation.form ? 'multipart/form-data' : 'application/json'
    const schema = operationOf(operation).requestBody?.content[type]?.schema ?? {}
    const found = documented(schema, path, field)
    expect(found).toEqual(expectedOf(field, found, false))
  })

  test.each(rowsOf(({ parameters }) => parameters))('%s has the parameter %s', (_, name, { operation, field }) => {
    const parameter = operationOf(operation).parameters?.find((one) => one.name === name)
    const inPath = operation.path.includes(`{${name}}`)
    expect([parameter?.in, parameter?.required]).toEqual(inPath ? ['path', true] : ['query', false])
    const found = documented({ properties: { [name]: parameter?.schema ?? {} } }, name, field)
    expect(found).toEqual(expectedOf(field, found, false))
  })

  test.each(SPECIFICATION.map((one) => [nameOf(one), one] as const))('%s has no other parameters', (_, operation) => {
    const names = (operationOf(operation).parameters ?? []).map(({ name }) => name)
    expect(names.sort()).toEqual(Object.keys(operation.parameters ?? {}).sort())
  })
})

test.each(rowsOf(({ answer }) => answer))('OpenAPI response of %s: documents %s', (_, path, { operation, field }) => {
  const schema = operationOf(operation).responses[operation.status]?.content['application/json']?.schema ?? {}
  const found = documented(schema, path, field)
  expect(found).toEqual(expectedOf(field, found, true))
})
