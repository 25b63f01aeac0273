// Values for the schemas of a request, made only when an answer is synthesized: nobody else needs one.
import { ApiError } from '../contract/error.ts'
import { addSizes, byteCache, type CacheSize } from '../lib/byte-cache.ts'
import { JobTimeout, runJob } from '../lib/worker/pool.ts'

// Schemas come again with every call of a client.
const samples = byteCache<{ sample: unknown }>(8 << 20)
const checked = byteCache<true>(4 << 20)

/** How much is remembered of schemas and their samples. */
export const sampleCacheSize = (): CacheSize => addSizes([samples.size(), checked.size()])

/** Values made and checked here, which takes some milliseconds; whatever needs more is for a worker. */
const SMALL_BUDGET = 3_000
/** Longest schema that is looked at here, in characters. */
const SMALL_SCHEMA = 50_000
const LONGEST_MS = 10_000

const library = () => import('../lib/json-schema/index.ts')
const pathWords = (path: string) => (path === '' ? '' : ` (at ${path})`)
const malformed = (message: string, path: string, param: string) =>
  new ApiError(400, 'invalid_schema', `'${param}' is not a valid JSON Schema: ${message}${pathWords(path)}`, { param })

/** Refuses a schema with a malformed keyword: a 400 that names the field. Whether anything satisfies it is not looked at. */
export async function checkSchemaField(schema: object | boolean, param: string): Promise<void> {
  const key = JSON.stringify(schema)
  if (checked.get(key)) return
  const { checkSchema, SchemaError } = await library()
  try {
    await checkSchema(schema)
  } catch (error) {
    throw error instanceof SchemaError ? malformed(error.message, error.path, param) : error
  }
  checked.set(key, true, key.length)
}

/** A value that satisfies a schema; 400 when it is none, 422 saying what could not be satisfied when none is found. */
export async function satisfying(schema: object | boolean, param: string): Promise<unknown> {
  const key = JSON.stringify(schema)
  const known = samples.get(key)
  if (known) return known.sample
  const result = (await sampledHere(schema, key)) ?? (await sampledApart(schema, key))
  if (!('sample' in result)) {
    const { message, path, invalid } = result
    if (invalid) throw malformed(message, path, param)
    const said = `no answer was found that satisfies '${param}': ${message}${pathWords(path)}; a fixture can answer this call`
    throw new ApiError(422, 'sample_not_found', said, { param })
  }
  samples.set(key, result, JSON.stringify(result.sample).length * 2)
  return result.sample
}

type SampleResult = Awaited<ReturnType<typeof sampledApart>>

/** The sample of a small schema without patterns; undefined when it takes more work than other calls may wait for. */
async function sampledHere(schema: object | boolean, key: string): Promise<SampleResult | undefined> {
  const { hasPatterns, InvalidSchema, SchemaError, sampleOf, WorkSpent } = await library()
  if (key.length > SMALL_SCHEMA || hasPatterns(key)) return undefined
  try {
    return { sample: await sampleOf(schema, key, SMALL_BUDGET) }
  } catch (error) {
    if (error instanceof WorkSpent) return undefined
    if (!(error instanceof SchemaError)) throw error
    return { message: error.message, path: error.path, invalid: error instanceof InvalidSchema }
  }
}

async function sampledApart(schema: object | boolean, key: string) {
  try {
    return await runJob('sample', { schema, key }, LONGEST_MS)
  } catch (error) {
    if (!(error instanceof JobTimeout)) throw error
    return { message: `looking for one took more than ${LONGEST_MS / 1000} s`, path: '', invalid: false }
  }
}
