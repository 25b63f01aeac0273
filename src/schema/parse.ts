// Parses values as their schemas do, without the work that zod needs for error messages: that is half of its time, and
// nearly all values are valid. It only decides that a value is valid, and returns the parsed value. Everything else is
// parsed by zod, whose result and messages then count (test/unit/quick-parse.test.ts compares the two). It works on the
// compiled schema (parser.ts), so that in the executable neither zod nor the schema is loaded for a valid
// value.
import type { z } from 'zod'
import { isCompiled, readAsset } from '../lib/assets.ts'
import { lazy } from '../lib/lazy.ts'
import { type CompiledSchema, compiledParser, NOT_VALID, type Parser } from './parser.ts'
import { parseRequest } from './validation.ts'

const schemas = lazy<typeof import('./compile.ts')>(() => require('./compile.ts'))

/** The file of a compiled schema: one each, since a start needs only a few. */
export const compiledSchemaFile = (name: string): string => `dist/outlines/${name}.json`

const decoder = new TextDecoder()

/** The compiled schema with a name; there is none if the program runs from source. */
const embeddedSchema = (name: string): CompiledSchema | undefined =>
  isCompiled ? JSON.parse(decoder.decode(readAsset(compiledSchemaFile(name)))) : undefined

/** An operation, or something else with a named request schema. */
interface NamedSchema<T = unknown> {
  readonly name: string
  readonly request: z.ZodObject & z.ZodType<T>
}

/** Values that zod has to parse before a parser is compiled from the schema itself: a start has few calls. */
const OFTEN = 16
interface Known {
  parse: Parser | undefined
  fields: ReadonlySet<string>
  slow: number
}
const cached = new WeakMap<object, Known>()

function knownOf(named: NamedSchema): Known {
  const found = cached.get(named)
  if (found) return found
  const compiled = embeddedSchema(requestSchemaName(named.name))
  const names = compiled?.is === 'object' ? compiled.fields.map(({ name }) => name) : Object.keys(named.request.shape)
  const made: Known = { parse: compiled ? compiledParser(compiled) : undefined, fields: new Set(names), slow: 0 }
  cached.set(named, made)
  return made
}

/** The name of the compiled schema of an operation's request. */
export const requestSchemaName = (operation: string): string => `request-${operation}`

/** The names of a request's fields. */
export const fieldsOf = (named: NamedSchema): ReadonlySet<string> => knownOf(named).fields

/**
 * The parsed body of a call.
 * @throws ApiError 400 with the first invalid field
 */
export function parseCall<T>(asked: NamedSchema<T>, value: unknown, { status = 400 } = {}): T {
  const found = knownOf(asked)
  const parsed = found.parse ? found.parse(value) : NOT_VALID
  if (parsed !== NOT_VALID) return parsed as T
  if (found.slow++ === OFTEN) found.parse = quickParser(asked.request)
  return parseRequest(asked.request, value, { status })
}

const byName = new Map<string, Parser>()

/** Parses a value by the compiled schema with a name; `NOT_VALID` if zod must decide. */
export const parseCompiled = (name: string, value: unknown): unknown =>
  byName.getOrInsertComputed(name, () => compiledParser(embeddedSchema(name) ?? null))(value)

/** A fast parser for a schema: returns the parsed value, or `NOT_VALID` if zod must decide. */
export const quickParser = (schema: z.ZodType): Parser => compiledParser(schemas().compileSchema(schema))
