// Turns zod's issues into one sentence for the user: the value, what is valid, and the path.
import type { z } from 'zod'
import { ApiError } from '../contract/core/error.ts'
import type { Problem } from '../contract/core/problem.ts'
import { presentName } from '../lib/former-names.ts'
import { suggestion } from '../lib/likely-name.ts'
import { counted } from '../lib/units.ts'
import { cutWhole, halfCharacterIn, halfCharacterProblem } from '../lib/well-formed.ts'

type Issue = z.core.$ZodIssue
/**
 * A path as text, such as `messages[0].content`; empty for the whole value.
 * @example
 * formatPath(['messages', 0, 'content']) // => 'messages[0].content'
 * formatPath([]) // => ''
 */
export const formatPath = (path: readonly PropertyKey[]): string =>
  path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`
    return text === '' ? String(step) : `${text}.${String(step)}`
  }, '')

/** Maximum length of a quoted value. */
const QUOTED = 80

/**
 * A value as an error quotes it: JSON, shortened if long.
 * @example
 * quote('a') // => '"a"'
 * quote(undefined) // => 'nothing'
 */
export function quote(value: unknown): string {
  if (value === undefined) return 'nothing'
  const text = JSON.stringify(value, beginningOf) ?? String(value)
  return text.length > QUOTED ? `${cutWhole(text, QUOTED - 3)}...` : text
}

/** Only as much of a value as can be quoted: serializing all of a large one takes long. */
function beginningOf(_: string, value: unknown): unknown {
  const cut = (typeof value === 'string' || Array.isArray(value)) && value.length > QUOTED
  return cut ? value.slice(0, QUOTED) : value
}

/** The value at a path; undefined if there is none. */
export const valueAt = (root: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((value, step) => (value as Record<PropertyKey, unknown> | null | undefined)?.[step], root)

// An optional choice lists undefined, which no one can write.
const list = (values: readonly unknown[]) =>
  values.flatMap((value) => (value === undefined ? [] : [JSON.stringify(value)])).join(', ')
const article = (noun: string) => (/^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`)
const UNITS: Record<string, string> = { string: 'character', array: 'item', object: 'key' }
const sizeOf = (number: number | bigint, origin: string) =>
  UNITS[origin] === undefined ? String(number) : counted(Number(number), UNITS[origin])

const TYPE_NAMES: Record<string, string> = { int: 'integer', record: 'object' }

