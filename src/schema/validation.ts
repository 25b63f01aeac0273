// Turns what zod found wrong into one sentence a person can act on: the value, what would be valid, where.
import type { z } from 'zod'
import { ApiError } from '../contract/core/error.ts'
import type { Problem } from '../contract/core/problem.ts'
import { presentName } from '../lib/former-names.ts'
import { suggestion } from '../lib/likely-name.ts'
import { cutWhole } from '../lib/well-formed.ts'

type Issue = z.core.$ZodIssue
/** `messages[0].content` from its steps; the empty string is the whole value. */
export const formatPath = (path: readonly PropertyKey[]): string =>
  path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`
    return text === '' ? String(step) : `${text}.${String(step)}`
  }, '')

/** Characters of a quoted value. */
const QUOTED = 80

/** A value as it is quoted in an error: JSON, cut when long. */
export function quote(value: unknown): string {
  if (value === undefined) return 'nothing'
  const text = JSON.stringify(value, beginningOf) ?? String(value)
  return text.length > QUOTED ? `${cutWhole(text, QUOTED - 3)}...` : text
}

/** No more of a value than can be quoted: to write down all of a large one takes long. */
function beginningOf(_: string, value: unknown): unknown {
  const cut = (typeof value === 'string' || Array.isArray(value)) && value.length > QUOTED
  return cut ? value.slice(0, QUOTED) : value
}

/** The value at a path of steps, undefined where there is none. */
export const valueAt = (root: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((value, step) => (value as Record<PropertyKey, unknown> | null | undefined)?.[step], root)

// A choice that may also be left out lists undefined, which nobody can write.
const list = (values: readonly unknown[]) =>
  values.flatMap((value) => (value === undefined ? [] : [JSON.stringify(value)])).join(', ')
const article = (noun: string) => (/^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`)
const UNITS: Record<string, string> = { string: ' characters', array: ' items', object: ' keys' }

const TYPE_NAMES: Record<string, string> = { int: 'integer', record: 'object' }

