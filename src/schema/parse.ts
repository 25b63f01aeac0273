// Parses values as their schemas do, without what zod needs to say what is wrong: that is half of its time, and nearly all values
// are valid. It says only that a value is valid, and what the schema makes of it; whatever it does not take is parsed by zod,
// whose verdict and words then count (test/unit/quick-parse.test.ts holds the two together). What it knows of a schema is its outline
// (outline.ts), so that in the executable neither zod nor the schema is loaded for a valid value.
import type { z } from 'zod'
import { lazy } from '../lib/lazy.ts'
import { NOT_VALID, type Parser } from './compiled-schema.ts'
import { embeddedSchema } from './embedded.ts'
import { compiledParser } from './parser.ts'
import { parseRequest } from './validation.ts'

const schemas = lazy<typeof import('./compile.ts')>(() => require('./compile.ts'))

/** An operation, or what else has a schema for what it is given, by a name. */
interface Asked<T = unknown> {
  readonly name: string
  readonly request: z.ZodObject & z.ZodType<T>
}

/** Values that zod has to look at after which a parser is made of the schema itself: a start has few calls. */
const OFTEN = 16
interface Known {
  parse: Parser | undefined
  fields: ReadonlySet<string>
  slow: number
}
const known = new WeakMap<object, Known>()

function knownOf(asked: Asked): Known {
  const found = known.get(asked)
  if (found) return found
  const outline = embeddedSchema(requestSchemaName(asked.name))
  const names = outline?.is === 'object' ? outline.fields.map(({ name }) => name) : Object.keys(asked.request.shape)
  const made: Known = { parse: outline ? compiledParser(outline) : undefined, fields: new Set(names), slow: 0 }
  known.set(asked, made)
  return made
}

/** The name of the outline of an operation's request. */
export const requestSchemaName = (operation: string): string => `request-${operation}`

/** The names of the fields that a request may have. */
export const fieldsOf = (asked: Asked): ReadonlySet<string> => knownOf(asked).fields

/** The body of a call as its schema makes it; a 400 that names the first field at fault otherwise. */
export function parseCall<T>(asked: Asked<T>, value: unknown, { status = 400 } = {}): T {
  const found = knownOf(asked)
  const parsed = found.parse ? found.parse(value) : NOT_VALID
  if (parsed !== NOT_VALID) return parsed as T
  if (found.slow++ === OFTEN) found.parse = quickParser(asked.request)
  return parseRequest(asked.request, value, { status })
}

const byName = new Map<string, Parser>()

/** What the schema whose outline has a name makes of a value; `REFUSED` when that has to say it itself. */
export const parseCompiled = (name: string, value: unknown): unknown =>
  byName.getOrInsertComputed(name, () => compiledParser(embeddedSchema(name) ?? null))(value)

/** What gives, for a value that a schema takes, what it makes of it; `REFUSED` for what zod has to look at. */
export const quickParser = (schema: z.ZodType): Parser => compiledParser(schemas().compileSchema(schema))
