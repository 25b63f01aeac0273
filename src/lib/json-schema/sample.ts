// Generates values for a schema: tries every branch, likely values first, and checks each value. Objects and lists get required
// members first, then optional ones where possible.
import type { InstanceType } from '@cfworker/json-schema'
import { chance } from '../chance.ts'
import { branchesOf, type SchemaBranch, type SchemaStack, typesOf } from './branches.ts'
import { noText, patternTexts } from './pattern-texts.ts'
import { type Keywords, type Schema, SchemaError, step, TooLarge, TYPES, WorkSpent } from './prepare.ts'
import { fitted, formatTexts, MAX_TEXT_LENGTH, plainText, singular } from './strings.ts'

/** One attempt at a sample. */
export interface SampleRun {
  /** Schemas by the address of references. */
  lookup: Record<string, Schema>
  origin: WeakMap<object, string>
  key: string
  /** How often a reference may contain itself. */
  depth: number
  /** Whether only required members are generated. */
  lean: boolean
  /** Remaining number of values to generate or check. */
  budget: number
  /** The problem of a value, if any. */
  check(value: unknown, schema: Schema): SchemaError | undefined
}

/** The position of a value in the sample. */
interface ValuePosition {
  name: string
  /** Names from the root, without the indexes of lists. */
  path: string
  /** Index of the list item that contains it. */
  turn: number
  inside: SchemaStack | undefined
}

/** The keywords that a value must satisfy, and its position. */
interface ContainerContext {
  parts: Keywords[]
  position: ValuePosition
}

/** The JSON pointer of the first part that has one of the keywords. */
function whereIs(run: SampleRun, parts: Keywords[], ...names: (keyof Keywords)[]): string {
  for (const part of parts) {
    for (const name of names) if (part[name] !== undefined) return `${run.origin.get(part) ?? ''}/${name}`
  }
  return ''
}

/** A number in [0, 1), constant for the same key, position and purpose. */
const randomAt = (run: SampleRun, position: ValuePosition, purpose: string) =>
  chance(0, run.key, position.path, purpose)

/** The cost of inspecting a value: the number of values in it, and the length of its texts. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return 1 + Math.floor(value.length / 64)
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce<number>((sum, inner) => sum + sizeOf(inner), 1)
}

const weights = new WeakMap<object, number>()

/** The number of schemas that one value is compared with. */
function weightOf(schema: Schema): number {
  if (typeof schema === 'boolean') return 1
  return weights.getOrInsertComputed(schema, () => {
    const { allOf = [], anyOf = [], oneOf = [], not = true, if: condition = true } = schema
    return [...allOf, ...anyOf, ...oneOf, not, condition].reduce((sum, inner) => sum + weightOf(inner), 1)
  })
}

function spend(run: SampleRun, amount: number) {
  run.budget -= amount
  if (run.budget < 0) throw new WorkSpent('the schema is too large: a sample takes more work than is done for one', '')
}

/** The problem of a value that cannot be generated. Other errors, and that of too much work, are thrown. */
function failureOf(error: unknown): SchemaError {
  if (!(error instanceof SchemaError) || error instanceof WorkSpent) throw error
  return error
}

type Note = (error: SchemaError) => void

/**
 * Values that satisfy all of the schemas, the likely ones first.
 * @throws SchemaError if there is none, with the first problem
 */
function* valuesFor(run: SampleRun, schemas: Schema[], position: ValuePosition): Generator<unknown> {
  let failure: SchemaError | undefined
  let found = false
  const note: Note = (error) => {
    if (!failure || (error instanceof TooLarge && !(failure instanceof TooLarge))) failure = error
  }
  const { lookup, origin, depth } = run
  const weight = schemas.reduce((sum, schema) => sum + weightOf(schema), 0)
  for (const branch of branchesOf(schemas, {
    lookup,
    origin,
    depth,
    inside: position.inside,
    note,
    spend: () => spend(run, 1),
  })) {
    for (const value of attempts(run, branch, position, note)) {
      spend(run, sizeOf(value) + weight)
      const wrong = schemas.map((schema) => run.check(value, schema)).find((error) => error !== undefined)
      if (wrong) {
        note(wrong)
        continue
      }
      found = true
      yield value
    }
  }
  if (!found) throw failure ?? new SchemaError('nothing satisfies the schema', '')
}

