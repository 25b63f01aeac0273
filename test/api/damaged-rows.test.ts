// Rows damaged by another program or a broken disk: lists leave them out and say so, and nothing else breaks.
import { afterAll, expect, test } from 'bun:test'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import Driver from 'better-sqlite3'
import { once } from '../../src/lib/once.ts'
import { createTestApp, type TestApp } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'
import { errorOf } from '../support/errors.ts'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
afterAll(folder.remove)
let files = 0
const reported: unknown[] = []

type Spoil = (database: InstanceType<typeof Driver>) => void
const appOn = (db: string) => createTestApp({ db, clock: 'real' }, (error) => reported.push(error))
/** A server over a changed copy of a file. */
function changed(source: string, change: Spoil): TestApp {
  const db = join(folder.path, `${++files}.db`)
  copyFileSync(source, db)
  const database = new Driver(db)
  change(database)
  database.close()
  return appOn(db)
}

/** A file of three calls and three datasets, with their ids. */
const whole = once(async () => {
  const db = join(folder.path, 'whole.db')
  const first = appOn(db)
  const traces: string[] = []
  const datasets: string[] = []
  for (const name of ['a', 'b', 'c']) {
    const answer = await first.post(CHAT, { model: 'openai/gpt-4o', ...user(name) })
    traces.push(String(answer.headers.get('x-understudy-trace')))
    const made = await first.post('/v2/datasets', { display_name: name, path: 'Default' })
    datasets.push(String(made.json()._id))
  }
  first.close()
  return { db, traces, datasets }
})

/** A server over a copy of that file, with one call or dataset changed by `spoil`; `at` is its number. */
async function spoiled(spoil: Spoil, at: number) {
  const { db, traces, datasets } = await whole()
  return { app: changed(db, spoil), trace: String(traces[at]), dataset: String(datasets[at]), traces, datasets }
}
const idsOf = async (app: TestApp, path: string, id: string) => {
  const answer = await app.fetch(path)
  expect([path, answer.status]).toEqual([path, 200])
  return (answer.json().data as Record<string, unknown>[]).map((one) => one[id])
}
const damaged = async (app: TestApp) =>
  Number(((await app.fetch('/_understudy/health')).json().counts as Record<string, unknown>).rows_damaged)

const nth = (at: number) => `(SELECT seq FROM trace_rows ORDER BY seq LIMIT 1 OFFSET ${at})`
const RECORDS: [string, string][] = [
  ['invalid JSON', `'{"id":'`],
  ['a number', '5'],
  ['an empty text', `''`],
  ['an empty list', `'[]'`],
  ['an empty object', `'{}'`],
  ['null', `'null'`],
  ['a number that could hide every field', `'[99999999]'`],
  ['attempts of another type', `json_set(record, '$[1][17]', 'x')`],
  ['an attempt that is a text', `json_set(record, '$[1][17]', json('["x"]'))`],
  ['a plan of numbers', `json_set(record, '$[1][14]', json('[1]'))`],
  ['a duration that is text', `json_set(record, '$[1][11]', 'long')`],
  ['bytes', `x'00ff'`],
]
for (const at of [0, 2])
  test.each(RECORDS)(
    `damaged trace, call ${at} of three with a record of %s: is left out of lists`,
    async (_, value) => {
      const { app, trace, traces } = await spoiled(
        (database) => database.exec(`UPDATE trace_rows SET record = ${value} WHERE seq = ${nth(at)}`),
        at,
      )
      const before = await damaged(app)
      const others = traces.filter((id) => id !== trace).reverse()
      expect(await idsOf(app, '/_understudy/traces', 'id')).toEqual(others)
      expect(await idsOf(app, '/_understudy/traces?all=true', 'id')).toEqual(others)
      expect(await idsOf(app, '/_understudy/traces?limit=2', 'id')).toEqual(others)
      for (const path of ['calls?sessions=all', 'calls?text=hello', 'verify', 'metrics', 'sessions', 'snapshot'])
        expect([path, (await app.fetch(`/_understudy/${path}`)).status]).toEqual([path, 200])
      expect(await damaged(app)).toBe(before + 1)
      const { damaged: rows } = (await app.fetch('/_understudy/traces')).json()
      expect(rows).toEqual([at + 1])
      const one = await app.fetch(`/_understudy/traces/${trace}`)
      expect(errorOf(one.text, 507).code).toBe('damaged_row')
      // And calls go on.
      expect((await app.post(CHAT, { model: 'openai/gpt-4o', ...user('more') })).status).toBe(200)
      expect(reported).toEqual([])
      app.close()
    },
  )

