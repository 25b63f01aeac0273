// A missing database file is created whole at once, and equals what its statements would create.
import { afterAll, expect, test } from 'bun:test'
import { copyFileSync, existsSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Database, newDatabase, openClone, openFile } from '../../src/db/open.ts'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
afterAll(folder.remove)
const fileOf = (name: string) => join(folder.path, name)

const schemaOf = (database: Database) => [
  database.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name').all(),
  ...['user_version', 'application_id', 'encoding'].map((pragma) => database.pragma(pragma, { simple: true })),
]
const addTrace = (database: Database, seq: number) =>
  database
    .prepare(
      `INSERT INTO trace_rows (seq, id, session, hidden, started, status, record, request, answer)
       VALUES (?, '', '', 0, 1, 200, '[0]', '', '')`,
    )
    .run(seq)
const countOf = (database: Database) => database.prepare('SELECT count(*) FROM trace_rows').pluck().get()

test('new database file: has the tables that its statements create, and a write-ahead log', () => {
  const { database, restored, release } = openFile(fileOf('new.db'))
  const made = openClone(newDatabase('memory'))
  expect(schemaOf(database)).toEqual(schemaOf(made))
  expect(database.pragma('journal_mode', { simple: true })).toBe('wal')
  expect(database.pragma('integrity_check', { simple: true })).toBe('ok')
  expect(restored).toBe(false)
  expect(existsSync(fileOf('new.db-new'))).toBe(false)
  addTrace(database, 1)
  database.close()
  made.close()
  release()
  const again = openFile(fileOf('new.db'))
  expect([countOf(again.database), again.restored]).toEqual([1, true])
  again.database.close()
  again.release()
})

test('new database file: restores nothing from the log of a removed one', () => {
  const path = fileOf('removed.db')
  const { database, release } = openFile(path)
  addTrace(database, 1)
  copyFileSync(`${path}-wal`, fileOf('kept-wal'))
  database.close()
  release()
  rmSync(path)
  renameSync(fileOf('kept-wal'), `${path}-wal`)
  const again = openFile(path)
  expect([countOf(again.database), again.restored]).toEqual([0, false])
  again.database.close()
  again.release()
})

test('empty database file and link: are filled where they are', () => {
  writeFileSync(fileOf('empty.db'), '')
  symlinkSync(fileOf('target.db'), fileOf('link.db'))
  for (const name of ['empty.db', 'link.db']) {
    const { database, restored, release } = openFile(fileOf(name))
    expect([countOf(database), restored]).toEqual([0, false])
    database.close()
    release()
  }
  expect(existsSync(fileOf('target.db'))).toBe(true)
})

test('database in memory: caches few of its pages, which are in memory twice then', () => {
  const database = openClone(newDatabase('memory'))
  expect(database.pragma('cache_size', { simple: true })).toBe(-64)
  database.close()
})
