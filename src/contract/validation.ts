// Turns what zod found wrong into one sentence a person can act on: the value, what would be valid, where.
import type { z } from 'zod'
import { suggestion } from '../lib/likely-name.ts'
import { cutWhole } from '../lib/well-formed.ts'
import { ApiError } from './error.ts'

type Issue = z.core.$ZodIssue
/** One thing wrong with a value: where, and what would be right. */
export interface Problem {
  path: PropertyKey[]
  message: string
}

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
    return { path: [...path, key], message: unknownKey(key, issue) }
  }
  if (issue.code === 'invalid_union') {
    const furthest = issue.errors
      .flat()
      .filter((inner) => inner.path.length > 0)
      .map((inner) => deepest(inner, root, path))
      .sort((a, b) => b.path.length - a.path.length)[0]
    if (furthest) return furthest
  }
  const at = issue.code === 'invalid_union' && typeof issue.discriminator === 'string' ? dropEcho(path, issue) : path
  const value = valueAt(root, at)
  if (issue.code === 'invalid_key') return { path, message: expectation(issue) }
  if (issue.code === 'custom' && issue.message.startsWith('is required')) return { path: at, message: issue.message }
  const missing = value === undefined && issue.code !== 'custom'
  return {
    path: at,
    message: missing
      ? `is required: it ${expectation(issue)}`
      : `${expectation(issue)}, got ${quote(value)}${likelyValue(issue, value)}`,
  }
}

/** How `safeParse` begins what it says of a key that is not known. */
const UNKNOWN_KEY = 'is not known; valid: '

function unknownKey(key: string, { message }: Issue): string {
  if (!message.startsWith(UNKNOWN_KEY)) return message
  const valid = message.slice(UNKNOWN_KEY.length)
  return `is not known${suggestion(key, valid.split(', '))}; valid: ${valid}`
}

/** The choice that was probably meant by a text that is none. */
function likelyValue(issue: Issue, value: unknown): string {
  if (typeof value !== 'string') return ''
  const choices =
    issue.code === 'invalid_value'
      ? issue.values
      : issue.code === 'invalid_union' && 'options' in issue && Array.isArray(issue.options)
        ? issue.options
        : []
  return suggestion(
    value,
    choices.filter((one) => typeof one === 'string'),
  )
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
  try {
    return schema.safeParse(value, {
      jitless: isRare(schema),
      error: ({ code, inst }) => {
        if (code !== 'unrecognized_keys') return undefined
        return `${UNKNOWN_KEY}${Object.keys((inst as unknown as z.ZodObject).shape).join(', ')}`
      },
    })
  } catch (error) {
    if (!isUnreadable(error)) throw error
    return { success: false, error: { issues: [UNREADABLE] } as unknown as z.ZodError<T> }
  }
}

// Checks of a length read it of objects too, whose `length` may be an object that is no text and no number.
const isUnreadable = (error: unknown) => error instanceof TypeError && /default value|primitive/.test(error.message)
const UNREADABLE: Issue = {
  code: 'custom',
  path: [],
  message: 'must be a value whose parts are of the kinds that are wanted',
  input: undefined,
}

/** All problems of a failed parse, in the order zod found them; every key that is not known is one. */
export const problemsOf = ({ issues }: z.core.$ZodError, root: unknown): Problem[] =>
  issues
    .flatMap((issue): Issue[] =>
      issue.code === 'unrecognized_keys' ? issue.keys.map((key) => ({ ...issue, keys: [key] })) : [issue],
    )
    .map((issue) => deepest(issue, root))

/** The value as the schema makes it; a 400 that names the first field at fault, below `under`, or `whole`, otherwise. */
export function parseRequest<T>(
  schema: z.ZodType<T>,
  value: unknown,
  { status = 400, whole = 'the body', under = '' } = {},
): T {
  const result = safeParse(schema, value)
  if (result.success) return result.data
  const [problem = { path: [], message: 'is not valid' }] = problemsOf(result.error, value)
  const param = formatPath([...(under ? [under] : []), ...problem.path])
  throw new ApiError(status, 'invalid_value', `${param === '' ? whole : `'${param}'`} ${problem.message}`, {
    param: param === '' ? null : param,
  })
}
