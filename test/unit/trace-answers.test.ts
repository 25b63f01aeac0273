// A response is read as it was stored, and the usual token counts of a record take little room.
import { expect, setDefaultTimeout } from 'bun:test'
import fc from 'fast-check'
import type { TraceRecord } from '../../src/contract/core/trace.ts'
import { openClone, template } from '../../src/db/open.ts'
import { dump } from '../../src/db/snapshot.ts'
import { traceStore } from '../../src/db/trace-store.ts'
import { createWriter } from '../../src/db/writer.ts'
import { ulidOf } from '../../src/lib/ids.ts'
import { property, runs, test } from '../support/property.ts'
import { TEXTS, TRACE, usage } from '../support/stored-traces.ts'

// Thousands of rows are written one by one, on a machine that may be busy.
setDefaultTimeout(120_000)

const object = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3, noNullPrototype: true })

/** Answers that end with the usage of the record, and such that nearly do. */
const answers = (usage: unknown, beside: Record<string, unknown>): string[] => {
  const { length: _, ...rest } = beside
  return [
    JSON.stringify({ ...rest, usage }),
    JSON.stringify({ usage, ...rest }),
    JSON.stringify({ rest, nested: { ...rest, usage } }),
    JSON.stringify([{ ...rest, usage }]),
    JSON.stringify(JSON.stringify({ ...rest, usage })),
    JSON.stringify({ ...rest, usage }, null, 1),
    JSON.stringify(rest),
    'null',
  ]
}

property('trace row: reads every response as it was written, whatever the record contains as well', async () => {
  const database = openClone(template())
  const writer = createWriter(database)
  const store = traceStore(database, writer)
  let seq = 0
  await fc.assert(
    fc.asyncProperty(usage, object, usage, async (counted, beside, other) => {
      const made = { ...beside, text: 'ünï ✓ 漢字 \u0000 "quoted" \ud800' }
      const first = seq + 1
      const all = [...answers(counted, made), ...answers(other, made)]
      for (const answer of all) {
        const id = ulidOf(1, 2e12, 'trace', ++seq)
        const started_at = new Date(2e12).toISOString()
        const trace = { ...TRACE, id, started_at, usage: JSON.parse(JSON.stringify(counted)) }
        await store.record(seq, trace, { ...TEXTS, answer })
        expect(JSON.stringify(store.get(id)?.response)).toBe(JSON.stringify(JSON.parse(answer)))
        expect(JSON.stringify(store.get(id)?.usage)).toBe(JSON.stringify(counted))
        // So is its end, which says the usage.
        const across = answer.slice(-240, -2).toLowerCase()
        const ascii = /^[\x20-\x7e]+$/.test(across)
        const itself = { before: seq + 1, above: seq - 1, limit: 9 }
        if (ascii) expect(store.span({ ...itself, text: across }).found).toHaveLength(1)
      }
      const rows = (await dump(database, database)).tables.traces ?? []
      expect(rows.map(({ seq, answer }) => [seq, answer])).toEqual(all.map((answer, index) => [first + index, answer]))
      database.exec('DELETE FROM trace_rows')
    }),
    { numRuns: runs(100) },
  )
  writer.close()
})

test('trace row: takes the usual counts as numbers, without their names', async () => {
  const database = openClone(template())
  const writer = createWriter(database)
  const store = traceStore(database, writer)
  const usual = {
    prompt_tokens: 25,
    completion_tokens: 20,
    total_tokens: 45,
    prompt_tokens_details: { cached_tokens: 0, cache_creation_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: 7,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
      audio_tokens: 0,
    },
  }
  const bytesOf = async (seq: number, usage: TraceRecord['usage']) => {
    const before = store.size().bytes
    const started_at = new Date(2e12).toISOString()
    await store.record(seq, { ...TRACE, id: ulidOf(1, 2e12, 'trace', seq), started_at, usage }, TEXTS)
    return store.size().bytes - before
  }
  expect((await bytesOf(1, usual)) - (await bytesOf(2, { count: 1 }))).toBeLessThan(40)
  writer.close()
})
