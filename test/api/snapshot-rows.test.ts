// A snapshot with an invalid row is rejected with the row and the field, and leaves every list of every session unchanged.
import { afterAll, beforeAll, expect, setDefaultTimeout } from 'bun:test'
import { SHIPPED_WORKSPACE, testApps } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'
import { errorOf } from '../support/errors.ts'
import { property, runs, test } from '../support/property.ts'

// A snapshot is loaded for each place in it, on a machine that may be busy.
setDefaultTimeout(120_000)

const { appWith, close } = testApps()
const app = appWith(SHIPPED_WORKSPACE)
afterAll(close)

type Row = Record<string, unknown>
interface Snapshot {
  understudy_snapshot: number
  tables: Record<string, Row[]>
}
let saved: Snapshot
beforeAll(async () => {
  await app.post(CHAT, { model: 'openai/gpt-4o', ...user('Hi'), identity: { id: 'ada' } })
  await app.post(CHAT, { model: 'openai/gpt-4o', ...user('Hi'), stream: true, cache: { type: 'exact_match' } })
  await app.post(CHAT, { model: 'openai/nothing', messages: 1 })
  saved = (await app.fetch('/_understudy/snapshot')).json() as unknown as Snapshot
})

const LISTS = [
  '/_understudy/traces',
  '/_understudy/calls',
  '/_understudy/calls?sessions=all',
  '/_understudy/calls?sessions=all&text=hi',
  '/_understudy/sessions',
  '/_understudy/health',
  '/_understudy/metrics',
  '/_understudy/verify',
  '/_understudy/snapshot',
  '/v2/datasets',
  '/v2/tools',
  '/v2/contacts',
  '/v2/evaluators',
  '/v2/knowledge',
]
/** What every list of the loaded session, and of all, is answered with. */
async function statuses(session: string): Promise<string[]> {
  const headers = { 'x-understudy-session': session }
  const answers = await Promise.all(LISTS.map(async (path) => [path, (await app.fetch(path, { headers })).status]))
  return answers.filter(([, status]) => status !== 200).map(([path, status]) => `${path} ${status}`)
}
const load = (snapshot: unknown, session: string) =>
  app.post('/_understudy/snapshot', snapshot, { 'x-understudy-session': session })

const traceWith = (changes: Row, of: (row: Row) => Row = (row) => row.record as Row) => {
  const snapshot = structuredClone(saved)
  Object.assign(of(snapshot.tables.traces?.[1] ?? {}), changes)
  return snapshot
}
const rowWith = (table: string, changes: Row) => {
  const snapshot = structuredClone(saved)
  Object.assign(snapshot.tables[table]?.[0] ?? {}, changes)
  return snapshot
}
const bodyOf = (kind: string, changes: Row) => {
  const snapshot = structuredClone(saved)
  const row = snapshot.tables.records?.find((one) => one.kind === kind)
  Object.assign(row?.body ?? {}, changes)
  return snapshot
}

const WRONG: [string, () => Snapshot][] = [
  ['tables.traces[1].record.faults', () => traceWith({ faults: null })],
  ['tables.traces[1].record.attempts', () => traceWith({ attempts: 'none' })],
  ['tables.traces[1].record.attempts[0]', () => traceWith({ attempts: [1] })],
  ['tables.traces[1].record.attempts[0].target', () => traceWith({ attempts: [{ target: {}, number: 1 }] })],
  ['tables.traces[1].record.plan', () => traceWith({ plan: {} })],
  ['tables.traces[1].record.error', () => traceWith({ error: [1] })],
  ['tables.traces[1].record.started_at', () => traceWith({ started_at: 'yesterday' })],
  ['tables.traces[1].record.session', () => traceWith({ session: 7 })],
  ['tables.traces[1].record.outcome', () => traceWith({ outcome: 'well' })],
  ['tables.traces[1].record', () => traceWith({ record: [] }, (row) => row)],
  ['tables.traces[1].record', () => traceWith({ record: null }, (row) => row)],
  ['tables.traces[1].started', () => traceWith({ started: 1e300 }, (row) => row)],
  ['tables.traces[1].status', () => traceWith({ status: '200' }, (row) => row)],
  ['tables.traces[1].seq', () => traceWith({ seq: 'one' }, (row) => row)],
  ['tables.traces[1].answer', () => traceWith({ answer: '{' }, (row) => row)],
  ['tables.traces[1].client', () => traceWith({ client: '7' }, (row) => row)],
  ['tables.traces[1].exchange', () => traceWith({ exchange: '{"a":1}' }, (row) => row)],
  ['tables.records[0].body', () => rowWith('records', { body: null })],
  ['tables.records[0].kind', () => rowWith('records', { kind: 1 })],
  ['tables.records[0].seq', () => rowWith('records', { seq: {} })],
  ['body.created', () => bodyOf('project', { created: 1e300 })],
  ['body.display_name', () => bodyOf('dataset', { display_name: { a: 1 } })],
  ['tables.blobs[0].bytes', () => rowWith('blobs', { bytes: 7 })],
  ['tables.vectors[0].vector', () => rowWith('vectors', { vector: 'AAAA' })],
  ['tables.chunk_texts[0].text', () => rowWith('chunk_texts', { text: null })],
  ['tables.kept', () => ({ ...saved, tables: { ...saved.tables, kept: [{ kind: 'x', id: 1 }] } })],
]

