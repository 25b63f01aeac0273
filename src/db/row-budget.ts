// Limits the rows of a table in bytes: the oldest are dropped. A running sum tells when, so that a write reads only the
// rows that it drops.
import { once } from '../lib/once.ts'
import { byteSize, type Database } from './open.ts'

/** The size of a store. */
export interface StoreSize {
  entries: number
  bytes: number
  /** Maximum number of bytes. */
  limit: number
  /** Rows dropped since the start for lack of room. */
  dropped: number
}

/** The dropped rows. They outlive the connection. */
export interface DroppedRows {
  count: number
  /** The highest number of a dropped row. */
  last: number
}

/** Approximate size of a row beside its texts: its indexes, its page. */
const OVERHEAD = 200

/** The size of a row with these texts. */
export function rowBytes(texts: readonly string[]): number {
  let sum = OVERHEAD
  for (const text of texts) sum += Buffer.byteLength(text)
  return sum
}

/** The same in SQL, which reads only the lengths. */
export const rowBytesSql = (...columns: string[]): string =>
  columns.reduce((sum, column) => `${sum} + coalesce(octet_length(${column}), 0)`, String(OVERHEAD))

/** The table of a budget. */
interface RowBudgetOptions {
  /** A table whose rows are numbered in the order in which they are dropped. */
  table: string
  /** SQL of a row's size: `rowBytesSql`. */
  bytes: string
  limit: number
  dropped: DroppedRows
  /** The current size, if known. */
  counted?: Pick<StoreSize, 'entries' | 'bytes'> | undefined
}

/** The budget of a table's rows. */
export function rowBudget(connection: Database, { table, bytes, limit, dropped, counted: begun }: RowBudgetOptions) {
  const statements = once(() => ({
    total: connection.prepare(`SELECT count(*), coalesce(sum(${bytes}), 0) FROM ${table}`).raw(),
    oldest: connection.prepare(
      `SELECT rowid AS number, ${bytes} AS bytes FROM ${table}
       WHERE rowid < (SELECT max(rowid) FROM ${table}) ORDER BY rowid`,
    ),
    drop: connection.prepare(`DELETE FROM ${table} WHERE rowid <= ?`),
  }))
  // Nothing is counted before it is needed: until then the size of the whole database is used, which is never too low.
  let counted = begun && { entries: begun.entries, bytes: begun.bytes }
  let atMost: number | undefined

  const count = () => {
    const [entries, bytes] = statements().total.get() as [number, number]
    return (counted = { entries, bytes })
  }
  const makeRoom = () => {
    const total = counted ?? count()
    let last: number | undefined
    let rows = 0
    for (const row of statements().oldest.iterate() as Iterable<{ number: number; bytes: number }>) {
      if (total.bytes <= limit) break
      total.bytes -= row.bytes
      rows++
      last = row.number
    }
    if (last === undefined) return
    statements().drop.run(last)
    total.entries -= rows
    dropped.count += rows
    dropped.last = Math.max(dropped.last, last)
  }
  return {
    /** Whether a row of so many bytes is known to fit without dropping any. */
    hasRoom: (bytes: number): boolean => (counted?.bytes ?? atMost ?? Number.POSITIVE_INFINITY) + bytes <= limit,
    /** Adds the size of written rows, and drops the oldest if there is no room. The newest always stays. */
    add(added: number, rows = 1): void {
      if (counted) {
        counted.entries += rows
        counted.bytes += added
      } else atMost = (atMost ?? byteSize(connection)) + added
      if ((counted?.bytes ?? atMost ?? 0) > limit) makeRoom()
    },
    /** Whether rows have been counted. Before that, the size of removed rows is not needed. */
    get exact(): boolean {
      return counted !== undefined
    },
    /** Subtracts removed rows and their size. */
    remove(rows: number, bytes: number): void {
      if (!counted) return
      counted.entries -= rows
      counted.bytes -= bytes
    },
    /** Call it when a write is repeated: the first attempt was counted, and then rolled back. */
    doubt(): void {
      counted = undefined
      atMost = undefined
    },
    size: (): StoreSize => ({ ...(counted ?? count()), limit, dropped: dropped.count }),
  }
}
