// Generates values for a schema: tries every branch, likely values first, and checks each value.
import type { InstanceType } from '@cfworker/json-schema'
import { branchesOf, type SchemaBranch, typesOf } from './branches.ts'
import { listsFor, objectsFor } from './containers.ts'
import { numbersIn, rangeOf } from './numbers.ts'
import { noText, patternTexts } from './pattern-texts.ts'
import { randomAt, whereIs } from './position.ts'
import { type Keywords, type Schema, SchemaError, TooLarge, TYPES, WorkSpent } from './prepare.ts'
import { fitted, formatTexts, MAX_TEXT_LENGTH, plainText } from './strings.ts'
import type { ContainerContext, SampleRun, ValuePosition } from './types.ts'

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
  const cached = weights.get(schema)
  if (cached !== undefined) return cached
  const { allOf = [], anyOf = [], oneOf = [], not = true, if: condition = true } = schema
  const weight = [...allOf, ...anyOf, ...oneOf, not, condition].reduce((sum, inner) => sum + weightOf(inner), 1)
  weights.set(schema, weight)
  return weight
}

function spend(run: SampleRun, amount: number) {
  run.budget -= amount
  if (run.budget < 0) throw new WorkSpent('the schema is too large: a sample takes more work than is done for one', '')
}

type Note = (error: SchemaError) => void

/**
 * Values that satisfy all of the schemas, the likely ones first.
 * @throws SchemaError if there is none, with the first problem
 */
export function* valuesFor(run: SampleRun, schemas: Schema[], position: ValuePosition): Generator<unknown> {
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
      if (!(error instanceof SchemaError) || error instanceof WorkSpent) throw error
      // An error costs more than a value.
      spend(run, 20)
      return note(error)
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
      if (!(error instanceof SchemaError) || error instanceof WorkSpent) throw error
      failures.push(error)
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
  const shortest = Math.max(0, ...parts.map((part) => part.minLength ?? 0))
  const longest = Math.min(...parts.map((part) => part.maxLength ?? Number.POSITIVE_INFINITY))
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
