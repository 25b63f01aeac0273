// Bounds the rows of a table in bytes: the oldest go first. A running sum says when, so that a write reads nothing but what it drops.
import { once } from '../lib/once.ts'
import { byteSize, type Database } from './open.ts'

/** How much a store holds. */
export interface StoreSize {
  entries: number
  bytes: number
  /** Bytes at most. */
  limit: number
  /** Rows removed since the start because there was no room for them. */
  dropped: number
}

/** What was removed to make room: it outlives the connection. */
export interface DroppedRows {
  count: number
  /** The highest number of a row that went. */
  last: number
}

/** What the rows of a table may take. */
export interface RowBudget {
  /** Counts a row that was written, or several, and drops the oldest while there is no room; the newest always stays. */
  add(bytes: number, rows?: number): void
  /** Whether it is known that a row of so many bytes pushes none out. */
  hasRoom(bytes: number): boolean
  /** Whether rows have been counted: until they must be, nobody asks for what those took that are removed. */
  readonly exact: boolean
  /** Counts rows that were removed, and what they took together. */
  remove(count: number, bytes: number): void
  /** To be called when a write is made again: the first try was counted, and then undone. */
  doubt(): void
  size(): StoreSize
}

/** A row beside its texts, about: its indexes, its page. */
const OVERHEAD = 200

/** What a row takes whose texts are these. */
export function rowBytes(texts: readonly string[]): number {
  let sum = OVERHEAD
  for (const text of texts) sum += Buffer.byteLength(text)
  return sum
}

/** The same in SQL; it reads the lengths alone. */
export const rowBytesSql = (...columns: string[]): string =>
  columns.reduce((sum, column) => `${sum} + coalesce(octet_length(${column}), 0)`, String(OVERHEAD))

/** What a budget is about. */
export interface RowBudgetOptions {
  /** A table whose rows are numbered in the order in which they are to go. */
  table: string
  /** SQL of the bytes of a row: `rowBytesSql`. */
  bytes: string
  limit: number
  dropped: DroppedRows
  /** What there is, where that is known. */
  counted?: Pick<StoreSize, 'entries' | 'bytes'> | undefined
}

/** A budget for the rows of a table. */
export function rowBudget(
  connection: Database,
  { table, bytes, limit, dropped, counted: begun }: RowBudgetOptions,
): RowBudget {
  const statements = once(() => ({
    total: connection.prepare(`SELECT count(*), coalesce(sum(${bytes}), 0) FROM ${table}`).raw(),
    oldest: connection.prepare(
      `SELECT rowid AS number, ${bytes} AS bytes FROM ${table}
       WHERE rowid < (SELECT max(rowid) FROM ${table}) ORDER BY rowid`,
    ),
    drop: connection.prepare(`DELETE FROM ${table} WHERE rowid <= ?`),
  }))
  // Nothing is counted before it must be: until then the whole database stands for its table, which is never too low.
  let counted = begun && { entries: begun.entries, bytes: begun.bytes }
  let atMost: number | undefined

  const count = () => {
    const [entries, bytes] = statements().total.get() as [number, number]
    return (counted = { entries, bytes })
  }
  const makeRoom = () => {
    const left = counted ?? count()
    let last: number | undefined
    let rows = 0
    for (const row of statements().oldest.iterate() as Iterable<{ number: number; bytes: number }>) {
      if (left.bytes <= limit) break
      left.bytes -= row.bytes
      rows++
      last = row.number
    }
    if (last === undefined) return
    statements().drop.run(last)
    left.entries -= rows
    dropped.count += rows
    dropped.last = Math.max(dropped.last, last)
  }
  return {
    hasRoom: (bytes) => (counted?.bytes ?? atMost ?? Number.POSITIVE_INFINITY) + bytes <= limit,
    add(added, rows = 1) {
      if (counted) {
        counted.entries += rows
        counted.bytes += added
      } else atMost = (atMost ?? byteSize(connection)) + added
      if ((counted?.bytes ?? atMost ?? 0) > limit) makeRoom()
    },
    get exact() {
      return counted !== undefined
    },
    remove(rows, bytes) {
      if (!counted) return
      counted.entries -= rows
      counted.bytes -= bytes
    },
    doubt() {
      counted = undefined
      atMost = undefined
    },
    size: () => ({ ...(counted ?? count()), limit, dropped: dropped.count }),
  }
}
