// All data of a session's database as one JSON value, and back: every table, its rows sorted.
import { FORMATS } from '../contract/core/formats.ts'
import { inSlices } from '../lib/slices.ts'
import { asObject } from '../lib/values.ts'
import { type DatabaseName, readableRow, readRow } from './damaged-rows.ts'
import type { Database } from './open.ts'
import { columnValues, type NamedRow, namedRow, rowOfNamed, TRACE_COLUMNS, type TraceRow } from './trace-row.ts'

/** Version of the format; a newer one is rejected. */
export const SNAPSHOT_FORMAT = FORMATS.snapshot

type Row = Record<string, unknown>
/** A session's data by table. Bytes are `{ base64 }`; a JSON column is JSON. */
export interface Snapshot {
  understudy_snapshot: number
  tables: Record<string, Row[]>
}

const JSON_COLUMNS: Record<string, string> = { records: 'body', kept: 'value' }
/** The full-text index is a virtual table, with tables behind it. */
const INDEX = 'chunk_texts'

/** Tables that restart with other data. */
const DERIVED = ['sequences', 'emptied']
/** Tables of the session itself, not of its data. */
const SETTINGS = 'session_settings'
const NOT_SHOWN = [...DERIVED, SETTINGS].map((name) => `'${name}'`).join(', ')
/** Tables that a snapshot shows in another form than they are stored. */
const STORED: Record<string, string> = { traces: 'trace_rows' }
const withoutEmptied = (table: string, number = 'seq') =>
  `${table} WHERE ${number} NOT IN (SELECT seq FROM emptied_records)`
const ROWS: Record<string, string> = {
  long_texts: 'long_texts WHERE trace IN (SELECT seq FROM traces)',
  records: 'live_records',
  blobs: withoutEmptied('blobs'),
  vectors: withoutEmptied('vectors'),
  [INDEX]: withoutEmptied(INDEX, 'rowid'),
}
const stored = (name: string) => STORED[name] ?? name

