// Everything a session's database holds as one JSON value, and back: the tables in a fixed order, their rows by key.
import type { Database } from './open.ts'

/** Version of the format; a newer one is refused. */
export const SNAPSHOT_FORMAT = 1
/** A session's data. Bytes are base64, JSON is JSON. */
export interface Snapshot {
  understudy_snapshot: number
  tables: Record<string, Record<string, unknown>[]>
}

interface Table {
  columns: readonly string[]
  /** What the rows are sorted by. */
  key: string
  json?: readonly string[]
  bytes?: readonly string[]
}
const TABLES: Record<string, Table> = {
  records: { columns: ['seq', 'kind', 'id', 'workspace', 'parent', 'key', 'body'], key: 'seq', json: ['body'] },
  blobs: { columns: ['seq', 'bytes'], key: 'seq', bytes: ['bytes'] },
  vectors: { columns: ['seq', 'knowledge', 'vector'], key: 'seq', bytes: ['vector'] },
  chunk_texts: { columns: ['rowid', 'text'], key: 'rowid' },
  kept: { columns: ['kind', 'id', 'value', 'expires'], key: 'kind, id', json: ['value'] },
  traces: {
    columns: ['seq', 'id', 'started', 'model', 'status', 'thread', 'record', 'request', 'answer'],
    key: 'seq',
    json: ['record'],
  },
  sqlite_sequence: { columns: ['name', 'seq'], key: 'name' },
}

type Row = Record<string, unknown>
const mapped = (row: Row, names: readonly string[] = [], change: (value: never) => unknown): Row => ({
  ...row,
  ...Object.fromEntries(names.map((name) => [name, change(row[name] as never)])),
})

/** The whole of a database. */
export function dump(database: Database): Snapshot {
  const tables = Object.entries(TABLES).map(([name, { columns, key, json, bytes }]) => {
    const rows = database.prepare(`SELECT ${columns.join(', ')} FROM ${name} ORDER BY ${key}`).all() as Row[]
    const read = rows.map((row) =>
      mapped(mapped(row, json, JSON.parse), bytes, (value: Buffer) => value.toString('base64')),
    )
    return [name, read]
  })
  return { understudy_snapshot: SNAPSHOT_FORMAT, tables: Object.fromEntries(tables) }
}

/** Empties a database; belongs inside a transaction. */
export function clear(database: Database): void {
  for (const name of Object.keys(TABLES)) database.exec(`DELETE FROM ${name}`)
}

/** Puts a dumped database in the place of what is there; belongs inside a transaction. */
export function restore(database: Database, { tables }: Snapshot): void {
  clear(database)
  for (const [name, { columns, json, bytes }] of Object.entries(TABLES)) {
    const insert = database.prepare(
      `INSERT INTO ${name} (${columns.join(', ')}) VALUES (${columns.map((column) => `@${column}`).join(', ')})`,
    )
    // Inserting records has counted already; what is dumped is right.
    if (name === 'sqlite_sequence') database.exec('DELETE FROM sqlite_sequence')
    for (const row of tables[name] ?? []) {
      const empty = Object.fromEntries(columns.map((column) => [column, null]))
      const packed = mapped(mapped(row, json, JSON.stringify), bytes, (text: string) => Buffer.from(text, 'base64'))
      insert.run({ ...empty, ...packed })
    }
  }
}
