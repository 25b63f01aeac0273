// A long list of records is emptied at once for everybody, and removed some records at a time.
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Database, openClone, openFile, template } from '../../src/db/open.ts'
import { recordStore } from '../../src/db/record-store.ts'
import { dump } from '../../src/db/snapshot.ts'
import { createWriter } from '../../src/db/writer.ts'

const folder = mkdtempSync(join(tmpdir(), 'understudy-emptied-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const LIST = { kind: 'datapoint', workspace: 'w', parent: 'set' }
const store = (database: Database) => {
  const writer = createWriter(database)
  return { database, writer, records: recordStore(database, { writes: writer }) }
}
type Store = ReturnType<typeof store>

/** A dataset with so many datapoints, each of which something lies in. */
function fill({ writer, records }: Store, count: number): Promise<void> {
  const insert = (kind: string, id: string, parent: string) =>
    records.insert({ seq: records.nextNumber(), kind, id, workspace: 'w', parent, key: null, body: { _id: id } })
  return writer.transact(() => {
    insert('dataset', 'set', '')
    insert('dataset', 'other', '')
    insert('datapoint', 'kept', 'other')
    insert('version', 'first', 'set')
    for (let index = 0; index < count; index++) {
      insert('datapoint', `point-${index}`, 'set')
      if (index % 10 === 0) insert('note', `note-${index}`, `point-${index}`)
    }
  })
}
const rows = ({ database }: Store) => database.prepare('SELECT count(*) FROM records').pluck().get()
const idsIn = async ({ database }: Store) =>
  (await dump(openClone(database.serialize()), database)).tables.records?.map(({ id }) => id)
async function untilRemoved(emptied: Store): Promise<number> {
  let turns = 0
  for (; emptied.database.prepare('SELECT 1 FROM emptied').get(); turns++)
    await new Promise((resolve) => setImmediate(resolve))
  return turns
}

test.each([
  ['few', 5],
  ['many', 2_000],
])('a list of %s records: is empty at once, and then removed', async (_, count) => {
  const emptied = store(openClone(template()))
  const { writer, records } = emptied
  await fill(emptied, count)
  expect(await writer.transact(() => records.empty(LIST))).toBe(count)
  expect(records.page(LIST)).toEqual({ data: [], hasMore: false })
  expect(records.get('datapoint', 'w', 'point-0')).toBeUndefined()
  expect(records.get('note', 'w', 'note-0')).toBeUndefined()
  expect(await idsIn(emptied)).toEqual(['set', 'other', 'kept', 'first'])
  expect(await writer.transact(() => records.empty(LIST))).toBe(0)
  // What comes afterwards is no part of it.
  const later = { ...LIST, seq: records.nextNumber(), id: 'later', key: null, body: { _id: 'later' } }
  await writer.transact(() => records.insert(later))
  expect(records.page(LIST).data).toEqual([{ _id: 'later' }])
  const turns = await untilRemoved(emptied)
  expect(turns > 5).toBe(count > 1_000)
  expect(rows(emptied)).toBe(5)
  expect(records.page(LIST).data).toEqual([{ _id: 'later' }])
})

test('a record with many others in it: is gone with all of them at once', async () => {
  const emptied = store(openClone(template()))
  const { writer, records } = emptied
  await fill(emptied, 2_000)
  await writer.transact(() => records.remove(['set']))
  expect(await idsIn(emptied)).toEqual(['other', 'kept'])
  expect(records.get('note', 'w', 'note-0')).toBeUndefined()
  await untilRemoved(emptied)
  expect(rows(emptied)).toBe(2)
})

test('an emptied list: is whole again when its transaction fails', async () => {
  const emptied = store(openClone(template()))
  const { writer, records } = emptied
  await fill(emptied, 2_000)
  const failed = writer.transact(() => {
    records.empty(LIST)
    throw new Error('no')
  })
  expect(await failed.catch((error: Error) => error.message)).toBe('no')
  await untilRemoved(emptied)
  await writer.transact(() => {})
  expect(records.page({ ...LIST, limit: 3_000 }).data).toHaveLength(2_000)
})

test('an emptied list: stays empty and is removed after the process was killed in between', async () => {
  const file = join(folder, 'killed.db')
  const first = openFile(file)
  const killed = store(first.database)
  await fill(killed, 2_000)
  await killed.writer.transact(() => killed.records.empty(LIST))
  // As a process that is killed leaves it: nothing more is written.
  killed.database.close()
  first.release()
  const second = openFile(file)
  const emptied = store(second.database)
  expect(rows(emptied)).toBeGreaterThan(500)
  expect(emptied.records.page(LIST).data).toEqual([])
  await untilRemoved(emptied)
  expect(rows(emptied)).toBe(4)
  emptied.writer.close()
  second.release()
})
