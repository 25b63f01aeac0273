// Differences between two snapshots of a session, record by record and field by field.
import diff from 'microdiff'
import { canonicalJson } from '../../lib/canonical.ts'
import { isObject, type JsonObject } from '../../lib/values.ts'

/** The part of a snapshot that is compared. */
export interface SnapshotTables {
  tables: Record<string, JsonObject[]>
}

/** Tables with more data of a record: the name of a difference, and the column. */
const BESIDE_RECORDS: Record<string, [string, string]> = {
  blobs: ['contents', 'bytes'],
  chunk_texts: ['text', 'text'],
  vectors: ['embedding', 'vector'],
}
/** Counters of the database; the rows that they count are compared themselves. */
const COUNTERS = 'sqlite_sequence'
/** Fields that every change of a record sets; alone they are no change. */
const STAMPS = ['updated', 'updated_at', 'updated_by_id', 'snapshot_version']
/** Maximum length of a value in the output. */
const MAX_LENGTH = 80

/** Lines for what only one side has (`-` the first, `+` the second) and what differs (`~`, with a line per field). */
export function snapshotDifferences(before: SnapshotTables, after: SnapshotTables): string[] {
  const names = [...new Set([...Object.keys(before.tables), ...Object.keys(after.tables)])].sort()
  const plain = names.filter((name) => name !== COUNTERS && !(name in BESIDE_RECORDS))
  return plain.flatMap((table) => rowsOf({ table, before, after }))
}

interface Comparison {
  table: string
  before: SnapshotTables
  after: SnapshotTables
}

function rowsOf({ table, before, after }: Comparison): string[] {
  const [left, right] = [byKey(table, before), byKey(table, after)]
  const keys = [...new Set([...left.keys(), ...right.keys()])]
  return keys.flatMap((key) => {
    const [one, other] = [left.get(key), right.get(key)]
    const row = one ?? other
    if (!row || isHistory(row)) return []
    const title = titleOf(table, row)
    if (!one || !other) return [`${one ? '-' : '+'} ${title}`]
    const changes = [
      ...fieldsOf(contentOf(table, one), contentOf(table, other)).filter(({ field }) => !STAMPS.includes(field)),
      ...(table === 'records' ? besideOf(one, other, { before, after }) : []),
    ]
    return changes.length === 0 ? [] : [`~ ${title}`, ...changes.map(lineOf)]
  })
}

const byKey = (table: string, { tables }: SnapshotTables) =>
  new Map((tables[table] ?? []).map((row) => [[row.kind, row.id ?? row.name ?? row.seq].join(' '), row]))

/** The program writes versions whenever a record changes, and that change is shown. */
const isHistory = ({ kind }: JsonObject) => String(kind).endsWith('.version')

/** The visible part of a row: a record without its columns, a trace without its number. */
function contentOf(table: string, row: JsonObject): unknown {
  if (table === 'records') return row.body
  const { seq: _, arrived: _arrived, left: _left, ...rest } = row
  return rest
}

const NAMES = ['display_name', 'name', 'key', 'external_id', 'file_name', 'operation']
function titleOf(table: string, row: JsonObject): string {
  const body = (table === 'traces' ? row.record : row.body) as JsonObject | undefined
  const called = NAMES.map((name) => body?.[name]).find((value) => typeof value === 'string' && value !== '')
  const what = table === 'traces' ? 'trace' : String(row.kind ?? table)
  return [what, String(row.id ?? row.name ?? row.seq), ...(called === undefined ? [] : [`(${called})`])].join(' ')
}

interface Change {
  field: string
  before: unknown
  after: unknown
}

/** The fields in which two values differ, by path. Lists are compared by position. */
const fieldsOf = (before: unknown, after: unknown): Change[] =>
  diff({ value: before }, { value: after }, { cyclesFix: false }).map(({ path: [, ...path], ...change }) => ({
    field: path
      .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
      .join('')
      .replace(/^\./, ''),
    before: 'oldValue' in change ? change.oldValue : undefined,
    after: 'value' in change ? change.value : undefined,
  }))

/** Binary data of a record: only its size, or that it changed. */
function besideOf(one: JsonObject, other: JsonObject, { before, after }: Omit<Comparison, 'table'>): Change[] {
  return Object.entries(BESIDE_RECORDS).flatMap(([table, [field, column]]) => {
    const find = ({ tables }: SnapshotTables, { seq }: JsonObject) =>
      tables[table]?.find((row) => (row.seq ?? row.rowid) === seq)?.[column]
    const [left, right] = [find(before, one), find(after, other)]
    return canonicalJson({ left }) === canonicalJson({ left: right })
      ? []
      : [{ field, before: sizeOf(left), after: sizeOf(right) }]
  })
}

const sizeOf = (value: unknown): unknown =>
  isObject(value) ? `${Buffer.from(String(value.base64), 'base64').length} bytes` : value

const lineOf = ({ field, before, after }: Change) => `    ${field}: ${shown(before)} -> ${shown(after)}`

function shown(value: unknown): string {
  if (value === undefined) return 'nothing'
  const text = JSON.stringify(value)
  return text.length <= MAX_LENGTH ? text : `${text.slice(0, MAX_LENGTH - 1)}…`
}
