// The bytes of traces are bounded exactly, whatever their sizes, number and order.
import { expect } from 'bun:test'
import fc from 'fast-check'
import { openClone, template } from '../../src/db/open.ts'
import { traceStore } from '../../src/db/trace-store.ts'
import { createWriter } from '../../src/db/writer.ts'
import { ulidOf } from '../../src/lib/ids.ts'
import { property, runs } from '../support/property.ts'
import { TEXTS, TRACE } from '../support/stored-traces.ts'

/** Calls that end in one turn, by the lengths of their answers; some of them in another order than they began. */
const turns = fc.array(
  fc.record({ sizes: fc.array(fc.nat(5_000), { minLength: 1, maxLength: 20 }), reversed: fc.boolean() }),
  { minLength: 1, maxLength: 25 },
)

property('property: trace storage keeps as many of the newest as fit, and its size is right', async () => {
  await fc.assert(
    fc.asyncProperty(turns, fc.integer({ min: 1, max: 100_000 }), fc.boolean(), async (made, limit, counted) => {
      const database = openClone(template())
      const writer = createWriter(database)
      const store = traceStore(database, writer, { bytes: limit })
      const rows = database
        .prepare(
          `SELECT seq, 200 + octet_length(record) + octet_length(request) + coalesce(octet_length(rendered), 0) + octet_length(answer)
           FROM trace_rows ORDER BY seq DESC`,
        )
        .raw()
      let last = 0
      let previous: [seq: number, bytes: number][] = []
      if (counted) store.size()
      for (const { sizes, reversed } of made) {
        const calls = sizes.map((size) => ({ seq: ++last, answer: JSON.stringify('a'.repeat(size)) }))
        const ended = reversed ? calls.reverse() : calls
        const started_at = new Date(2e12).toISOString()
        const write = ({ seq, answer }: (typeof calls)[number]) =>
          store.record(seq, { ...TRACE, id: ulidOf(1, 2e12, 'trace', seq), started_at }, { ...TEXTS, answer })
        await Promise.all(ended.map(write))
        const stored = rows.all() as [number, number][]
        const bytes = stored.reduce((sum, [, size]) => sum + size, 0)
        expect(bytes <= limit || stored.length === 1).toBe(true)
        expect(stored[0]?.[0]).toBe(last)
        // Without a gap: the oldest went.
        expect(stored.map(([seq]) => seq)).toEqual(stored.map((_, index) => last - index))
        if (counted) {
          expect(store.size()).toMatchObject({ entries: stored.length, bytes })
          const before = previous.find(([seq]) => seq === (stored.at(-1)?.[0] ?? 0) - 1)
          // There was no room for the one before.
          if (before) expect(bytes + before[1]).toBeGreaterThan(limit)
        }
        previous = stored
      }
      writer.close()
    }),
    { numRuns: runs(100) },
  )
})