test('trace not found: names the rows whose ids cannot be read', async () => {
  const { app, trace, traces } = await spoiled(
    (database) => database.exec(`UPDATE trace_rows SET id = x'00ff' WHERE seq = ${nth(1)}`),
    1,
  )
  const others = traces.filter((id) => id !== trace).reverse()
  expect(await idsOf(app, '/_understudy/traces', 'id')).toEqual(others)
  expect(errorOf((await app.fetch(`/_understudy/traces/${trace}`)).text, 404).message).toContain(
    'there is row 2 of trace_rows',
  )
  expect(reported).toEqual([])
  app.close()
})

test('undamaged database: has no hint of damage in lists or errors', async () => {
  const { app } = await spoiled(() => {}, 0)
  expect((await app.fetch('/_understudy/traces')).json()).not.toHaveProperty('damaged')
  expect(errorOf((await app.fetch('/_understudy/traces/unknown')).text, 404).message).toBe(
    'there is no trace with the id "unknown" in this session',
  )
  app.close()
})

const BODIES: [string, string][] = [
  ['invalid JSON', `'{"_id":'`],
  ['a list', `'[]'`],
  ['null', `'null'`],
  ['bytes', `x'00ff'`],
  ['an empty object', `'{}'`],
  ['another id', `json_set(body, '$._id', 'another')`],
  ['no counts', `json_remove(body, '$.metadata.total_versions')`],
  ['a name that is a list', `json_set(body, '$.display_name', json('[]'))`],
]
test.each(BODIES)('damaged dataset with a body of %s: is left out of lists and reported alone', async (_, value) => {
  const { app, dataset, datasets } = await spoiled((database) => {
    database.exec(
      `UPDATE records SET body = ${value} WHERE seq = (SELECT seq FROM records WHERE kind = 'dataset' ORDER BY seq DESC LIMIT 1 OFFSET 1)`,
    )
  }, 1)
  const listed = await idsOf(app, '/v2/datasets?limit=2', '_id')
  expect(listed).toEqual(datasets.filter((id) => id !== dataset).reverse())
  expect(await idsOf(app, '/v2/datasets', '_id')).not.toContain(dataset)
  const { code, message } = errorOf((await app.fetch(`/v2/datasets/${dataset}`)).text, 507)
  expect(code).toBe('damaged_row')
  expect(message).toMatch(/^row \d+ of records in .+ is damaged/)
  for (const path of ['snapshot', 'verify', 'health', 'sessions'])
    expect([path, (await app.fetch(`/_understudy/${path}`)).status]).toEqual([path, 200])
  expect(reported).toEqual([])
  app.close()
})

test('damaged project: is an error for requests that name it', async () => {
  const { app, datasets } = await spoiled(
    (database) => database.exec("UPDATE records SET body = '{}' WHERE kind = 'project'"),
    0,
  )
  const { code, message } = errorOf((await app.post('/v2/datasets', { display_name: 'd', path: 'Default' })).text, 507)
  expect([code, message]).toEqual(['damaged_row', expect.stringMatching(/^row \d+ of records in .+ is damaged/)])
  expect(await idsOf(app, '/v2/projects', '_id')).toEqual([])
  expect(await idsOf(app, '/v2/datasets?limit=3', '_id')).toEqual(datasets.toReversed())
  expect(reported).toEqual([])
  app.close()
})

