// Inserts the rows of traces.
import { sql } from 'drizzle-orm'
import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3'
import type { Database } from './open.ts'
import { traces } from './schema.ts'

/** Inserts rows. Done for every call, so by the driver itself: filling in placeholders by name takes longer than SQLite does. */
export function traceInserter(
  connection: Database,
  database: BetterSQLite3Database,
): (row: Record<string, unknown>) => void {
  const value = sql.placeholder
  const columns = database
    .insert(traces)
    .values({
      seq: value('seq'),
      id: value('id'),
      started: value('started'),
      model: value('model'),
      status: value('status'),
      thread: value('thread'),
      record: value('record'),
      request: value('request'),
      rendered: value('rendered'),
      answer: value('answer'),
      arrived: value('arrived'),
      left: value('left'),
      client: value('client'),
    })
    .toSQL()
  const names = columns.params.map((param) => (param as { value: { name: string } }).value.name)
  const insert = connection.prepare(columns.sql)
  return (row) => void insert.run(names.map((name) => row[name]))
}
