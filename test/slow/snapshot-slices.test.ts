// A large snapshot is loaded a few milliseconds at a time: others get responses meanwhile, and nobody reads half of it. Fewer than thousands
// of records would be loaded in too few slices to see that.
import { afterAll, describe, expect, test } from 'bun:test'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { testApps } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'
import { errorOf } from '../support/errors.ts'

const root = mkdtempSync(join(tmpdir(), 'understudy-slices-'))
const { appWith, close } = testApps()
afterAll(async () => {
  await close()
  rmSync(root, { recursive: true, force: true })
})

/** So many that slices can be counted. */
const RECORDS = 5_000
/** So many that something else happens before the last slice. */
const FEWER = 3_000
const BARE = { clock: 'real' as const }
const LOAD = '/_understudy/snapshot'
interface Row {
  seq: number
  id: string
  kind: string
  workspace: string
  key: string
  body: Record<string, unknown>
}
const metadata = { note: 'x'.repeat(1_000) }
type App = ReturnType<typeof appWith>
const at = (session: string) => (path: string) => `/s/${session}${path}`
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

/** Snapshots by their number of records. */
const snapshots = new Map<number, { snapshot: string; workspace: string }>()

/** A snapshot of one contact, repeated under other names. */
async function manyContacts(app: App, count = RECORDS): Promise<{ snapshot: string; workspace: string }> {
  const known = snapshots.get(count)
  if (known) return known
  await app.post(at('source')('/v2/contacts'), { external_id: 'ada' })
  const { tables, ...rest } = (await app.fetch(at('source')(LOAD))).json() as { tables: { records: Row[] } }
  const one = tables.records.find(({ kind }) => kind === 'contact')
  if (!one) throw new Error('no contact in the snapshot')
  const records = Array.from({ length: count }, (_, index) => {
    const id = `${one.id.slice(0, -5)}${String(index).padStart(5, '0')}`
    const key = `c${index}`
    return { ...one, id, seq: index + 1, key, body: { ...one.body, _id: id, external_id: key, metadata } }
  })
  const made = { snapshot: JSON.stringify({ ...rest, tables: { ...tables, records } }), workspace: one.workspace }
  snapshots.set(count, made)
  return made
}

/** An app with a session that has a file and one contact, and a snapshot for it. */
async function prepared(name: string, length = FEWER) {
  const folder = join(root, name)
  const app = appWith({ ...BARE, sessions_dir: folder })
  const { snapshot, workspace } = await manyContacts(app, length)
  const path = at('loaded')
  await app.post(path('/v2/contacts'), { external_id: 'before' })
  const { records } = app.understudy.sessions.get('loaded')
  const list = { kind: 'contact', workspace, parent: '' }
  const count = () => records.page(list).data.length
  const file = join(folder, 'loaded.session.db')
  return { app, path, snapshot, count, file, log: () => statSync(`${file}-wal`).size }
}

/** Looks at each turn of the event loop until a promise is settled. */
async function whileWaiting(promise: Promise<unknown>, look: () => void): Promise<void> {
  let settled = false
  const done = promise.finally(() => {
    settled = true
  })
  while (!settled) {
    look()
    await nextTurn()
  }
  await done
}