/** The first of `valuesFor`. */
export function valueFor(run: SampleRun, schemas: Schema[], position: ValuePosition): unknown {
  for (const value of valuesFor(run, schemas, position)) return value
}

/** Values for one branch. Failures are noted, unless the work got too large. */
function* attempts(run: SampleRun, branch: SchemaBranch, position: ValuePosition, note: Note): Generator<unknown> {
  const values = proposals(run, branch, position)
  for (;;) {
    try {
      const next = values.next()
      if (next.done) return
      yield next.value
    } catch (error) {
      const failure = failureOf(error)
      // An error costs more than a value.
      spend(run, 20)
      return note(failure)
    }
  }
}

const rotated = <Value>(values: Value[], by: number): Value[] => {
  const start = values.length === 0 ? 0 : by % values.length
  return [...values.slice(start), ...values.slice(0, start)]
}

function* proposals(run: SampleRun, branch: SchemaBranch, position: ValuePosition): Generator<unknown> {
  const { parts } = branch
  for (const { example, examples, default: standard } of parts) {
    yield* [example, ...(Array.isArray(examples) ? rotated(examples, position.turn) : []), standard].filter(
      (value) => value !== undefined && value !== null,
    )
  }
  const lists = parts.flatMap((part) => ('const' in part ? [[part.const]] : ((part.enum && [part.enum]) ?? [])))
  const [shortest] = lists.sort((a, b) => a.length - b.length)
  if (shortest) {
    spend(run, Math.floor(shortest.length / 64))
    const likely = shortest.length > 1 ? shortest.filter((value) => value !== null) : shortest
    yield* rotated(likely, Math.floor(randomAt(run, position, 'choice') * likely.length) + position.turn)
    if (shortest.includes(null)) yield null
    return
  }
  const types = typesOf(parts) ?? likelyTypes(parts, position)
  const failures: SchemaError[] = []
  for (const type of types) {
    try {
      yield* valuesOfType(run, type, { parts, position: { ...position, inside: branch.inside } })
    } catch (error) {
      failures.push(failureOf(error))
    }
  }
  if (failures[0]) throw failures[0]
}

