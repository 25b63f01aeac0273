// The schemas of users: their samples, generated only if a response is, and the problems of a text under one. Untrusted
// patterns may take forever, so they run in a worker.
import { ApiError } from '../contract/core/error.ts'
import type { GenerationCall } from '../contract/core/operation.ts'
import { addSizes, byteCache, type CacheSize } from '../lib/byte-cache.ts'
import { oneByOne } from '../lib/slices.ts'
import { inWorker } from './in-worker.ts'

/** Maximum length of a schema, and of a text under it, that is processed on the main thread: some milliseconds. */
const SMALL = 20_000

/** Takes turns at processing a schema on the main thread. */
const turn = oneByOne()

const library = () => import('../lib/json-schema/index.ts')

/** Approximate size of the largest schema that is processed, in characters. */
const MAX_SCHEMA = 1_000_000

/** The error for a larger one. */
const SCHEMA_TOO_LARGE = `it has more than ${MAX_SCHEMA} characters`

/** The schema as JSON; undefined, without serializing it, if it is too large. */
const schemaText = (schema: object | boolean): string | undefined =>
  sizeUpTo(schema, MAX_SCHEMA) > MAX_SCHEMA ? undefined : JSON.stringify(schema)

/** The approximate length of a value as JSON; stops when the limit is reached. */
function sizeUpTo(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 4
  let size = 2
  if (Array.isArray(value)) {
    for (const inner of value) if ((size += 1 + sizeUpTo(inner, most - size)) > most) break
    return size
  }
  for (const key in value)
    if ((size += key.length + 4 + sizeUpTo((value as Record<string, unknown>)[key], most - size)) > most) break
  return size
}

/** Samples by schema, at most 8 MiB: a client repeats its schemas with every call, and a sample takes milliseconds. */
const samples = byteCache<{ sample: unknown }>(8 << 20)
/** Schemas without malformed keywords, at most 4 MiB. */
const checked = byteCache<true>(4 << 20)

/** The size of the caches of schemas and samples. */
export const sampleCacheSize = (): CacheSize => addSizes([samples.size(), checked.size()])

const pathWords = (path: string) => (path === '' ? '' : ` (at ${path})`)
const malformed = (message: string, path: string, param: string) =>
  new ApiError(400, 'invalid_schema', `'${param}' is not a valid JSON Schema: ${message}${pathWords(path)}`, { param })

/**
 * Rejects a schema with a malformed keyword. Whether anything satisfies it is not checked.
 * @throws ApiError 400 with the field
 */
export async function checkSchemaField(schema: object | boolean, param: string, call: GenerationCall): Promise<void> {
  const key = checkedText(schema, param)
  if (checked.get(key)) return
  const problem = await (key.length > SMALL
    ? inWorker(
        'checkSchema',
        { schema: key },
        { signal: call.signal, limits: call.jobLimits, stopped: tooLarge(param) },
      )
    : keywordProblem(schema))
  if (problem) throw malformed(problem.message, problem.path, param)
  checked.set(key, true, key.length)
}

async function keywordProblem(schema: object | boolean): Promise<{ message: string; path: string } | undefined> {
  const { checkSchema, SchemaError } = await library()
  await turn()
  try {
    await checkSchema(schema)
    return undefined
  } catch (error) {
    if (error instanceof SchemaError) return error
    throw error
  }
}

/**
 * The schema as JSON.
 * @throws ApiError 400 if it is too large
 */
function checkedText(schema: object | boolean, param: string): string {
  const text = schemaText(schema)
  if (text === undefined) throw malformed(SCHEMA_TOO_LARGE, '', param)
  return text
}

const tooLarge = (param: string) => (why: string) =>
  new ApiError(400, 'invalid_schema', `'${param}' is too large: to read it takes ${why}`, { param })

/**
 * A value that satisfies a schema.
 * @throws ApiError 400 if the schema is invalid, 422 with the unsatisfied part if no value is found
 */
export async function satisfying(schema: object | boolean, param: string, call: GenerationCall): Promise<unknown> {
  const key = checkedText(schema, param)
  const cached = samples.get(key)
  if (cached) return cached.sample
  const result = (await sampledHere(schema, key)) ?? (await sampledApart(key, call))
  if (!('sample' in result)) {
    const { message, path, invalid } = result
    if (invalid) throw malformed(message, path, param)
    const description = `no answer was found that satisfies '${param}': ${message}${pathWords(path)}; a fixture can answer this call`
    throw new ApiError(422, 'sample_not_found', description, { param })
  }
  samples.set(key, result, JSON.stringify(result.sample).length * 2)
  return result.sample
}

type SampleResult = Awaited<ReturnType<typeof sampledApart>>

/** The sample of a small schema without patterns; undefined if it takes more work than other calls may wait for. */
async function sampledHere(schema: object | boolean, key: string): Promise<SampleResult | undefined> {
  const { isOpenEnded, InvalidSchema, SchemaError, sampleOf, SMALL_BUDGET, WorkSpent } = await library()
  if (key.length > SMALL || isOpenEnded(key)) return undefined
  await turn()
  try {
    return { sample: await sampleOf(schema, key, SMALL_BUDGET) }
  } catch (error) {
    if (error instanceof WorkSpent) return undefined
    if (!(error instanceof SchemaError)) throw error
    return { message: error.message, path: error.path, invalid: error instanceof InvalidSchema }
  }
}

/** The search for a sample takes too long. */
class SlowSample extends Error {}

async function sampledApart(schema: string, { signal, jobLimits: limits }: GenerationCall) {
  const stopped = (why: string) => new SlowSample(`looking for one takes ${why}`)
  try {
    return await inWorker('sample', { schema }, { signal, limits, stopped })
  } catch (error) {
    if (!(error instanceof SlowSample)) throw error
    return { message: error.message, path: '', invalid: false }
  }
}

/** A schema that takes too much work to check a text, or whose patterns do not end. */
export class SlowSchema extends Error {}

/**
 * Messages for the problems of a JSON text under a schema of any draft; empty if it is valid.
 * @param call the waiting call
 * @throws SyntaxError if the text is not JSON
 * @throws SchemaError if the schema is malformed
 * @throws SlowSchema if it takes too long
 */
export async function schemaProblems(schema: object | boolean, text: string, call: GenerationCall): Promise<string[]> {
  const { isOpenEnded, SchemaError, SMALL_BUDGET, violations, WorkSpent } = await library()
  const key = schemaText(schema)
  if (key === undefined) throw new SchemaError(SCHEMA_TOO_LARGE, '')
  if (key.length + text.length <= SMALL && !isOpenEnded(key)) {
    await turn()
    try {
      return await violations(schema, text, SMALL_BUDGET)
    } catch (error) {
      if (!(error instanceof WorkSpent)) throw error
    }
  }
  const stopped = (why: string) => new SlowSchema(`to check takes ${why}: a pattern in it may look back without an end`)
  const { signal, jobLimits: limits } = call
  const result = await inWorker('checkText', { schema: key, text }, { signal, limits, stopped })
  if ('problems' in result) return result.problems
  const { why, message, path } = result
  if (why === 'work') throw new SlowSchema(message)
  throw why === 'schema' ? new SchemaError(message, path) : new SyntaxError(message)
}
