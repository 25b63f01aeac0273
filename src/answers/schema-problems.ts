// What is wrong with a text under somebody's schema. The patterns of others may take for ever, so they are tried in a worker.
import type { GenerationCall } from '../contract/core/operation.ts'
import { oneByOne } from '../lib/slices.ts'
import { inWorker } from './in-worker.ts'
import { SCHEMA_TOO_LARGE, schemaText } from './schema-text.ts'

/** Schema and text of so many characters together are looked at here, which takes some milliseconds. */
const SMALL = 20_000

/** Turns at looking at a text here. */
const turn = oneByOne()

/** A schema that takes too much work to hold a text against, or whose patterns do not come to an end with it. */
export class SlowSchema extends Error {}

/**
 * Problems of a JSON text under a schema of any draft, in words; empty when it is valid.
 * @param call who waits for them
 * @throws SyntaxError when the text is no JSON, SchemaError when the schema is malformed, `SlowSchema` when it takes too long.
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