function expectation(issue: Issue): string {
  // A message of the schema itself takes precedence.
  if (issue.message.startsWith('must ')) return issue.message
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${article(TYPE_NAMES[issue.expected] ?? issue.expected)}`
    case 'invalid_key':
      return `has a key that ${issue.issues.map(expectation).join(', and ')}`
    case 'invalid_value':
      return issue.values.length === 1 ? `must be ${list(issue.values)}` : `must be one of ${list(issue.values)}`
    case 'too_small':
      return `must be ${issue.inclusive === false ? 'more than' : 'at least'} ${sizeOf(issue.minimum, issue.origin)}`
    case 'too_big':
      return `must be ${issue.inclusive === false ? 'less than' : 'at most'} ${sizeOf(issue.maximum, issue.origin)}`
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

/** What a value may be if every branch of a union rejected it at its root: the choices, joined. */
const unionOf = (branches: Issue[][]): string => {
  const choices = branches.flatMap((branch) => branch.filter((issue) => issue.path.length === 0).map(expectation))
  if (choices.length === 0) return 'has no valid form'
  return [...new Set(choices)].map((text, index) => (index === 0 ? text : text.replace(/^must be /, ''))).join(', or ')
}

/** The problem that the author most likely means: in a union, that of the branch that got furthest. */
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

/** Start of the message for an unknown key. */
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

/** The valid texts of a choice. */
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
/**
 * Uses of a schema after which zod may compile it: that takes as long as some dozen parses, and most uses at start are
 * the only one.
 */
const COMPILED_AFTER = 32

/** Whether a schema is parsed uncompiled, since it is not known yet to be used often. Counts this use. */
function isRare(schema: z.ZodType): boolean {
  const count = uses.get(schema) ?? 0
  if (count < COMPILED_AFTER) uses.set(schema, count + 1)
  return count < COMPILED_AFTER
}

/**
 * Parses as the schema does, but lists the valid keys in the message for an unknown key.
 * @example
 * import { z } from 'zod'
 * safeParse(z.int(), 3).data // => 3
 * safeParse(z.int(), 'three').success // => false
 */
export function safeParse<T>(schema: z.ZodType<T>, value: unknown): z.ZodSafeParseResult<T> {
  const isLarge = hasLongList(value)
  const tooLong = isLarge ? tooLongList(schema, value) : undefined
  if (tooLong) return failed(tooLong)
  try {
    return parsed(schema, value, isLarge)
  } catch (error) {
    if (isUnreadable(error)) return failed(UNREADABLE)
    if (isLarge && error instanceof RangeError) return failed(TOO_MANY)
    throw error
  }
}

/** @param first whether to stop at the first mistake of each list */
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

/** Length from which a list is long: zod collects every mistake in it, takes seconds for a million and fails then. */
const LONG = 1_000

/** Whether a value contains a long list. YAML aliases may repeat parts. */
function hasLongList(value: unknown, seen = new Set<object>()): boolean {
  if (typeof value !== 'object' || value === null || seen.has(value)) return false
  seen.add(value)
  if (Array.isArray(value) && value.length > LONG) return true
  const parts: unknown[] = Array.isArray(value) ? value : Object.values(value)
  return parts.some((part) => hasLongList(part, seen))
}

/** The first list that exceeds its maximum, so that its items need not be checked. */
function tooLongList(schema: z.core.$ZodType, value: unknown): Issue | undefined {
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
          path: [],
          input: value,
          message: '',
        }
      for (const [index, item] of value.entries()) {
        const found = tooLongList(def.element, item)
        if (found) return { ...found, path: [index, ...found.path] }
      }
      return undefined
    }
    case 'object':
      for (const key in def.shape) {
        const part = def.shape[key]
        const found = part && tooLongList(part, (value as Record<string, unknown>)[key])
        if (found) return { ...found, path: [key, ...found.path] }
      }
      return undefined
    case 'optional':
    case 'nullable':
    case 'default':
      return tooLongList(def.innerType, value)
    case 'union': {
      // It is too long if it is for each branch that allows a list or an object.
      const branches = def.options.filter((option) => !SCALARS.has(option._zod.def.type))
      const found = branches.map((branch) => tooLongList(branch, value))
      return found.every((issue) => issue !== undefined) ? found[0] : undefined
    }
    default:
      return undefined
  }
}

/** Types of schemas for which no list and no object is valid. */
const SCALARS = new Set(['string', 'number', 'boolean', 'null', 'literal', 'enum'])

/** The maximum number of items that a list schema allows. */
const maximumOf = ({ checks = [] }: z.core.$ZodArrayDef): number =>
  Math.min(
    ...checks.map(({ _zod: { def } }) =>
      def.check === 'max_length' ? (def as z.core.$ZodCheckMaxLengthDef).maximum : Infinity,
    ),
  )

// Checks of a length also read the `length` of objects, which may be neither a text nor a number.
const isUnreadable = (error: unknown) => error instanceof TypeError && /default value|primitive/.test(error.message)
const wholeIssue = (message: string): Issue => ({ code: 'custom', path: [], message, input: undefined })
const UNREADABLE = wholeIssue('must be a value with parts of valid types')
const TOO_MANY = wholeIssue('must be valid: it contains a long list with too many errors to report')

/** Maximum number of reported problems. */
const MAX_PROBLEMS = 100

/**
 * The problems of a failed parse, in zod's order; each unknown key is one.
 * @example
 * import { z } from 'zod'
 * const { error } = z.strictObject({ a: z.int() }).safeParse({ a: 1, b: 2 })
 * problemsOf(error, { a: 1, b: 2 })[0].path // => ['b']
 */
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

/** The problems of a value under a schema; none if it is valid. */
export function problemsWith(schema: z.ZodType, value: unknown): Problem[] {
  const result = safeParse(schema, value)
  return result.success ? [] : problemsOf(result.error, value)
}

/**
 * The parsed value. The error names the first invalid field, below `under`, or `whole` for the value itself.
 * @throws ApiError with `status`, default 400
 * @example
 * import { z } from 'zod'
 * parseRequest(z.object({ n: z.int() }), { n: 2 }) // => { n: 2 }
 * parseRequest(z.object({ n: z.int() }), { n: 'two' }) // throws 'n' must be a number
 */
export function parseRequest<T>(
  schema: z.ZodType<T>,
  value: unknown,
  { status = 400, whole = 'the body', under = '' } = {},
): T {
  const result = safeParse(schema, value)
  if (result.success) return result.data
  const [{ path, message } = { path: [], message: 'is not valid' }] = problemsOf(result.error, value, 1)
  const place = { path: [...(under ? [under] : []), ...path], whole }
  throw errorAt(place, message, { status, code: 'invalid_value' })
}

/** The error for a value that contains half of a surrogate pair, with its path; undefined if it has none. */
export function halfCharacterError(value: unknown, status = 400): ApiError | undefined {
  const found = halfCharacterIn(value)
  if (!found) return undefined
  const place = { path: found.path, whole: 'the body' }
  return errorAt(place, halfCharacterProblem(found.half), { status, code: 'invalid_text' })
}

function errorAt(
  { path, whole }: { path: readonly PropertyKey[]; whole: string },
  message: string,
  { status, code }: Pick<ApiError, 'status' | 'code'>,
): ApiError {
  const param = formatPath(path)
  return new ApiError(status, code, `${param === '' ? whole : `'${param}'`} ${message}`, { param: param || null })
}
