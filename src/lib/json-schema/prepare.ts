// Converts all drafts to one dialect: checks that the keywords are well formed, then rewrites a schema in terms of
// 2020-12, and its patterns in unicode mode: schemas are written for many engines.
import type { InstanceType, Schema as ValidatorSchema, validate } from '@cfworker/json-schema'
import { isObject, type JsonObject } from '../values.ts'

type Optional<Name extends string, Value> = { [Each in Name]?: Value }
/** Keywords of a prepared schema, in terms of draft 2020-12. */
export interface Keywords
  extends Optional<'minimum' | 'maximum' | 'exclusiveMinimum' | 'exclusiveMaximum' | 'multipleOf', number>,
    Optional<'minLength' | 'maxLength' | 'minItems' | 'maxItems' | 'minContains' | 'maxContains', number>,
    Optional<'minProperties' | 'maxProperties', number>,
    Optional<'$ref' | 'title' | 'pattern' | 'format', string>,
    Optional<'const' | 'default' | 'example' | 'examples', unknown>,
    Optional<'properties' | 'patternProperties' | 'dependentSchemas', Record<string, Schema>>,
    Optional<'additionalProperties' | 'unevaluatedProperties' | 'propertyNames' | 'contains', Schema>,
    Optional<'items' | 'unevaluatedItems' | 'not' | 'if' | 'then' | 'else', Schema>,
    Optional<'allOf' | 'anyOf' | 'oneOf' | 'prefixItems', Schema[]> {
  /** Set by the validator: the resolved address of `$ref`. */
  __absolute_ref__?: string
  type?: InstanceType | InstanceType[]
  enum?: unknown[]
  required?: string[]
  dependentRequired?: Record<string, string[]>
  uniqueItems?: boolean
}
/** A prepared schema. */
export type Schema = boolean | Keywords

/**
 * A schema that cannot be used or satisfied. The message has the reason, `path` (a JSON pointer) the position in the
 * schema.
 * @example
 * new SchemaError('no text has this length', '/properties/name').path // => '/properties/name'
 */
export class SchemaError extends Error {
  override name = 'SchemaError'
  readonly path: string
  constructor(message: string, path: string) {
    super(message)
    this.path = path
  }
}

/** An invalid schema: a keyword is malformed, or a reference leads nowhere. */
export class InvalidSchema extends SchemaError {}

/** Something exceeds the size limits of a sample. */
export class TooLarge extends SchemaError {}

/** The budget of one sample or check is exhausted. */
export class WorkSpent extends TooLarge {}

/**
 * Takes steps from the budget.
 * @throws WorkSpent if none are left
 */
export type SpendSteps = (steps: number) => void

/** Names of the JSON types. */
export const TYPES: InstanceType[] = ['string', 'integer', 'number', 'boolean', 'object', 'array', 'null']

const self: ValidatorSchema = { $ref: '#' }
const one: ValidatorSchema = { type: 'number' }
const count: ValidatorSchema = { type: 'integer', minimum: 0 }
const words: ValidatorSchema = { type: 'array', items: { type: 'string' } }
const many: ValidatorSchema = { type: 'array', items: self, minItems: 1 }
const map: ValidatorSchema = { type: 'object', additionalProperties: self }
const limit: ValidatorSchema = { type: ['number', 'boolean'] }
const each = (names: string, schema: ValidatorSchema) =>
  Object.fromEntries(names.split(' ').map((name) => [name, schema]))
/** The schema of schemas of any draft. Other keywords may have any value. */
const SCHEMA_OF_SCHEMAS: ValidatorSchema = {
  type: ['object', 'boolean'],
  properties: {
    ...each('$schema $id $ref $anchor title pattern format', { type: 'string' }),
    type: { anyOf: [{ type: 'array', items: { enum: TYPES }, minItems: 1 }, { enum: TYPES }] },
    enum: { type: 'array', minItems: 1 },
    required: words,
    ...each('minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains', count),
    ...each('minimum maximum', one),
    ...each('exclusiveMinimum exclusiveMaximum', limit),
    multipleOf: { type: 'number', exclusiveMinimum: 0 },
    ...each('uniqueItems nullable', { type: 'boolean' }),
    ...each('properties patternProperties $defs definitions dependentSchemas', map),
    ...each('additionalProperties unevaluatedProperties propertyNames contains', self),
    ...each('additionalItems unevaluatedItems not if then else', self),
    ...each('allOf anyOf oneOf prefixItems', many),
    items: { anyOf: [many, self] },
    dependentRequired: { type: 'object', additionalProperties: words },
    dependencies: { type: 'object', additionalProperties: { anyOf: [words, self] } },
  },
}

