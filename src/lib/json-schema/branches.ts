// Splits a schema into branches: each combination of its references, anyOf, oneOf, not and if, as lists of plain
// keywords that must hold at once.
import type { InstanceType } from '@cfworker/json-schema'
import { InvalidSchema, type Keywords, type Schema, SchemaError, TYPES } from './prepare.ts'

/** Schemas that contain the current position, the innermost first. */
export interface SchemaStack {
  schema: object
  outer: SchemaStack | undefined
}

interface Walk {
  lookup: Record<string, Schema>
  origin: WeakMap<object, string>
  /** How often a reference may contain itself. */
  depth: number
  inside: SchemaStack | undefined
  /** Called for every step, since there can be infinitely many branches. */
  spend(): void
  /** Called with the reason why a branch is impossible. */
  note(error: SchemaError): void
}
/** A branch: its keywords, and the schemas that references led to. */
export interface SchemaBranch {
  parts: Keywords[]
  inside: SchemaStack | undefined
}

/**
 * Types that all parts allow, in the order of the first part that names them, null last. Undefined if none names a
 * type.
 */
export function typesOf(parts: Keywords[]): InstanceType[] | undefined {
  let types: InstanceType[] | undefined
  for (const { type } of parts) {
    if (type === undefined) continue
    const allowed = [type].flat()
    const wide = allowed.includes('number') ? [...allowed, 'integer'] : allowed
    types = types
      ? types.flatMap((name) =>
          wide.includes(name) ? [name] : name === 'number' && wide.includes('integer') ? ['integer'] : [],
        )
      : allowed
  }
  return types && [...types.filter((name) => name !== 'null'), ...types.filter((name) => name === 'null')]
}

/** Ways to violate a schema, one keyword each, as schemas to satisfy. */
function* negations(schema: Schema, walk: Walk): Generator<Schema[]> {
  if (typeof schema === 'boolean') {
    if (!schema) yield []
    return
  }
  const target = schema.__absolute_ref__ === undefined ? undefined : walk.lookup[schema.__absolute_ref__]
  if (target !== undefined) yield [{ not: target }]
  if (schema.not !== undefined) yield [schema.not]
  for (const name of schema.required ?? []) yield [{ properties: { [name]: false } }]
  if (schema.type !== undefined) {
    const types = [schema.type].flat()
    yield [{ type: TYPES.filter((name) => !types.includes(name) && !(name === 'integer' && types.includes('number'))) }]
  }
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    yield [{ type: 'object', required: [name], properties: { [name]: { not: inner } } }]
  }
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = schema
  if (minimum !== undefined) yield [{ type: 'number', exclusiveMaximum: minimum }]
  if (maximum !== undefined) yield [{ type: 'number', exclusiveMinimum: maximum }]
  if (minLength) yield [{ type: 'string', maxLength: minLength - 1 }]
  if (maxLength !== undefined) yield [{ type: 'string', minLength: maxLength + 1 }]
  // A negative look-ahead at the start rejects a forbidden pattern.
  if (schema.pattern !== undefined) yield [{ type: 'string', pattern: `^(?![\\s\\S]*(?:${schema.pattern}))` }]
  if (minItems) yield [{ type: 'array', maxItems: minItems - 1 }]
  if (maxItems !== undefined) yield [{ type: 'array', minItems: maxItems + 1 }]
  const { contains, minContains = 1, items, minProperties, maxProperties } = schema
  if (contains !== undefined && minContains > 0) yield [{ type: 'array', items: { not: contains } }]
  if (items !== undefined) yield [{ type: 'array', contains: { not: items } }]
  if (minProperties) yield [{ type: 'object', maxProperties: minProperties - 1 }]
  if (maxProperties !== undefined) yield [{ type: 'object', minProperties: maxProperties + 1 }]
  if (schema.anyOf) yield schema.anyOf.map((inner) => ({ not: inner }))
  for (const inner of schema.allOf ?? []) yield [{ not: inner }]
}

/** Alternatives, each a list of schemas. */
type Choice = Iterable<Schema[]>

/** Each branch of oneOf, first as it is, then with all the others violated. */
const onlyOne = (branches: Schema[]): Choice => ({
  *[Symbol.iterator]() {
    for (const branch of branches) yield [branch]
    for (const one of branches) yield [one, ...branches.filter((other) => other !== one).map((not) => ({ not }))]
  },
})

/** The alternatives of a schema, the likely and simple ones first. */
function choicesOf(schema: Keywords, walk: Walk): Choice[] {
  const choices: Choice[] = []
  // All together come last: one usually suffices.
  if (schema.anyOf) choices.push([...nullLast(schema.anyOf).map((branch) => [branch]), schema.anyOf])
  if (schema.oneOf) choices.push(onlyOne(nullLast(schema.oneOf)))
  // The empty alternative comes first: a value made for the rest usually violates the `not` by itself.
  if (schema.not !== undefined) choices.push([[], ...negations(schema.not, walk)])
  if (schema.if !== undefined) {
    const otherwise = schema.else ?? true
    const broken = [...negations(schema.if, walk)].map((branch) => [...branch, otherwise])
    choices.push([[schema.if, schema.then ?? true], [otherwise], ...broken])
  }
  const dependent: [string, Schema][] = Object.entries(schema.dependentSchemas ?? {})
  for (const [name, required] of Object.entries(schema.dependentRequired ?? {})) dependent.push([name, { required }])
  for (const [name, then] of dependent) choices.push([[then], [{ properties: { [name]: false } }]])
  return choices
}