/** Columns by table; the counters of `AUTOINCREMENT` come last, since inserting rows changes them. */
function tablesOf(database: Database): [string, string[]][] {
  const names = database
    .prepare(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
       AND name NOT LIKE '${INDEX}!_%' ESCAPE '!' AND name NOT IN (${NOT_SHOWN}, '${STORED.traces}')`,
    )
    .pluck()
    .all() as string[]
  const columnsOf = database.prepare('SELECT name FROM pragma_table_info(?)').pluck()
  return [...[...names, 'traces'].sort(), 'sqlite_sequence'].map((name) => {
    if (name === 'traces') return [name, TRACE_COLUMNS]
    const columns = columnsOf.all(name) as string[]
    return [name, name === INDEX ? ['rowid', 'text'] : columns]
  })
}

function packed(value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new Error('it holds a number beyond all others')
  return value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value
}
const unpacked = (value: unknown) =>
  typeof value === 'object' && value !== null ? Buffer.from(String((value as Row).base64), 'base64') : value

const END_OF_TIME = Date.UTC(9999, 0)
const TIMES = ['created', 'updated', 'created_at', 'updated_at', 'applied_at']

/** The last instant in a snapshot, in ms since the epoch; 0 if there is none. */
export const lastInstant = ({ tables: { traces = [], records = [] } }: Snapshot): number => lastOf(traces, records)

/** The same for a database. */
export function lastInstantIn(database: Database): number {
  const tables = new Map(tablesOf(database))
  const rows = (name: string) => rowsOf(database, name, tables.get(name) ?? [])
  return lastOf(rows('traces'), rows('records'))
}

function lastOf(traces: Iterable<Row>, records: Iterable<Row>): number {
  let last = 0
  const meet = (time: number) => {
    if (time > last && time < END_OF_TIME) last = time
  }
  for (const { started, record } of traces) meet(Number(started) + Number(asObject(record)?.duration_ms))
  for (const { body } of records) for (const name of TIMES) meet(Date.parse(String(asObject(body)?.[name])))
  return Math.ceil(last)
}

/** The rows of a table for a snapshot, without damaged ones; `source` names their database in reports of these. */
function* rowsOf(
  database: Database,
  name: string,
  columns: readonly string[],
  source: DatabaseName = database,
): Generator<Row> {
  const json = JSON_COLUMNS[name]
  const read = ([column, value]: [string, unknown]) =>
    column === json && typeof value === 'string' ? [column, JSON.parse(value)] : [column, packed(value)]
  const from = name === 'traces' ? 'traces ORDER BY seq' : `${ROWS[name] ?? name} ORDER BY 1, 2`
  for (const row of database.prepare(`SELECT ${columns.join(', ')} FROM ${from}`).iterate() as Iterable<Row>) {
    const place = { table: name, row: String(row.seq ?? row.id) }
    yield* readableRow(() => {
      const named = name === 'traces' ? { ...namedRow(row as unknown as TraceRow, source) } : row
      return readRow(source, place, (): Row => Object.fromEntries(Object.entries(named).map(read)))
    })
  }
}

/** All data of a database, read in slices by a separate connection; `source` is the database that it belongs to. */
export async function dump(database: Database, source: DatabaseName): Promise<Snapshot> {
  const tables: Snapshot['tables'] = {}
  for (const [name, columns] of tablesOf(database)) {
    const rows: Row[] = []
    tables[name] = rows
    await inSlices(rowsOf(database, name, columns, source), (row) => void rows.push(row))
  }
  return { understudy_snapshot: SNAPSHOT_FORMAT, tables }
}

/** Rows that are removed in one or two milliseconds. */
const ROWS_AT_ONCE = 100

/**
 * Replaces everything in a database with a snapshot, or with nothing: steps of some milliseconds that belong in one
 * transaction. A step throws if a value does not fit its column.
 */
export function* replacingSteps(database: Database, snapshot: Snapshot | null): Generator<() => void> {
  const tables = tablesOf(database)
  for (const [name] of tables) if (name !== 'sqlite_sequence') yield* removingSteps(database, stored(name))
  yield () => {
    for (const name of [...DERIVED, 'sqlite_sequence']) database.exec(`DELETE FROM ${name}`)
  }
  if (!snapshot) return
  for (const [name, columns] of tables) {
    const places = columns.map(() => '?').join(', ')
    // Inserted rows are counted automatically.
    if (name === 'sqlite_sequence') yield () => database.exec('DELETE FROM sqlite_sequence')
    const insert = database.prepare(`INSERT INTO ${stored(name)} (${columns.join(', ')}) VALUES (${places})`)
    const valuesIn = (row: Row) =>
      name === 'traces'
        ? columnValues(rowOfNamed(row as unknown as NamedRow))
        : columns.map((column) => storedValue(name, column, row))
    for (const row of snapshot.tables[name] ?? []) yield () => insert.run(valuesIn(row))
  }
  // Record numbers are not reused, whatever the snapshot contains.
  yield () =>
    database.exec(
      `DELETE FROM sqlite_sequence WHERE name = 'records' AND seq < (SELECT max(seq) FROM records);
       INSERT INTO sqlite_sequence (name, seq) SELECT 'records', max(seq) FROM records
       WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'records') HAVING max(seq) IS NOT NULL`,
    )
}

/** Removes the rows of a table, some in each step. */
function* removingSteps(database: Database, table: string): Generator<() => void> {
  const remove = database.prepare(
    `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} LIMIT ${ROWS_AT_ONCE})`,
  )
  let removed = ROWS_AT_ONCE
  const step = () => {
    removed = remove.run().changes
  }
  while (removed === ROWS_AT_ONCE) yield step
}

/** The stored form of a column's value. */
function storedValue(table: string, column: string, row: Row): unknown {
  const value = row[column]
  return column === JSON_COLUMNS[table] ? JSON.stringify(value) : unpacked(value ?? null)
}
