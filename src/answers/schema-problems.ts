// Problems of a text under a user's schema. Untrusted patterns may take forever, so they run in a worker.
import type { GenerationCall } from '../contract/core/operation.ts'
import { oneByOne } from '../lib/slices.ts'
import { inWorker } from './in-worker.ts'
import { SCHEMA_TOO_LARGE, schemaText } from './schema-text.ts'

/**
 * Schemas and texts of up to so many characters in total are checked on the main thread, which takes some milliseconds.
 */
const SMALL = 20_000

/** Takes turns at checking a text on the main thread. */
const turn = oneByOne()

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
  const { isOpenEnded, SchemaError, SMALL_BUDGET, violations, WorkSpent } = await import('../lib/json-schema/index.ts')
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