test('snapshot: loads as it was saved', async () => {
  expect((await load(saved, 'whole')).status).toBe(200)
  expect(await statuses('whole')).toEqual([])
})

test.each(WRONG)('snapshot: is rejected for an invalid %s', async (param, snapshot) => {
  const answer = await load(snapshot(), 'wrong')
  expect(answer.status).toBe(400)
  const { error } = answer.json() as { error: { param: string; message: string } }
  expect(error.param).toContain(param)
  expect(error.message).toContain(`'${error.param}'`)
  expect(await statuses('wrong')).toEqual([])
})

/** Places in a value, the first of each list. */
function* placesIn(value: unknown, path: readonly (string | number)[] = []): Generator<(string | number)[]> {
  if (typeof value !== 'object' || value === null) return
  for (const key of Array.isArray(value) ? [...value.keys()].slice(0, 1) : Object.keys(value)) {
    yield [...path, key]
    yield* placesIn((value as Row)[key], [...path, key])
  }
}

property('snapshot: causes no server error for any invalid value in a row, then or later', async () => {
  const values = [null, 1e300, 'x', [], {}, true]
  const places = Object.entries(saved.tables).flatMap(([table, rows]) =>
    [...placesIn(rows.at(-1))].map((path) => ({ table, path })),
  )
  // A quick run looks at places far from each other.
  const step = Math.floor(places.length / runs(places.length))
  const looked = places.filter((_, index) => index % step === 0)
  for (const [turn, { table, path }] of looked.entries()) {
    // One value for each place: the next place has the next one.
    const value = values[turn % values.length]
    const snapshot = structuredClone(saved)
    let inner = snapshot.tables[table]?.at(-1) as Row
    for (const part of path.slice(0, -1)) inner = inner[part] as Row
    inner[path.at(-1) ?? ''] = value
    const answer = await load(snapshot, 'any')
    const found = answer.status < 500 ? await statuses('any') : [answer.text]
    expect({ table, path: path.join('.'), value, found }).toEqual({ table, path: path.join('.'), value, found: [] })
  }
})

test('snapshot: new records get numbers of their own after it was loaded', async () => {
  for (const sqlite_sequence of [[], [{ name: 'records', seq: 1 }]]) {
    const loaded = await load({ ...saved, tables: { ...saved.tables, sqlite_sequence } }, 'numbers')
    expect(loaded.status).toBe(200)
    const made = { key: `new_${sqlite_sequence.length}`, path: 'Default', display_name: 'New', description: 'x' }
    const headers = { 'x-understudy-session': 'numbers' }
    const tool = { ...made, type: 'function', function: { name: 'x', parameters: { type: 'object', properties: {} } } }
    expect((await app.post('/v2/tools', tool, headers)).status).toBeLessThan(300)
  }
})

test.each(['records', 'traces', 'kept'])(
  'snapshot: is rejected by name when a row of %s is not an object',
  async (table) => {
    for (const row of [null, [], 'x', 1]) {
      const body = { understudy_snapshot: 1, tables: { [table]: [row] } }
      const { status, text } = await app.post('/s/rows/_understudy/snapshot', body)
      expect([status, errorOf(text, status).param]).toEqual([400, `tables.${table}[0]`])
    }
  },
)