const RESPONSES = '/v2/router/responses'
const CACHED = { model: 'openai/gpt-4o', ...user('again'), cache: { type: 'exact_match' } }
const SEQUENCE = {
  name: 'steps',
  match: { operation: 'chat.completions', user: 'step' },
  replies: [{ content: '1' }, { content: '2' }],
}
const addSequence = async (app: TestApp) => {
  const body = JSON.stringify(SEQUENCE)
  const headers = { 'content-type': 'application/json' }
  return (await app.fetch('/_understudy/fixtures', { method: 'PUT', headers, body })).status
}
/** A file of a session that has kept something of each kind. */
const kept = once(async () => {
  const db = join(folder.path, 'kept.db')
  const first = appOn(db)
  await first.post(CHAT, CACHED)
  const response = (await first.post(RESPONSES, { model: 'openai/gpt-4o', input: 'Hi' })).json().id
  const picture = { model: 'openai/dall-e-2', prompt: 'a cat', size: '256x256', response_format: 'url' }
  const drawn = await first.post('/v2/router/images/generations', picture)
  const [{ url = '' } = {}] = drawn.json().data as { url?: string }[]
  expect(await addSequence(first)).toBe(200)
  expect((await first.post(CHAT, { model: 'openai/gpt-4o', ...user('step') })).text).toContain('"1"')
  first.close()
  return { db, response, url: new URL(url).pathname }
})

/** A server over a copy of that file, changed by `sql`. */
async function withKept(sql: string) {
  const { db, ...ids } = await kept()
  return { app: changed(db, (database) => database.exec(sql)), ...ids }
}

const VALUES_KEPT = ['{', '', '5', 'null', '{}', '[]', '{"answer":{},"model":"m","usage":null,"at":5}']
VALUES_KEPT.push('{"$parts":2,"of":"x"}', '{"$parts":"x"}', '{"$parts":null,"of":5}', '{"$parts":')
test.each(VALUES_KEPT)('damaged stored value %j: misses the cache and is an error where it is named', async (value) => {
  const { app, response, url } = await withKept(`UPDATE kept SET value = '${value}'`)
  for (const stream of [false, true]) expect((await app.post(CHAT, { ...CACHED, stream })).status).toBe(200)
  const next = await app.post(RESPONSES, { model: 'openai/gpt-4o', input: 'Hi', previous_response_id: response })
  // Parts of a very long value may have gone to make room.
  const gone = value.includes('"of":"x"')
  expect([next.status, (await app.fetch(url)).status]).toEqual(gone ? [400, 404] : [507, 507])
  if (!gone) expect(errorOf(next.text, 507).message).toMatch(/^row response\/\S+ of kept in .+ is damaged/)
  expect(reported).toEqual([])
  app.close()
})

test.each(['NULL', "'word'", '9e999', '-1', '0.5', "x'00'"])(
  'damaged sequence used %s times: is an error',
  async (uses) => {
    const { app } = await withKept(
      `PRAGMA ignore_check_constraints = ON; UPDATE OR IGNORE sequences SET uses = ${uses}`,
    )
    await addSequence(app)
    const answer = await app.post(CHAT, { model: 'openai/gpt-4o', ...user('step') })
    // The file itself refuses one that is nothing.
    if (uses === 'NULL') expect(answer.text).toContain('"2"')
    else expect(errorOf(answer.text, 507).message).toMatch(/^row .+ of sequences in .+ is damaged/)
    expect((await app.post(CHAT, { model: 'openai/gpt-4o', ...user('else') })).status).toBe(200)
    expect(reported).toEqual([])
    app.close()
  },
)

