// A stored trace is small and reads as it was: whatever it contains, whatever its session's clock shows, in whatever order calls end,
// however many are kept, and after any restart.
import { expect } from 'bun:test'
import fc from 'fast-check'
import { AttemptRecord, TraceRecord } from '../../src/contract/core/trace.ts'
import { openClone, template } from '../../src/db/open.ts'
import { packedExchange, packedRecord, unpackedExchange, unpackedRow } from '../../src/db/trace-row.ts'
import { traceStore } from '../../src/db/trace-store.ts'
import { createWriter } from '../../src/db/writer.ts'
import { ulidOf } from '../../src/lib/ids.ts'
import { createTestApp } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'
import { property, runs, test } from '../support/property.ts'
import { TEXTS, TRACE, usage } from '../support/stored-traces.ts'

const text = fc.string()
const object = fc.dictionary(text, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3, noNullPrototype: true })
const number = fc.oneof(fc.nat(), fc.double({ noNaN: true, min: 0, max: 1e9 }).map(Math.abs))
const outcome = fc.constantFrom('succeeded', 'http_error', 'timed_out')
const list = (value: fc.Arbitrary<unknown>) => fc.array(value, { maxLength: 2 })
const maybe = (value: fc.Arbitrary<unknown>) => fc.option(value)

const model = fc.constantFrom('openai/gpt-4o', 'a', '')

const attempt: Record<keyof AttemptRecord, fc.Arbitrary<unknown>> = {
  target: fc.oneof(text, model),
  position: fc.nat(3),
  number: fc.nat(3),
  reason: fc.constantFrom('first', 'retry', 'fallback'),
  faults: list(text),
  wait_ms: number,
  started_ms: number,
  first_content_ms: maybe(number),
  duration_ms: number,
  outcome,
  status: fc.constantFrom(200, 429, 500),
  request_id: maybe(text),
  error: maybe(text),
  fixture: fc.option(text, { nil: undefined }),
  history: fc.option(object, { nil: undefined }),
}
const record: Record<keyof TraceRecord, fc.Arbitrary<unknown>> = {
  id: text,
  session: text,
  instance: fc.option(text, { nil: undefined }),
  new_session: fc.option(fc.constant(true), { nil: undefined }),
  operation: fc.constantFrom('chat.completions', 'embeddings'),
  parent: maybe(text),
  internal: fc.boolean(),
  name: fc.oneof(text, fc.constant('embeddings')),
  call_site: fc.option(text, { nil: undefined }),
  model: maybe(fc.oneof(text, model)),
  assumed: fc.option(object, { nil: undefined }),
  stream: fc.boolean(),
  route: fc.constantFrom('direct', 'gateway'),
  status: fc.constantFrom(200, 429, 500),
  outcome,
  started_at: fc.nat(2 ** 40).map((ms) => new Date(ms * 4).toISOString()),
  duration_ms: number,
  fixture: maybe(text),
  generated: fc.boolean(),
  plan: list(fc.oneof(text, model)),
  scenario: maybe(text),
  faults: list(text),
  attempts: list(fc.record(attempt)),
  cache: maybe(object),
  guardrails: list(object),
  retrievals: list(object),
  retry_after_ms: maybe(number),
  usage,
  cost: maybe(number),
  attachments: list(object),
  metadata: maybe(object),
  identity: maybe(object),
  thread: maybe(object),
  error: maybe(object),
  task: fc.option(object, { nil: undefined }),
}
const client = fc.record(
  {
    connection: maybe(text),
    retry: maybe(fc.nat()),
    key: maybe(text),
    caller: text,
    until: fc.nat(),
    request: text,
    question: text,
    advised: fc.constant(true),
    dated: fc.constant(true),
    timeout: fc.record({ ms: fc.nat() }, { noNullPrototype: true }),
    hung: fc.record({ limit: fc.nat() }, { noNullPrototype: true }),
    headers: fc.dictionary(text, text, { noNullPrototype: true }),
  },
  { requiredKeys: ['connection', 'retry', 'key', 'until'], noNullPrototype: true },
)
const notes = fc.record({
  arrived: fc.nat(),
  left: fc.nat(),
  client: maybe(client),
})