const HINTS: [InstanceType, (keyof Keywords)[]][] = [
  ['object', ['properties', 'required', 'patternProperties', 'minProperties', 'propertyNames', 'additionalProperties']],
  ['array', ['items', 'prefixItems', 'contains', 'minItems', 'maxItems', 'uniqueItems']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
]

/** Types to try where the schema names none: those of its keywords, an object at the root, otherwise a string. */
function likelyTypes(parts: Keywords[], position: ValuePosition): InstanceType[] {
  const hinted = HINTS.filter(([, names]) => parts.some((part) => names.some((name) => part[name] !== undefined)))
  const root: InstanceType[] =
    position.path === '' && !parts.some((part) => part.pattern ?? part.format ?? part.minLength) ? ['object'] : []
  return [...new Set([...hinted.map(([type]) => type), ...root, ...TYPES])]
}

function* valuesOfType(run: SampleRun, type: InstanceType, context: ContainerContext): Generator<unknown> {
  const { position } = context
  switch (type) {
    case 'object':
      return yield* objectsFor(run, context)
    case 'array':
      return yield* listsFor(run, context)
    case 'string':
      return yield* stringsFor(run, context)
    case 'boolean': {
      const first = randomAt(run, position, 'boolean') < 0.5 === (position.turn % 2 === 0)
      return yield* [first, !first]
    }
    case 'null':
      return yield null
    default:
      return yield* numbersFor(run, type === 'integer', context)
  }
}

function* numbersFor(run: SampleRun, whole: boolean, { parts, position }: ContainerContext): Generator<number> {
  const range = rangeOf(parts, whole)
  if (range.low > range.high) {
    const path = whereIs(run, parts, 'minimum', 'exclusiveMinimum')
    throw new SchemaError(`no number is at least ${range.low} and at most ${range.high}`, path)
  }
  let some = false
  for (const value of numbersIn(range, randomAt(run, position, 'number'), position.turn)) {
    if (whole && !Number.isInteger(value)) continue
    some = true
    yield value
  }
  if (some) return
  const path = whereIs(run, parts, 'multipleOf', 'minimum', 'exclusiveMinimum')
  throw new SchemaError(`no multiple of ${range.step} is from ${range.low} to ${range.high}`, path)
}

function* stringsFor(run: SampleRun, { parts, position }: ContainerContext): Generator<string> {
  const shortest = least(parts.map((part) => part.minLength))
  const longest = most(parts.map((part) => part.maxLength))
  if (shortest > MAX_TEXT_LENGTH) {
    const message = `the string is too large: minLength is ${shortest}, a sample has at most ${MAX_TEXT_LENGTH} characters`
    throw new TooLarge(message, whereIs(run, parts, 'minLength'))
  }
  if (shortest > longest) {
    const message = `no string has at least ${shortest} and at most ${longest} characters`
    throw new SchemaError(message, whereIs(run, parts, 'minLength'))
  }
  const patterns = parts.flatMap((part) => part.pattern ?? [])
  const expressions = patterns.map((pattern) => new RegExp(pattern, 'u'))
  const limits = { shortest, longest, patterns }
  let found = patterns.length === 0
  for (const text of textsFor(run, { parts, position }, limits)) {
    if (!expressions.every((expression) => expression.test(text))) continue
    found = true
    yield text
  }
  if (!found) throw noText(patterns, { path: whereIs(run, parts, 'pattern'), shortest, longest })
}

/** Requirements of a text. */
interface TextLimits {
  shortest: number
  longest: number
  patterns: readonly string[]
}

/** Texts that a person would write first, then texts of each pattern; not all of them match. */
function* textsFor(
  run: SampleRun,
  { parts, position }: ContainerContext,
  { shortest, longest, patterns }: TextLimits,
): Generator<string> {
  const title = parts.find((part) => part.title !== undefined)?.title ?? ''
  const random = (purpose: string) => randomAt(run, position, purpose)
  const about = { name: position.name || title, turn: position.turn, random }
  const formatted = parts.flatMap(({ format }) => (format === undefined ? [] : formatTexts(format, about, shortest)))
  yield* formatted
  const text = plainText(about)
  yield fitted(text, shortest, longest)
  const path = whereIs(run, parts, 'pattern')
  for (const pattern of patterns) {
    for (const drawn of patternTexts(pattern, { path, shortest, longest, turn: position.turn, random })) {
      yield drawn
      // A pattern may restrict only the start or the end of a text.
      const rest = 'a'.repeat(Math.max(0, shortest - drawn.length))
      if (rest !== '') yield* [drawn + rest, rest + drawn, fitted(drawn, shortest, longest)]
      for (const text of formatted) yield* [drawn + text.slice(drawn.length), text + drawn]
    }
  }
  yield* [0, 1, 2].map((more) => fitted(`${position.turn + more + 1} ${text}`, shortest, longest))
  // Short strings differ only in their letters.
  const letters = 'abcdefghijklmnopqrstuvwxyz0123456789'
  for (let more = 0; more < letters.length && longest > 0; more++) {
    yield (letters[(position.turn + more) % letters.length] ?? 'a').repeat(Math.max(1, shortest))
  }
}

/** Maximum number of generated items of a list or properties of an object. */
const MAX_MEMBERS = 1000
/** Maximum length of a generated property name, in characters. */
const MAX_NAME_LENGTH = 200

const inner = (position: ValuePosition, name: string): ValuePosition => ({
  ...position,
  name,
  path: position.path + step(name),
})
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
function* objectsFor(run: SampleRun, context: ContainerContext): Generator<object> {
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
    made[name] = valueFor(run, schemas, inner(position, name))
  }
  let count = required.length
  const add = (name: string) => {
    if (name in made || schemasOf(parts, name).includes(false) || !isName(run, parts, name)) return
    try {
      made[name] = valueFor(run, schemasOf(parts, name), inner(position, name))
      count++
    } catch (error) {
      // It is left out.
      failureOf(error)
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
    yield* valuesFor(run, [...rules, { type: 'string' }], at)
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
function* listsFor(run: SampleRun, context: ContainerContext): Generator<unknown[]> {
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
        failures.push(failureOf(error))
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
        ? valuesFor(run, schemas, at).find((value) => !seen.has(JSON.stringify(value)))
        : valueFor(run, schemas, at)
      if (next === undefined) {
        const message = `only ${index} different items were found, and there must be ${min}`
        throw new SchemaError(message, whereIs(run, parts, 'uniqueItems'))
      }
      seen.add(JSON.stringify(next))
      made.push(next)
    } catch (error) {
      if (index < min) throw error
      failureOf(error)
      break
    }
  }
  return made
}

/** Multiples of a step between two limits. */
interface NumberRange {
  low: number
  high: number
  /** Distance of neighbors; undefined if any fraction is valid. */
  step: number | undefined
}

const decimalsOf = (value: number): number => {
  const [digits = '', exponent = '0'] = String(value).split('e')
  return Math.max(0, (digits.split('.')[1]?.length ?? 0) - Number(exponent))
}
const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b))

