// JSON Schema of any draft: generates a plausible value for a schema, and lists the problems of a value.
import type { Schema as ValidatorSchema } from '@cfworker/json-schema'
import {
  checkKeywords,
  InvalidSchema,
  prepare,
  type Schema,
  SchemaError,
  type SpendSteps,
  TooLarge,
  WorkSpent,
} from './prepare.ts'
import { type SampleRun, valueFor } from './sample.ts'

export { InvalidSchema, SchemaError, WorkSpent }

/** Limits of the work for a schema. */
interface SchemaBudget {
  /** Values that one attempt at a sample may generate and check. */
  values: number
  /** Schema comparisons of one attempt or check: some microseconds each. */
  steps: number
}

/** The limit of work on the main thread: about ten milliseconds. */
export const SMALL_BUDGET: SchemaBudget = { values: 1_000, steps: 3_000 }
/** The limit of all work. */
const FULL_BUDGET: SchemaBudget = { values: 50_000, steps: 300_000 }
/**
 * Steps per character of a checked text. Most texts have a value every ten characters, compared with two or three
 * schemas.
 */
const STEPS_A_CHARACTER = 2
/** For texts of more characters, only the first problems are reported. */
const ALL_PROBLEMS = 100_000

function stepCounter(most: number) {
  let remaining = most
  return {
    spend(steps: number): void {
      remaining -= steps
      if (remaining < 0)
        throw new WorkSpent(
          `the schema takes too much work: a value is held against its parts more than ${most} times`,
          '',
        )
    },
    /** Resets the budget. */
    refill(): void {
      remaining = most
    },
  }
}

/**
 * Attempts at a sample: first complete, then only required members, without recursion and with more recursion. A
 * recursive schema that can end usually ends without a reference inside itself.
 */
const ATTEMPTS = [
  { lean: false, depth: 2 },
  { lean: true, depth: 1 },
  { lean: true, depth: 6 },
]

/** The error as one of the schema. A schema whose nesting overflows the stack is a client's mistake, too. */
function asSchemaError(error: unknown): SchemaError {
  if (error instanceof SchemaError) return error
  if (error instanceof RangeError)
    return new SchemaError('the schema is nested too deeply, or leads back to itself', '')
  return new SchemaError(error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error), '')
}

const load = () => import('@cfworker/json-schema')

type Library = Awaited<ReturnType<typeof load>>
type Problem = ReturnType<Library['validate']>['errors'][number]

/**
 * The most specific problems: not those that only say that a part has problems, nor that an invalid property is
 * undeclared.
 */
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

function preparedWith({ dereference, validate }: Library, schema: unknown, spend: SpendSteps) {
  const prepared = prepare(schema, validate, spend)
  const lookup = dereference(prepared.schema as ValidatorSchema | boolean)
  const problemsOf = (value: unknown, part: Schema, location: string, onlyFirst = false): Problem[] =>
    replyContext(
      validate(value, part as ValidatorSchema | boolean, '2020-12', lookup, onlyFirst, null, '#', location).errors,
    )
  return { ...prepared, lookup: lookup as Record<string, Schema>, problemsOf }
}

/**
 * Whether a schema has work that is not counted in steps, so that it must not run on the main thread. `text` is the
 * schema as JSON. Patterns may backtrack without limit, and so may the validator's own pattern of a `url`.
 */
export const isOpenEnded = (text: string): boolean =>
  text.includes('"pattern') || text.includes('"format":"url"') || text.includes('"uniqueItems":true')

/** @throws InvalidSchema when a keyword of the schema is malformed. */
export async function checkSchema(schema: object | boolean): Promise<void> {
  checkKeywords(schema, (await load()).validate)
}

/**
 * A value that satisfies a schema of any draft, the same for the same schema and key.
 * @param budget limit of one attempt; with less than usual, `WorkSpent` is thrown at once
 * @throws SchemaError if no value was found
 * @throws InvalidSchema if the schema is invalid, with the reason and position
 */
export async function sampleOf(schema: object | boolean, key: string, budget = FULL_BUDGET): Promise<unknown> {
  const library = await load()
  let failure: unknown
  try {
    const counter = stepCounter(budget.steps)
    const { schema: root, lookup, origin, problemsOf } = preparedWith(library, schema, counter.spend)
    const check: SampleRun['check'] = (value, part) => {
      const at = typeof part === 'object' ? (origin.get(part) ?? '') : ''
      const [problem] = problemsOf(value, part, at)
      return problem && new SchemaError(problem.error, problem.keywordLocation)
    }
    for (const attempt of ATTEMPTS) {
      counter.refill()
      try {
        const run: SampleRun = { ...attempt, lookup, origin, key, check, budget: budget.values }
        const inside = typeof root === 'object' ? { schema: root, outer: undefined } : undefined
        const sample = valueFor(run, [root], { name: '', path: '', turn: 0, inside })
        return JSON.parse(JSON.stringify(sample))
      } catch (error) {
        if (error instanceof WorkSpent && budget !== FULL_BUDGET) throw error
        if (failure === undefined || failure instanceof TooLarge) failure = error
      }
    }
  } catch (error) {
    failure = error
  }
  throw asSchemaError(failure)
}

/**
 * Messages for the problems of a JSON text under a schema of any draft; empty if it is valid.
 * @param budget limit of the check; with less than usual, `WorkSpent` means that a larger budget may succeed
 * @throws SyntaxError if the text is not JSON
 * @throws SchemaError if the schema is malformed or takes too much work
 */
export async function violations(schema: object | boolean, text: string, budget = FULL_BUDGET): Promise<string[]> {
  const library = await load()
  const value: unknown = JSON.parse(text)
  try {
    const more = budget === FULL_BUDGET ? STEPS_A_CHARACTER * text.length : 0
    const { spend } = stepCounter(budget.steps + more)
    const { schema: root, problemsOf } = preparedWith(library, schema, spend)
    return problemsOf(value, root, '', text.length > ALL_PROBLEMS).map(({ instanceLocation, error }) => {
      const where = instanceLocation.slice(1)
      return where === '' ? error : `${where}: ${error}`
    })
  } catch (error) {
    throw asSchemaError(error)
  }
}