property('trace row: reads the record and its notes as they were written, to the order of their fields', () => {
  expect(Object.keys(TraceRecord.shape).sort()).toEqual(Object.keys(record).sort())
  expect(Object.keys(AttemptRecord.shape).sort()).toEqual(Object.keys(attempt).sort())
  fc.assert(
    fc.property(fc.record(record), notes, (made, beside) => {
      // As the gateway makes it: JSON, in the order of the call.
      const { task, ...rest } = JSON.parse(JSON.stringify(made)) as TraceRecord
      const trace = task === undefined ? rest : { ...rest, task }
      const { client, ...times } = beside
      const { id, session, model, status } = trace
      const packed = packedRecord(trace, client as never)
      const started = Date.parse(trace.started_at)
      const row = { seq: 1, id, session, model, status, started, record: packed, ...times }
      const read = unpackedRow(row, { name: ':memory:' })
      expect(JSON.stringify(read)).toBe(JSON.stringify({ trace, notes: beside }))
    }),
    { numRuns: Math.max(200, runs(500)) },
  )
})

const kept = fc.record(
  { coded: fc.array(fc.oneof(text, fc.nat())), bytes: fc.nat() },
  { requiredKeys: ['coded'], noNullPrototype: true },
)
const exchange = fc.record(
  {
    address: text,
    headers: fc.dictionary(text, text, { noNullPrototype: true }),
    times: fc.array(fc.nat()),
    response: kept,
    request: kept,
    ended: fc.constantFrom('reset', 'closed', 'garbled', 'left'),
    nothing: fc.constant(true),
    dropped: fc.constant(true),
    received: fc.dictionary(fc.oneof(text, fc.constantFrom('host', 'accept', '5')), text, { noNullPrototype: true }),
    status: fc.nat(),
  },
  { requiredKeys: [], noNullPrototype: true },
)
property('trace row: reads the exchange as it was written', () => {
  fc.assert(
    fc.property(exchange, (note) => {
      expect(unpackedExchange(packedExchange(note as never) ?? '')).toEqual(note as never)
    }),
    { numRuns: runs(500) },
  )
})

/** A clock that stands still, goes, jumps ahead and is set back. */
const steps = fc.array(fc.constantFrom(0, 0, 0, 1, 1, 40, 1e6, -1, -1e6), { minLength: 1, maxLength: 700 })

property('property: trace ids are found for any clock and order, after restarts, and only when visible', async () => {
  await fc.assert(
    fc.asyncProperty(
      steps,
      fc.integer({ min: 20, max: 800 }),
      fc.infiniteStream(fc.nat(9)),
      async (made, keep, chance) => {
        const draw = () => Number(chance.next().value)
        const bytes = template()
        const database = openClone(bytes)
        const writer = createWriter(database)
        let store = traceStore(database, writer, { keep })
        let now = 2e12
        const all = made.map((step, index) => {
          now += step
          return { seq: index + 1, started: now, id: ulidOf(1, now, draw() === 0 ? 'keyed' : 'trace', index) }
        })
        const late: typeof all = []
        const write = ({ seq, id, started }: (typeof all)[number]) =>
          store.record(seq, { ...TRACE, id, started_at: new Date(started).toISOString() }, TEXTS)
        const written: typeof all = []
        for (const call of all) {
          if (draw() === 9) late.push(call)
          else written.push(call)
          if (draw() === 8 && late[0]) written.push(late.shift() as (typeof all)[number])
        }
        written.push(...late)
        for (let index = 0; index < written.length; ) {
          const count = 1 + draw() * 5
          await Promise.all(written.slice(index, index + count).map(write))
          index += count
          const done = written.slice(0, index)
          const last = Math.max(...done.map(({ seq }) => seq))
          if (draw() === 0) store = traceStore(database, writer, { keep })
          if (draw() > 2 && index < written.length) continue
          for (const { seq, id } of done.slice(-30).concat(done.slice(0, 30)))
            expect(store.get(id)?.id).toBe(seq > last - keep ? id : (undefined as never))
          for (const { id } of written.slice(index, index + 5)) expect(store.has(id)).toBe(false)
          const shown = done.filter(({ seq }) => seq > last - keep).map(({ seq }) => seq)
          expect([...store.since(0)].map(({ seq }) => seq)).toEqual(shown.sort((one, other) => one - other))
          expect(store.count()).toBe(shown.length)
          expect(store.size().entries).toBe(shown.length)
        }
        writer.close()
      },
    ),
    { numRuns: runs(25) },
  )
})

test('trace row: takes less than 1,650 bytes for a short call, 200 of them for the row and 450 for the headers', async () => {
  const app = createTestApp({ db: ':memory:' })
  expect((await app.post(CHAT, { model: 'openai/gpt-4o', ...user('Hello, how are you?') })).status).toBe(200)
  const { traces } = app.understudy.sessions.get('default').counts()
  expect(traces.entries).toBe(1)
  expect(traces.bytes).toBeLessThan(1_650)
  app.close()
})
