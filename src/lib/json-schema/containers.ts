// Generates objects and lists for a schema: required members first, then optional ones where possible.

import { patternTexts } from './pattern-texts.ts'
import { randomAt, whereIs } from './position.ts'
import { type Keywords, type Schema, SchemaError, step, TooLarge, WorkSpent } from './prepare.ts'
import { singular } from './strings.ts'
import type { ContainerContext, SampleRun, ValuePosition } from './types.ts'

/** Maximum number of generated items of a list or properties of an object. */
const MAX_MEMBERS = 1000
/** Maximum length of a generated property name, in characters. */
const MAX_NAME_LENGTH = 200

const inner = (position: ValuePosition, name: string): ValuePosition => ({
  ...position,
  name,
  path: position.path + step(name),
})
const firstOf = (run: SampleRun, schemas: Schema[], at: ValuePosition): unknown =>
  run.valuesFor(schemas, at).next().value
const least = (values: (number | undefined)[]) => Math.max(0, ...values.map((value) => value ?? 0))
const most = (values: (number | undefined)[]) => Math.min(...values.map((value) => value ?? Number.POSITIVE_INFINITY))

/** All schemas that a property of this name must satisfy. */
function schemasOf(parts: Keywords[], name: string): Schema[] {
  const known = parts.map(({ properties, patternProperties }) => [
    ...(properties?.[name] === undefined ? [] : [properties[name]]),
    ...Object.entries(patternProperties ?? {}).flatMap(([pattern, schema]) =>
      new RegExp(pattern, 'u').test(name) ? [schema] : [],
    ),
  ])
  const nowhere = known.every((schemas) => schemas.length === 0)
  return parts.flatMap((part, index) => {
    const own = known[index] ?? []
    if (own.length === 0 && part.additionalProperties !== undefined) own.push(part.additionalProperties)
    if (nowhere && part.unevaluatedProperties !== undefined) own.push(part.unevaluatedProperties)
    return own
  })
}

function tooMany(kind: string, count: number, path: string): TooLarge {
  return new TooLarge(
    `the ${kind} is too large: it has at least ${count} members, a sample at most ${MAX_MEMBERS}`,
    path,
  )
}

/**
 * Objects with the required properties, first with all optional ones that can be generated.
 * @throws SchemaError if there is none
 */
export function* objectsFor(run: SampleRun, context: ContainerContext): Generator<object> {
  const { parts } = context
  const required = [...new Set(parts.flatMap((part) => part.required ?? []))]
  const min = least(parts.map((part) => part.minProperties))
  const max = most(parts.map((part) => part.maxProperties))
  if (min > MAX_MEMBERS) throw tooMany('object', min, whereIs(run, parts, 'minProperties'))
  if (Math.max(min, required.length) > max) {
    const message = `no object has at least ${Math.max(min, required.length)} and at most ${max} properties`
    throw new SchemaError(message, whereIs(run, parts, 'maxProperties'))
  }
  const known = [...new Set(parts.flatMap((part) => Object.keys(part.properties ?? {})))]
  const needed = new Set(required)
  const optional = known.filter((name) => !needed.has(name))
  const names =
    known.length === 0 && required.length === 0
      ? Math.min(max, Math.max(min, run.lean ? 0 : dictionarySize(parts)))
      : min
  if (!run.lean) yield objectWith(run, context, { required, optional, target: max, min: names })
  yield objectWith(run, context, { required, optional, target: min, min })
  for (const name of optional)
    yield objectWith(run, context, { required: [...required, name], optional, target: min, min })
}

/** An object without named properties is a dictionary if its values have a schema. */
const dictionarySize = (parts: Keywords[]): number =>
  parts.some((part) => typeof part.additionalProperties === 'object' || part.patternProperties) ? 2 : 0

interface Members {
  required: string[]
  optional: string[]
  /** Optional properties are added up to this number of properties. */
  target: number
  /** Names are generated up to this number of properties. */
  min: number
}

function objectWith(
  run: SampleRun,
  { parts, position }: ContainerContext,
  { required, optional, target: wanted, min }: Members,
): object {
  const made: Record<string, unknown> = Object.create(null)
  for (const name of required) {
    const schemas = schemasOf(parts, name)
    if (schemas.includes(false)) {
      const path = whereIs(
        run,
        parts.filter((part) => part.required?.includes(name)),
        'required',
      )
      throw new SchemaError(`the property ${JSON.stringify(name)} is required, but not allowed`, path)
    }
    made[name] = firstOf(run, schemas, inner(position, name))
  }
  let count = required.length
  const add = (name: string) => {
    if (name in made || schemasOf(parts, name).includes(false) || !isName(run, parts, name)) return
    try {
      made[name] = firstOf(run, schemasOf(parts, name), inner(position, name))
      count++
    } catch (error) {
      if (!(error instanceof SchemaError) || error instanceof WorkSpent) throw error
    }
  }
  for (const name of optional) if (count < wanted) add(name)
  if (count < min) {
    for (const name of inventedNames(run, parts, position)) {
      add(name)
      if (count >= min) break
    }
  }
  // Properties are in the order of the schema, as people write them.
  const order = [...new Set([...parts.flatMap((part) => Object.keys(part.properties ?? {})), ...Object.keys(made)])]
  return Object.assign(
    Object.create(null),
    ...order.filter((name) => name in made).map((name) => Object.assign(Object.create(null), { [name]: made[name] })),
  )
}

