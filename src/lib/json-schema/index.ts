// JSON Schema of any draft: a plausible value that satisfies a schema, and what is wrong with a value.
import type { Schema as ValidatorSchema } from '@cfworker/json-schema'
import { checkKeywords, InvalidSchema, prepare, type Schema, SchemaError, TooLarge, WorkSpent } from './prepare.ts'
import { valueFor, valuesFor } from './sample.ts'
import type { SampleRun } from './types.ts'

export { InvalidSchema, SchemaError, WorkSpent }

/** Values made and checked for one attempt at a sample. */
const BUDGET = 50_000

/**
 * Attempts at a sample: one with everything, then only what is required, not recursive and more recursive. A recursive schema
 * that can end at all mostly ends without a reference inside itself.
 */
const ATTEMPTS = [
  { lean: false, depth: 2 },
  { lean: true, depth: 1 },
  { lean: true, depth: 6 },
]

/** The error as one of the schema; a schema that is nested so deeply that the stack ends is the client's mistake too. */
function asSchemaError(error: unknown): SchemaError {
  if (error instanceof SchemaError) return error
  if (error instanceof RangeError)
    return new SchemaError('the schema is nested too deeply, or leads back to itself', '')
  return new SchemaError(error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error), '')
}

async function load() {
  const { dereference, validate } = await import('@cfworker/json-schema')
  return { dereference, validate }
}

type Library = Awaited<ReturnType<typeof load>>
type Problem = ReturnType<Library['validate']>['errors'][number]

/** The problems that say most: not those that only say that a part has problems, nor that a wrong property is undeclared. */
const replyContext = (errors: Problem[]): Problem[] =>
  errors.filter((error, index) => {
    const next = errors[index + 1]
    if (error.keyword === 'false') return index === 0
    if (next?.keyword === 'false') {
      const same = (other: Problem) => other.instanceLocation === next.instanceLocation && other.keyword !== 'false'
      return !errors.some(same)
    }
    return !next?.keywordLocation.startsWith(`${error.keywordLocation}/`)
  })

function preparedWith({ dereference, validate }: Library, schema: unknown) {
  const prepared = prepare(schema, validate)
  const lookup = dereference(prepared.schema as ValidatorSchema | boolean)
  const problemsOf = (value: unknown, part: Schema, location: string): Problem[] =>
    replyContext(
      validate(value, part as ValidatorSchema | boolean, '2020-12', lookup, false, null, '#', location).errors,
    )
  return { ...prepared, lookup: lookup as Record<string, Schema>, problemsOf }
}

/** Whether a sample takes what reads patterns, which is large to load and may have much to do; `text` is the schema as JSON. */
export const hasPatterns = (text: string): boolean => text.includes('"pattern')

/** What is given to a schema without patterns. */
function* noTexts(): Generator<string> {}

const loadTexts = async (schema: object | boolean) =>
  hasPatterns(JSON.stringify(schema)) ? (await import('./pattern-texts.ts')).patternTexts() : noTexts

/** @throws InvalidSchema when a keyword of the schema is malformed. */
export async function checkSchema(schema: object | boolean): Promise<void> {
  checkKeywords(schema, (await load()).validate)
}

/**
 * A value that satisfies the schema, of any draft, always the same for the same schema and key.
 * @param budget values that one attempt may make and check; with less than usual, `WorkSpent` is thrown at once
 * @throws SchemaError for a schema that nothing was found for, `InvalidSchema` for one that is none, saying why and where.
 */
export async function sampleOf(schema: object | boolean, key: string, budget = BUDGET): Promise<unknown> {
  const library = await load()
  let failure: unknown
  try {
    const patternTexts = await loadTexts(schema)
    const { schema: root, lookup, origin, problemsOf } = preparedWith(library, schema)
    const check: SampleRun['check'] = (value, part) => {
      const at = typeof part === 'object' ? (origin.get(part) ?? '') : ''
      const [problem] = problemsOf(value, part, at)
      return problem && new SchemaError(problem.error, problem.keywordLocation)
    }
    for (const attempt of ATTEMPTS) {
      try {
        const run: SampleRun = {
          ...attempt,
          lookup,
          origin,
          key,
          check,
          budget,
          patternTexts,
          valuesFor: (schemas, at) => valuesFor(run, schemas, at),
        }
        const inside = typeof root === 'object' ? { schema: root, outer: undefined } : undefined
        const sample = valueFor(run, [root], { name: '', path: '', turn: 0, inside })
        return JSON.parse(JSON.stringify(sample))
      } catch (error) {
        if (error instanceof WorkSpent && budget < BUDGET) throw error
        if (failure === undefined || failure instanceof TooLarge) failure = error
      }
    }
  } catch (error) {
    failure = error
  }
  throw asSchemaError(failure)
}

/**
 * Problems of a value under a schema of any draft, in words; empty when it is valid.
 * @throws SchemaError when the schema is malformed.
 */
export async function violations(schema: object | boolean, value: unknown): Promise<string[]> {
  const library = await load()
  try {
    const { schema: root, problemsOf } = preparedWith(library, schema)
    return problemsOf(value, root, '').map(({ instanceLocation, error }) => {
      const where = instanceLocation.slice(1)
      return where === '' ? error : `${where}: ${error}`
    })
  } catch (error) {
    throw asSchemaError(error)
  }
}
