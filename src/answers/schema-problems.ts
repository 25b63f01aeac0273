// What is wrong with a text under somebody's schema. The patterns of others may take for ever, so they are tried in a worker.
import { JobTimeout, runJob } from '../lib/worker/pool.ts'

/** Schema and text of so many characters together are looked at here, which takes some milliseconds. */
const SMALL = 50_000
const LONGEST_MS = 5_000

/** A schema whose patterns do not come to an end with a text. */
export class SlowSchema extends Error {}

/**
 * Problems of a JSON text under a schema of any draft, in words; empty when it is valid.
 * @throws SyntaxError when the text is no JSON, SchemaError when the schema is malformed, `SlowSchema` when it takes too long.
 */
export async function schemaProblems(schema: object | boolean, text: string): Promise<string[]> {
  const { hasPatterns, SchemaError, violations } = await import('../lib/json-schema/index.ts')
  const key = JSON.stringify(schema)
  if (!hasPatterns(key) && key.length + text.length <= SMALL) return violations(schema, JSON.parse(text))
  try {
    const result = await runJob('checkText', { schema, text }, LONGEST_MS)
    if ('problems' in result) return result.problems
    throw result.json ? new SchemaError(result.message, result.path) : new SyntaxError(result.message)
  } catch (error) {
    if (!(error instanceof JobTimeout)) throw error
    throw new SlowSchema(
      `it takes more than ${LONGEST_MS / 1000} s to check: a pattern in it may look back without an end`,
    )
  }
}