const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])
const VALUES = new Set(['const', 'enum', 'default', 'example', 'examples', 'required', 'dependentRequired', 'type'])

/** One step of a JSON pointer. */
export const step = (key: string | number): string => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`

/** @throws SchemaError when it is no expression of ours; other engines may well read it, so the schema can be valid. */
function patternAt(pattern: string, path: string): string {
  try {
    return readPattern(pattern)
  } catch (error) {
    throw new SchemaError(`a pattern cannot be read: ${error instanceof Error ? error.message : error}`, path)
  }
}

/** Rewrites older spellings of one schema object in terms of 2020-12. */
function modernize(schema: JsonObject, old: boolean): JsonObject {
  const {
    $schema: _,
    id,
    nullable,
    items,
    additionalItems,
    dependencies,
    exclusiveMinimum,
    exclusiveMaximum,
    $recursiveRef,
    $recursiveAnchor: __,
    ...rest
  } = schema
  const out: JsonObject = { ...rest }
  if (old && typeof schema.$ref === 'string') {
    for (const key of Object.keys(out)) if (!['$ref', '$defs', 'definitions', 'default'].includes(key)) delete out[key]
  }
  if (old && typeof id === 'string' && out.$ref === undefined) out.$id = id
  if (typeof $recursiveRef === 'string') out.$ref ??= $recursiveRef
  if (typeof out.$dynamicRef === 'string') out.$ref ??= out.$dynamicRef
  if (typeof out.$dynamicAnchor === 'string') out.$anchor ??= out.$dynamicAnchor
  if (Array.isArray(items)) {
    out.prefixItems = items
    if (additionalItems !== undefined) out.items = additionalItems
  } else if (items !== undefined) out.items = items
  for (const [flag, side, name] of [
    [exclusiveMinimum, 'minimum', 'exclusiveMinimum'],
    [exclusiveMaximum, 'maximum', 'exclusiveMaximum'],
  ] as const) {
    if (typeof flag === 'number') out[name] = flag
    if (flag !== true || out[side] === undefined) continue
    out[name] = out[side]
    delete out[side]
  }
  if (isObject(dependencies)) {
    const split = (lists: boolean) => Object.entries(dependencies).filter(([, value]) => Array.isArray(value) === lists)
    out.dependentRequired = Object.fromEntries(split(true))
    out.dependentSchemas = Object.fromEntries(split(false))
  }
  if (nullable === true && out.type !== undefined) {
    out.type = [...new Set([out.type, 'null'].flat())]
    if (Array.isArray(out.enum) && !out.enum.includes(null)) out.enum = [...out.enum, null]
  }
  return out
}

/** A schema for sampling or validation, with the position of each of its parts in the original schema. */
interface PreparedSchema {
  schema: Schema
  origin: WeakMap<object, string>
}

interface RewriteContext {
  /** Whether the draft is older than 2019-09. */
  old: boolean
  origin: WeakMap<object, string>
  /** The prototype of every schema object: see `counting`. */
  counted: object
  weights: WeakMap<object, number>
}

/**
 * Makes the validator count its steps: it reads `$recursiveRef` of a schema whenever it compares a value with it or
 * looks up references, and no prepared schema has that keyword. References that double, each to two more, make it visit
 * a few hundred bytes 2^n times.
 */
const counting = (spend: SpendSteps, weights: WeakMap<object, number>): object =>
  Object.create(null, {
    $recursiveRef: {
      get(this: object) {
        spend(weights.get(this) ?? 1)
        return undefined
      },
    },
  })

/** Characters that one step compares or writes. */
const STEP_CHARACTERS = 64
/** Property names that one step looks up. */
const STEP_NAMES = 8
const LISTED = ['enum', 'const', 'required', 'dependentRequired']
/** Values of an `enum` that a problem lists. */
const NAMED_VALUES = 50

/** Steps for comparing a value with a schema object, without its subschemas. */
function weightOf(schema: JsonObject): number {
  let weight = 1
  for (const key of LISTED) {
    const value = schema[key]
    if (value !== undefined) weight += Math.floor(JSON.stringify(value).length / STEP_CHARACTERS)
  }
  for (const key of MAPS) {
    const value = schema[key]
    if (isObject(value)) weight += Math.floor(Object.keys(value).length / STEP_NAMES)
  }
  return weight
}

/** A long `enum` whose problems list only its first values; otherwise each invalid value would repeat all of them. */
function shortInWords(values: unknown[]): unknown[] {
  if (values.length <= NAMED_VALUES) return values
  const shown = [...values.slice(0, NAMED_VALUES), `... and ${values.length - NAMED_VALUES} more`]
  return Object.defineProperty([...values], 'toJSON', { value: () => shown })
}

function rewrite(schema: unknown, path: string, context: RewriteContext): unknown {
  const inner = (value: unknown, key: string | number) => rewrite(value, path + step(key), context)
  if (Array.isArray(schema)) return schema.map(inner)
  if (!isObject(schema)) return schema
  const out: JsonObject = Object.create(context.counted)
  for (const [key, value] of Object.entries(modernize(schema, context.old))) {
    if (key === 'enum' && Array.isArray(value)) out[key] = shortInWords(value)
    else if (VALUES.has(key)) out[key] = value
    else if (key === 'pattern' && typeof value === 'string') out[key] = patternAt(value, `${path}/pattern`)
    else if (MAPS.has(key) && isObject(value)) {
      const all: JsonObject = Object.create(null)
      for (const [name, item] of Object.entries(value)) {
        const at = path + step(key) + step(name)
        all[key === 'patternProperties' ? patternAt(name, at) : name] = rewrite(item, at, context)
      }
      out[key] = all
    } else out[key] = inner(value, key)
  }
  context.origin.set(out, path)
  context.weights.set(out, weightOf(out))
  return out
}

/** @throws InvalidSchema when a keyword is malformed; expressions and references are not looked at. */
export function checkKeywords(schema: unknown, validator: typeof validate): void {
  const wrong = validator(schema, SCHEMA_OF_SCHEMAS, '2020-12').errors.at(-1)
  if (wrong) throw new InvalidSchema(`malformed schema: ${wrong.error}`, wrong.instanceLocation.slice(1))
}

/**
 * Checks a schema and rewrites it in terms of 2020-12.
 * @param spend called with the steps of the validator, whenever it compares a value with a part of the schema
 * @throws InvalidSchema if a keyword is malformed
 */
export function prepare(schema: unknown, validator: typeof validate, spend: SpendSteps): PreparedSchema {
  checkKeywords(schema, validator)
  const marker = isObject(schema) ? schema.$schema : undefined
  const weights = new WeakMap<object, number>()
  const context: RewriteContext = {
    old: /draft-0?[34567]/.test(String(marker)),
    origin: new WeakMap<object, string>(),
    counted: counting(spend, weights),
    weights,
  }
  return { schema: rewrite(schema, '', context) as Schema, origin: context.origin }
}

/** Escapes that other engines allow before any sign (`\-`, `\_`). */
const NEEDLESS = /[-!"#%&',:;<=>@`~_ ]/
/** Tokens: escapes, classes, counts, then single signs. */
const TOKENS = /\\(?:[pPu]\{[^}]*\}|[\s\S])|\[(?:\\[\s\S]|[^\]\\])*\]|\{\d+(?:,\d*)?\}|[\s\S]/g
/** Escapes that mean the letter or digit itself in the older mode, and are invalid in the newer one. */
const LETTERS = /[aeg-jlmoqyzACE-OQRTUVXYZ89]/