function expectation(issue: Issue): string {
  // A schema that says itself what it wants knows best.
  if (issue.message.startsWith('must ')) return issue.message
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${article(TYPE_NAMES[issue.expected] ?? issue.expected)}`
    case 'invalid_key':
      return `has a key that ${issue.issues.map(expectation).join(', and ')}`
    case 'invalid_value':
      return issue.values.length === 1 ? `must be ${list(issue.values)}` : `must be one of ${list(issue.values)}`
    case 'too_small':
      return `must be ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}${UNITS[issue.origin] ?? ''}`
    case 'too_big':
      return `must be ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}${UNITS[issue.origin] ?? ''}`
    case 'invalid_format':
      return 'pattern' in issue && issue.pattern ? `must match ${issue.pattern}` : `must be a valid ${issue.format}`
    case 'invalid_union':
      return 'options' in issue && Array.isArray(issue.options) && issue.options.length > 0
        ? `must be one of ${list(issue.options)}`
        : unionOf(issue.errors)
    default:
      return issue.message
  }
}

/** What a value may be when each branch of a union refused it at its root: the choices, joined. */
const unionOf = (branches: Issue[][]): string => {
  const choices = branches.flatMap((branch) => branch.filter((issue) => issue.path.length === 0).map(expectation))
  if (choices.length === 0) return 'has no valid form'
  return [...new Set(choices)].map((text, index) => (index === 0 ? text : text.replace(/^must be /, ''))).join(', or ')
}

/** The problem the writer most likely means: in a union, the one of the branch that got furthest. */
function deepest(issue: Issue, root: unknown, base: readonly PropertyKey[] = []): Problem {
  const path = [...base, ...issue.path]
  if (issue.code === 'unrecognized_keys') {
    const [key = ''] = issue.keys
    return { path: [...path, key], message: unknownKey(key, issue), ...renameOf('key', key, validKeys(issue)) }
  }
  if (issue.code === 'invalid_union') {
    const furthest = issue.errors
      .flatMap((branch) => branch.slice(0, MAX_PROBLEMS))
      .filter((inner) => inner.path.length > 0)
      .map((inner) => deepest(inner, root, path))
      .sort((a, b) => b.path.length - a.path.length)[0]
    if (furthest) return furthest
  }
  const at = issue.code === 'invalid_union' && typeof issue.discriminator === 'string' ? dropEcho(path, issue) : path
  const value = valueAt(root, at)
  if (issue.code === 'invalid_key') return { path, message: expectation(issue) }
  if (issue.code === 'custom' && issue.message.startsWith('is required')) return { path: at, message: issue.message }
  if (value === undefined && issue.code !== 'custom')
    return { path: at, message: `is required: it ${expectation(issue)}` }
  const choices = choicesOf(issue)
  const isText = typeof value === 'string'
  const likely = isText && issue.code !== 'custom' ? suggestion(value, choices) : ''
  return {
    path: at,
    message: `${expectation(issue)}, got ${quote(value)}${likely}`,
    ...(isText && renameOf('value', value, choices)),
  }
}

/** How `safeParse` begins what it says of a key that is not known. */
const UNKNOWN_KEY = 'is not known; valid: '

const validKeys = ({ message }: Issue): string[] =>
  message.startsWith(UNKNOWN_KEY) ? message.slice(UNKNOWN_KEY.length).split(', ') : []

function unknownKey(key: string, issue: Issue): string {
  const valid = validKeys(issue)
  return valid.length === 0 ? issue.message : `is not known${suggestion(key, valid)}; valid: ${valid.join(', ')}`
}

/** The present name of a key or value, as a problem carries it. */
function renameOf(part: 'key' | 'value', written: string, valid: readonly string[]): Pick<Problem, 'rename'> {
  const to = presentName(written, valid)
  return to === undefined ? {} : { rename: { part, to } }
}

/** The texts that are valid where a choice is demanded. */
function choicesOf(issue: Issue): string[] {
  const choices: unknown =
    issue.code === 'invalid_value'
      ? issue.values
      : issue.code === 'custom'
        ? issue.params?.choices
        : 'options' in issue && issue.options
  return Array.isArray(choices) ? choices.filter((one) => typeof one === 'string') : []
}

const dropEcho = (path: PropertyKey[], issue: { discriminator?: string }) =>
  path.at(-1) === issue.discriminator ? path : [...path, issue.discriminator ?? '']

const uses = new WeakMap<z.ZodType, number>()
/** Uses of a schema after which zod may compile it: that takes as long as some dozen parses, and most of a start are the only one. */
const COMPILED_AFTER = 32

/** Whether a schema is to be parsed as it is, since nobody knows yet that it is used often; counts this use. */
function isRare(schema: z.ZodType): boolean {
  const count = uses.get(schema) ?? 0
  if (count < COMPILED_AFTER) uses.set(schema, count + 1)
  return count < COMPILED_AFTER
}

/** Parses as the schema does, with the valid keys in the message of a key that is not known. */
export function safeParse<T>(schema: z.ZodType<T>, value: unknown): z.ZodSafeParseResult<T> {
  const isLarge = hasLongList(value)
  const tooLong = isLarge ? tooLongList(schema, value) : undefined
  if (tooLong) return failed(tooLong)
  const found = isLarge ? mistakesAtTheBeginning(schema, value) : undefined
  if (found) return found
  try {
    return parsed(schema, value, isLarge)
  } catch (error) {
    if (isUnreadable(error)) return failed(UNREADABLE)
    if (isLarge && error instanceof RangeError) return failed(TOO_MANY)
    throw error
  }
}

/** @param first whether to look no further than the first mistake of each list */
const parsed = <T>(schema: z.ZodType<T>, value: unknown, first: boolean): z.ZodSafeParseResult<T> =>
  schema.safeParse(value, {
    jitless: isRare(schema),
    ...(first && { abortEarly: true }),
    error: ({ code, inst }) => {
      if (code !== 'unrecognized_keys') return undefined
      return `${UNKNOWN_KEY}${Object.keys((inst as unknown as z.ZodObject).shape).join(', ')}`
    },
  })

const failed = <T>(issue: Issue): z.ZodSafeParseResult<T> => ({
  success: false,
  error: { issues: [issue] } as unknown as z.ZodError<T>,
})

/** Items of a list from which on it is long: zod gathers every mistake in it, takes seconds for a million and fails then. */
const LONG = 1_000
/** How much of long lists is looked at first. */
const BEGINNINGS = [100, 10_000]
/** So many mistakes are those of items, and not of a list that is too short. */
const MANY = 64

/** Whether there is a long list anywhere in a value, which may have parts in several places, as YAML's aliases make them. */
function hasLongList(value: unknown, seen = new Set<object>()): boolean {
  if (typeof value !== 'object' || value === null || seen.has(value)) return false
  seen.add(value)
  if (Array.isArray(value) && value.length > LONG) return true
  const parts: unknown[] = Array.isArray(value) ? value : Object.values(value)
  return parts.some((part) => hasLongList(part, seen))
}

/** The first list that is longer than its schema allows, whatever its items are: these need no look then. */
function tooLongList(schema: z.core.$ZodType, value: unknown, path: readonly PropertyKey[] = []): Issue | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'array': {
      if (!Array.isArray(value)) return undefined
      const maximum = maximumOf(def)
      if (value.length > maximum)
        return {
          code: 'too_big',
          origin: 'array',
          maximum,
          inclusive: true,
          path: [...path],
          input: value,
          message: '',
        }
      return firstOf(value.entries(), ([index, item]) => tooLongList(def.element, item, [...path, index]))
    }
    case 'object':
      return firstOf(Object.entries(def.shape), ([key, part]) =>
        tooLongList(part, (value as Record<string, unknown>)[key], [...path, key]),
      )
    case 'optional':
    case 'nullable':
    case 'default':
      return tooLongList(def.innerType, value, path)
    case 'union': {
      // It is too long when it is so for each branch that a list or an object can be of.
      const branches = def.options.filter((option) => !SCALARS.has(option._zod.def.type))
      const found = branches.map((branch) => tooLongList(branch, value, path))
      return found.every((issue) => issue !== undefined) ? found[0] : undefined
    }
    default:
      return undefined
  }
}

/** Types of schemas that no list and no object is valid for. */
const SCALARS = new Set(['string', 'number', 'boolean', 'null', 'literal', 'enum'])

/** The most items that a schema of lists allows. */
const maximumOf = ({ checks = [] }: z.core.$ZodArrayDef): number =>
  Math.min(
    ...checks.map(({ _zod: { def } }) =>
      def.check === 'max_length' ? (def as z.core.$ZodCheckMaxLengthDef).maximum : Infinity,
    ),
  )

/** The first result that is one, of a function called with each item in turn. */
function firstOf<T, R>(items: Iterable<T>, of: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const result = of(item)
    if (result !== undefined) return result
  }
  return undefined
}

/** What is found in the beginnings of long lists, where nearly all of them is wrong. */
function mistakesAtTheBeginning<T>(schema: z.ZodType<T>, value: unknown): z.ZodSafeParseResult<T> | undefined {
  for (const most of BEGINNINGS) {
    try {
      const result = parsed(schema, beginningsOf(value, most), false)
      if (!result.success && result.error.issues.flatMap(mistakesIn).length >= MANY) return result
    } catch {
      // What the whole value is worth is found out by itself.
    }
  }
  return undefined
}

/** A mistake, and those that the branches of a union have found. */
const mistakesIn = (issue: Issue): readonly Issue[] =>
  issue.code === 'invalid_union' && issue.errors.length > 0 ? issue.errors.flat().flatMap(mistakesIn) : [issue]

/** A value with the beginnings of its lists. */
function beginningsOf(value: unknown, most: number, made = new Map<object, unknown>()): unknown {
  if (typeof value !== 'object' || value === null) return value
  const before = made.get(value)
  if (before !== undefined) return before
  if (Array.isArray(value)) {
    const list: unknown[] = []
    made.set(value, list)
    for (const part of value.slice(0, most)) list.push(beginningsOf(part, most, made))
    return list
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return value
  const beginning: Record<string, unknown> = {}
  made.set(value, beginning)
  const parts = Object.entries(value)
  return Object.assign(beginning, Object.fromEntries(parts.map(([key, part]) => [key, beginningsOf(part, most, made)])))
}

// Checks of a length read it of objects too, whose `length` may be an object that is no text and no number.
const isUnreadable = (error: unknown) => error instanceof TypeError && /default value|primitive/.test(error.message)
const UNREADABLE: Issue = {
  code: 'custom',
  path: [],
  message: 'must be a value with parts of valid types',
  input: undefined,
}
const TOO_MANY: Issue = {
  code: 'custom',
  path: [],
  message: 'must be valid: it contains a long list with too many errors to report',
  input: undefined,
}

/** Problems that are told at a time. */
const MAX_PROBLEMS = 100

/** The problems of a failed parse, in the order zod found them; every key that is not known is one. */
export const problemsOf = (
  { issues }: Pick<z.core.$ZodError, 'issues'>,
  root: unknown,
  most = MAX_PROBLEMS,
): Problem[] =>
  issues
    .slice(0, most)
    .flatMap((issue): Issue[] =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.slice(0, most).map((key) => ({ ...issue, keys: [key] }))
        : [issue],
    )
    .slice(0, most)
    .map((issue) => deepest(issue, root))

/** The value as the schema makes it; a 400 that names the first field at fault, below `under`, or `whole`, otherwise. */
export function parseRequest<T>(
  schema: z.ZodType<T>,
  value: unknown,
  { status = 400, whole = 'the body', under = '' } = {},
): T {
  const result = safeParse(schema, value)
  if (result.success) return result.data
  const [problem = { path: [], message: 'is not valid' }] = problemsOf(result.error, value, 1)
  const param = formatPath([...(under ? [under] : []), ...problem.path])
  throw new ApiError(status, 'invalid_value', `${param === '' ? whole : `'${param}'`} ${problem.message}`, {
    param: param === '' ? null : param,
  })
}