describe('a snapshot for a session with a file', () => {
  test('is written in slices: readers see all or nothing, and a process that ends meanwhile leaves the earlier data', async () => {
    const { app, path, snapshot, count, file, log } = await prepared('slices', RECORDS)
    const before = log()
    const seen = new Set<number>()
    const sizes = new Set<number>()
    const copy = join(root, 'copy', 'loaded.session.db')
    mkdirSync(join(root, 'copy'))
    const asked = app.post(path(LOAD), snapshot)
    await whileWaiting(asked, () => {
      const records = count()
      seen.add(records)
      if (records > 1) return
      sizes.add(log())
      // What a process that is killed now would leave.
      if (log() > before + 1_000_000) for (const end of ['', '-wal']) copyFileSync(file + end, copy + end)
    })
    expect((await asked).status).toBe(200)
    expect([...seen.add(count())].toSorted((one, other) => one - other)).toEqual([1, RECORDS])
    expect(sizes.size).toBeGreaterThan(5)
    const left = appWith({ ...BARE, sessions_dir: join(root, 'copy') })
    const { data } = (await left.fetch(path('/v2/contacts'))).json() as { data: { external_id: string }[] }
    expect(data.map(({ external_id }) => external_id)).toEqual(['before'])
  })

  test('makes the other writes of its session wait, and no other session', async () => {
    const { app, path, snapshot, log } = await prepared('waits', RECORDS)
    const before = log()
    const order: string[] = []
    const note = (name: string) => (answer: { status: number }) => void order.push(`${name} ${answer.status}`)
    const asked = app.post(path(LOAD), snapshot).then(note('loaded'))
    while (log() < before + 100_000) await nextTurn()
    const own = app.post(path('/v2/contacts'), { external_id: 'meanwhile' }).then(note('own'))
    const call = app.post(path(CHAT), { model: 'openai/gpt-4o', ...user('Hi') }).then(note('call'))
    const other = app.post(at('other')('/v2/contacts'), { external_id: 'meanwhile' }).then(note('other'))
    await Promise.all([asked, own, call, other])
    expect(order[0]).toBe('other 200')
    expect(order.toSorted()).toEqual(expect.arrayContaining(['loaded 200', 'own 409']))
    expect((await app.post(path('/v2/contacts'), { external_id: 'after' })).status).toBe(200)
  })

  test('changes nothing when a value does not fit its column', async () => {
    const { app, path, snapshot, count } = await prepared('wrong')
    const { tables, ...rest } = JSON.parse(snapshot) as { tables: { records: Row[] } }
    const records = [...tables.records, { ...tables.records[0], seq: FEWER + 5 }]
    const { status, text } = await app.post(path(LOAD), { ...rest, tables: { ...tables, records } })
    expect([status, errorOf(text, status).code]).toEqual([400, 'invalid_snapshot'])
    expect(count()).toBe(1)
    expect((await app.post(path('/v2/contacts'), { external_id: 'after' })).status).toBe(200)
    expect(count()).toBe(2)
  })

  test('of two at once, both are loaded, one after the other', async () => {
    const { app, path, snapshot } = await prepared('twice')
    const empty = JSON.stringify({ understudy_snapshot: 1, tables: {} })
    const answers = await Promise.all([app.post(path(LOAD), snapshot), app.post(path(LOAD), empty)])
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect((await app.post(path('/v2/contacts'), { external_id: 'after' })).status).toBe(200)
  })

  test('ends with 409 when the session is deleted meanwhile, and a new one of its name works', async () => {
    const { app, path, snapshot, log } = await prepared('deleted')
    const before = log()
    const asked = app.post(path(LOAD), snapshot)
    while (log() < before + 100_000) await nextTurn()
    expect((await app.fetch('/_understudy/sessions/loaded', { method: 'DELETE' })).status).toBe(200)
    const { status, text } = await asked
    expect([status, errorOf(text, status).code]).toEqual([409, 'session_reset'])
    expect((await app.post(path('/v2/contacts'), { external_id: 'anew' })).status).toBe(200)
  })

  test('ends when the server ends, and the file keeps the data of before', async () => {
    const { app, path, snapshot, log } = await prepared('ended')
    const before = log()
    const asked = app.post(path(LOAD), snapshot)
    while (log() < before + 100_000) await nextTurn()
    await app.close()
    expect((await asked).status).toBe(409)
    const again = appWith({ ...BARE, sessions_dir: join(root, 'ended') })
    const { data } = (await again.fetch(path('/v2/contacts'))).json() as { data: { external_id: string }[] }
    expect(data.map(({ external_id }) => external_id)).toEqual(['before'])
  })
})

test.each([
  ['in memory', undefined],
  ['with a file', join(root, 'saved')],
])('saving a snapshot of a session %s: is done in slices, and shows one moment', async (_, sessions_dir) => {
  const app = appWith({ ...BARE, sessions_dir })
  const { snapshot } = await manyContacts(app)
  const path = at('saved')
  await app.post(path(LOAD), snapshot)
  let turns = 0
  const asked = app.fetch(path(LOAD))
  let written: ReturnType<typeof app.post> | undefined
  await whileWaiting(asked, () => {
    if (++turns === 4) written = app.post(path('/v2/contacts'), { external_id: 'meanwhile' })
  })
  expect((await written)?.status).toBe(200)
  expect(turns).toBeGreaterThan(5)
  const count = ({ tables }: { tables: { records: Row[] } }) =>
    tables.records.filter(({ kind }) => kind === 'contact').length
  expect(count((await asked).json() as never)).toBe(RECORDS)
  expect(count((await app.fetch(path(LOAD))).json() as never)).toBe(RECORDS + 1)
})