/**
 * The pattern in unicode mode, which JSON Schema requires. What only the older mode accepts (`[\w-.]`, `a{`, `]`) is
 * rewritten.
 * @throws SyntaxError if neither mode accepts it
 */
function readPattern(pattern: string): string {
  const relaxed = pattern.replace(/\\([\s\S])/g, (escaped, sign: string) =>
    NEEDLESS.test(sign) ? `\\x${sign.charCodeAt(0).toString(16).padStart(2, '0')}` : escaped,
  )
  try {
    new RegExp(relaxed, 'u')
    return relaxed
  } catch (error) {
    const modern = relaxed.replace(TOKENS, modernToken)
    try {
      new RegExp(modern, 'u')
      return modern
    } catch {
      throw error
    }
  }
}

function modernToken(token: string): string {
  if (token === '{' || token === '}' || token === ']') return `\\${token}`
  if (token.length === 1) return token
  // A hyphen next to a class of characters means itself.
  const hyphens = token.startsWith('[')
    ? token.replace(/(\\[dswDSW])-(?!\])/g, '$1\\-').replace(/(?<!^\[)-(?=\\[dswDSW])/g, '\\-')
    : token
  return hyphens.replace(/\\([\s\S])/g, (escaped, sign: string) => (LETTERS.test(sign) ? sign : escaped))
}