const COUNTERS = ['NULL', "'word'", '9223372036854775807', '9e999', "x''", '-5']
test.each(COUNTERS)('damaged record counter %s: still gives each new record a number of its own', async (value) => {
  const { app, datasets } = await spoiled((database) => {
    database.exec(`UPDATE sqlite_sequence SET seq = ${value} WHERE name = 'records'`)
  }, 0)
  const made = await app.post('/v2/datasets', { display_name: 'd', path: 'Default' })
  expect(made.status).toBeLessThan(300)
  expect(await idsOf(app, '/v2/datasets?limit=4', '_id')).toEqual([made.json()._id, ...datasets.toReversed()])
  expect((await app.fetch('/_understudy/snapshot')).status).toBe(200)
  expect(reported).toEqual([])
  app.close()
})

const BYTES = ['5', '9223372036854775807', '9e999', "'text'"]
test.each(BYTES)('damaged file bytes %s: are an error of that file', async (value) => {
  const settings = { db: join(folder.path, `${++files}.db`), clock: 'real' } as const
  const first = createTestApp(settings)
  const form = new FormData()
  form.append('file', new File(['You may return it.'], 'returns.txt'))
  const made = await first.fetch('/v2/files', { method: 'POST', body: form })
  expect(made.status).toBeLessThan(300)
  first.close()
  const database = new Driver(settings.db)
  database.exec(`UPDATE blobs SET bytes = ${value}`)
  database.close()
  const app = createTestApp(settings, (error) => reported.push(error))
  const { code, message } = errorOf((await app.fetch(`/v2/files/${made.json()._id}/content`)).text, 507)
  expect([code, message]).toEqual(['damaged_row', expect.stringContaining('of blobs in')])
  for (const path of ['/v2/files', '/_understudy/snapshot', '/_understudy/health'])
    expect([path, (await app.fetch(path)).status]).toEqual([path, 200])
  expect(reported).toEqual([])
  app.close()
})

const VECTORS: [string, string][] = [
  ['a number', '5'],
  ['a text', "'text'"],
  ['no bytes', "x''"],
  ['three bytes', "x'00ff07'"],
  ['four bytes', "x'00ff0700'"],
]
test.each(VECTORS)('damaged vector of %s: leaves its chunk findable by its words', async (_, value) => {
  const settings = { db: join(folder.path, `${++files}.db`), clock: 'real' } as const
  const first = createTestApp(settings)
  const knowledge = await first.post('/v2/knowledge', {
    key: 'returns',
    path: 'Default',
    embedding_model: 'openai/text-embedding-3-small',
  })
  const inside = `/v2/knowledge/${knowledge.json()._id}`
  const source = await first.post(`${inside}/datasources`, { display_name: 'Returns' })
  const chunks = await first.post(`${inside}/datasources/${source.json()._id}/chunks`, [{ text: 'You may return it.' }])
  expect(chunks.status).toBeLessThan(300)
  first.close()
  const database = new Driver(settings.db)
  database.exec(`UPDATE vectors SET vector = ${value}`)
  database.close()
  const app = createTestApp(settings, (error) => reported.push(error))
  for (const search_type of ['vector_search', 'keyword_search', 'hybrid_search']) {
    const found = await app.post(`${inside}/search`, {
      query: 'return',
      search_type,
    })
    expect([search_type, found.status]).toEqual([search_type, 200])
    if (search_type !== 'vector_search') expect(found.text).toContain('You may return it.')
  }
  expect(reported).toEqual([])
  app.close()
})

test('damaged call number: does not stop the search for a trace when it is beyond all others', async () => {
  const { app, traces } = await spoiled(
    (database) => database.exec(`UPDATE trace_rows SET seq = 9223372036854775807 WHERE seq = ${nth(2)}`),
    2,
  )
  for (const id of traces.slice(0, 2)) expect((await app.fetch(`/_understudy/traces/${id}`)).status).toBe(200)
  expect((await app.fetch('/_understudy/traces/unknown')).status).toBe(404)
  app.close()
})