const isName = (run: SampleRun, parts: Keywords[], name: string): boolean =>
  parts.every(({ propertyNames }) => propertyNames === undefined || run.check(name, propertyNames) === undefined)

/** Names for further properties: from patterns, numbered, then from propertyNames. */
function* inventedNames(run: SampleRun, parts: Keywords[], position: ValuePosition): Generator<string> {
  const random = (purpose: string) => randomAt(run, position, purpose)
  const word = singular(position.name) || 'key'
  const patterns = parts.flatMap((part) => Object.keys(part.patternProperties ?? {}))
  const rules = parts.flatMap((part) => part.propertyNames ?? [])
  for (let turn = 0; turn < MAX_MEMBERS; turn++) {
    const numbered = `${word}_${turn + 1}`
    for (const pattern of patterns) {
      const path = whereIs(run, parts, 'patternProperties') + step(pattern)
      const [text] = patternTexts(pattern, { path, shortest: 0, longest: MAX_NAME_LENGTH, turn, random }).take(1)
      if (text === undefined) continue
      yield pattern.endsWith('$') ? text : text + numbered
    }
    yield numbered
    // Most rules allow numbered names.
    if (rules.length === 0 || turn < 3) continue
    const at = { ...inner(position, word), turn: turn - 3 }
    yield* run
      .valuesFor([...rules, { type: 'string' }], at)
      .take(turn === 3 ? MAX_MEMBERS : 2)
      .map(String)
  }
}

/** The schemas of the item at an index, without `contains`. */
function itemSchemas(parts: Keywords[], index: number): Schema[] {
  const known = parts.flatMap((part) => part.prefixItems?.[index] ?? part.items ?? [])
  // `contains` counts as known too: `false` is checked in the end.
  return known.length > 0 ? known : parts.flatMap(({ unevaluatedItems: rest }) => (rest ? [rest] : []))
}

/**
 * Lists, first with a few items, then with as few as the schema allows.
 * @throws SchemaError if there is none
 */
export function* listsFor(run: SampleRun, context: ContainerContext): Generator<unknown[]> {
  const { parts } = context
  const contained = parts.flatMap(({ contains, minContains, maxContains }) =>
    contains === undefined ? [] : [{ contains, count: minContains ?? 1, atMost: maxContains }],
  )
  const min = least([...parts.map((part) => part.minItems), ...contained.map(({ count }) => count)])
  const max = most(parts.map((part) => part.maxItems))
  if (min > MAX_MEMBERS) throw tooMany('list', min, whereIs(run, parts, 'minItems', 'minContains'))
  if (min > max) {
    throw new SchemaError(`no list has at least ${min} and at most ${max} items`, whereIs(run, parts, 'minItems'))
  }
  const together = contained.reduce((sum, { count }) => sum + count, 0)
  const tuple = least(parts.map((part) => part.prefixItems?.length))
  const closed = parts.some((part) => part.items === false || part.unevaluatedItems === false)
  const few = closed ? tuple : Math.max(tuple, 2)
  const lengths = [...new Set([...(run.lean ? [] : [few]), Math.max(min, together), min, tuple])]
  const unique = parts.some((part) => part.uniqueItems)
  const failures: SchemaError[] = []
  for (const length of lengths.map((target) => Math.min(Math.max(target, min), max))) {
    const fromEnd = (index: number) => spread(contained)(length - 1 - index)
    const overlaid = (index: number) => contained.flatMap(({ contains, count }) => (index < count ? [contains] : []))
    const attempts = contained.length === 0 ? [spread(contained)] : [spread(contained), fromEnd, overlaid]
    // Where one combination of contained items fails, another may not.
    for (const extra of attempts) {
      try {
        yield listOf(run, context, { min, length, unique, extra })
      } catch (error) {
        if (!(error instanceof SchemaError) || error instanceof WorkSpent) throw error
        failures.push(error)
      }
    }
  }
  if (failures[0]) throw failures[0]
}

interface ContainsRule {
  contains: Schema
  count: number
  atMost: number | undefined
}

/** Adds items for one `contains` after the other. Items that must not occur more often are excluded from the rest. */
const spread =
  (contained: ContainsRule[]) =>
  (index: number): Schema[] => {
    let before = 0
    return contained.flatMap(({ contains, count, atMost }) => {
      const here = index >= before && index < before + count
      before += count
      return here ? [contains] : atMost === undefined ? [] : [{ not: contains }]
    })
  }

interface Items {
  min: number
  length: number
  unique: boolean
  /** Additional schemas of the item. */
  extra(index: number): Schema[]
}

function listOf(
  run: SampleRun,
  { parts, position }: ContainerContext,
  { min, length, unique, extra }: Items,
): unknown[] {
  const made: unknown[] = []
  const seen = new Set<string>()
  const name = singular(position.name)
  for (let index = 0; index < length; index++) {
    const schemas = [...itemSchemas(parts, index), ...extra(index)]
    const at = { ...position, name, path: `${position.path}/*`, turn: index }
    try {
      const next = unique
        ? run.valuesFor(schemas, at).find((value) => !seen.has(JSON.stringify(value)))
        : firstOf(run, schemas, at)
      if (next === undefined) {
        const message = `only ${index} different items were found, and there must be ${min}`
        throw new SchemaError(message, whereIs(run, parts, 'uniqueItems'))
      }
      seen.add(JSON.stringify(next))
      made.push(next)
    } catch (error) {
      if (index < min || !(error instanceof SchemaError) || error instanceof WorkSpent) throw error
      break
    }
  }
  return made
}