/** The smallest step that is a multiple of all `steps`. */
function commonStep(steps: number[]): number | undefined {
  if (steps.length === 0) return undefined
  const scale = 10 ** Math.max(...steps.map(decimalsOf))
  const whole = steps.map((step) => Math.round(step * scale))
  return whole.reduce((a, b) => (a / divisor(a, b)) * b) / scale
}

/** The range that all parts allow. */
function rangeOf(parts: Keywords[], whole: boolean): NumberRange {
  const all = (name: 'minimum' | 'maximum' | 'exclusiveMinimum' | 'exclusiveMaximum' | 'multipleOf') =>
    parts.flatMap((part) => part[name] ?? [])
  return {
    low: Math.max(...all('minimum'), ...all('exclusiveMinimum'), Number.NEGATIVE_INFINITY),
    high: Math.min(...all('maximum'), ...all('exclusiveMaximum'), Number.POSITIVE_INFINITY),
    step: commonStep(whole ? [1, ...all('multipleOf')] : all('multipleOf')),
  }
}

/** A step small enough to find numbers inside a range, a half if there is room. */
function roundStep({ low, high }: NumberRange): number {
  const room = high - low
  return room >= 4 ? 0.5 : room > 0 ? 10 ** Math.floor(Math.log10(room) - 1) : 1
}

/** The start of likely numbers: people count from 1, if the range allows it. */
function likelyLow({ low, high }: NumberRange, step: number): number {
  if (low < 1 && high >= 10) return 1
  return low === Number.NEGATIVE_INFINITY && high >= step ? Math.max(step, Math.min(1, high)) : low
}

/** A number in steps; rounding errors of binary fractions are removed. */
function turnsOf(value: number, step: number): number {
  const turns = value / step
  return Number.isInteger(turns) ? turns : Number(turns.toPrecision(15))
}

/**
 * Numbers of a range, some at a limit, which an exclusive limit forbids. `random` in [0, 1) selects among the small ones;
 * each `turn` gives different numbers.
 */
function* numbersIn(range: NumberRange, random: number, turn: number): Generator<number> {
  const step = range.step ?? roundStep(range)
  const decimals = Math.min(decimalsOf(step), 20)
  const at = (index: number) => Number((index * step).toFixed(decimals))
  const first = Math.ceil(turnsOf(likelyLow(range, step), step))
  const last = Math.floor(turnsOf(range.high, step))
  const likely: number[] = []
  if (Number.isFinite(first)) {
    const room = Number.isFinite(last) ? Math.max(0, last - first + 1) : Number.POSITIVE_INFINITY
    const start = Math.floor(random * Math.min(room, 10)) + turn
    for (let more = 0; more < Math.min(room, 25); more++) likely.push(at(first + ((start + more) % room)))
    if (room > 25) likely.push(at(last), at(Math.ceil(range.low / step)))
  } else if (Number.isFinite(last)) {
    for (let more = 0; more < 25; more++) likely.push(at(last - Math.floor(random * 10) - turn - more))
  }
  // Some validators divide without tolerance for binary fractions.
  const clean = likely.filter((value) => Number.isInteger(value / step))
  yield* [...clean, ...likely].filter(Number.isFinite)
  if (range.step !== undefined) return
  const { low, high } = range
  yield* [low, high, (low + high) / 2, low * 1.5, low / 2, high / 2].filter(Number.isFinite)
}