const nullLast = (branches: Schema[]): Schema[] => {
  const isNull = (branch: Schema) => typeof branch === 'object' && branch.type === 'null'
  return [...branches.filter((branch) => !isNull(branch)), ...branches.filter(isNull)]
}

/** Marks the end of a reference's schemas in a branch. */
class ReferenceEnd {
  readonly target: Schema
  constructor(target: Schema) {
    this.target = target
  }
}

interface Rest {
  upcoming: (Schema | ReferenceEnd)[]
  choices: Choice[]
  branch: SchemaBranch
  /** Targets of references that contain this position: visiting one again would be a cycle. */
  followed: Schema[]
  /** Targets of references that the branch has already visited: visiting one again adds nothing. */
  taken: Schema[]
}

function timesInside(schema: Schema, inside: SchemaStack | undefined): number {
  let times = 0
  for (let at = inside; at; at = at.outer) if (at.schema === schema) times++
  return times
}

/** Whether a reference is to another document, which may exist: nothing is fetched. */
const isElsewhere = (reference = '') => /^[a-z][a-z0-9+.-]*:/i.test(reference)

/** The rest of the branch after following a reference. Undefined if it leads nowhere. */
function follow(schema: Keywords, rest: Rest, walk: Walk): Rest | undefined {
  const path = walk.origin.get(schema) ?? ''
  const target = schema.__absolute_ref__ === undefined ? undefined : walk.lookup[schema.__absolute_ref__]
  if (target === undefined) {
    const message = `the reference ${JSON.stringify(schema.$ref)} leads nowhere`
    throw isElsewhere(schema.$ref)
      ? new SchemaError(`${message} in this schema`, path)
      : new InvalidSchema(message, path)
  }
  if (rest.taken.includes(target)) return rest
  if (rest.followed.includes(target) || timesInside(target, walk.inside) >= walk.depth) {
    walk.note(new SchemaError(`the reference ${JSON.stringify(schema.$ref)} leads back to itself without end`, path))
    return
  }
  const inside = typeof target === 'object' ? { schema: target, outer: rest.branch.inside } : rest.branch.inside
  const { parts } = rest.branch
  const upcoming = [target, new ReferenceEnd(target), ...rest.upcoming]
  return { ...rest, upcoming, followed: [...rest.followed, target], branch: { parts, inside } }
}

/** The rest of the branch after adding the keywords of one schema. Undefined if its type contradicts the others. */
function take(schema: Keywords, rest: Rest, walk: Walk): Rest | undefined {
  const { parts, inside } = rest.branch
  const types = typesOf([...parts, schema])
  if (types?.length === 0) {
    const before = typesOf(parts)?.join(' or ')
    const message = `nothing is both ${before} and ${[schema.type].flat().join(' or ')}`
    walk.note(new SchemaError(message, `${walk.origin.get(schema) ?? ''}/type`))
    return
  }
  return {
    ...rest,
    upcoming: [...(schema.allOf ?? []), ...rest.upcoming],
    choices: [...rest.choices, ...choicesOf(schema, walk)],
    branch: { parts: [...parts, schema], inside },
  }
}

/** Every branch of schemas that must all hold, the likely ones first. */
export function branchesOf(schemas: Schema[], walk: Walk): Generator<SchemaBranch> {
  return walkOn(
    { upcoming: schemas, choices: [], branch: { parts: [], inside: walk.inside }, followed: [], taken: [] },
    walk,
  )
}

function* walkOn(rest: Rest, walk: Walk): Generator<SchemaBranch> {
  walk.spend()
  const [schema, ...upcoming] = rest.upcoming
  if (schema === undefined) {
    const [choice, ...choices] = rest.choices
    if (!choice) yield rest.branch
    else for (const branch of choice) yield* walkOn({ ...rest, upcoming: branch, choices }, walk)
    return
  }
  if (schema instanceof ReferenceEnd) {
    const { target } = schema
    const followed = rest.followed.filter((one) => one !== target)
    return yield* walkOn({ ...rest, upcoming, followed, taken: [...rest.taken, target] }, walk)
  }
  if (schema === false) return walk.note(new SchemaError('the schema allows nothing here', ''))
  if (schema === true) return yield* walkOn({ ...rest, upcoming }, walk)
  const taken = take(schema, { ...rest, upcoming }, walk)
  const next = taken && schema.$ref !== undefined ? follow(schema, taken, walk) : taken
  if (next) yield* walkOn(next, walk)
}
