// Inserts the rows of traces.
import { sql } from 'drizzle-orm'
import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3'
import type { TraceRecord } from '../contract/trace.ts'
import type { Database } from './open.ts'
import { traces } from './schema.ts'

/** Inserts rows: of a trace, and what is stored beside it. Done for every call, so by the driver itself: filling in placeholders by name takes longer than SQLite does. */
export function traceInserter(
  connection: Database,
  database: BetterSQLite3Database,
): (trace: TraceRecord, row: Record<string, unknown>) => void {
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
      apart: value('apart'),
    })
    .toSQL()
  const names = columns.params.map((param) => (param as { value: { name: string } }).value.name)
  const insert = connection.prepare(columns.sql)
  return (trace, beside) => {
    const { id, model, status } = trace
    const started = Date.parse(trace.started_at)
    const thread = (trace.thread?.id as string | undefined) ?? null
    const row: Record<string, unknown> = { id, started, model, status, thread, client: null, ...beside }
    insert.run(names.map((name) => row[name]))
  }
}
