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
  /** Counts a row that was written, and drops the oldest while there is no room; the newest always stays. */
  add(bytes: number): void
  /** Whether it asks for what rows took that are removed: far from the limit nobody needs it, and SQLite takes its time to say it. */
  readonly close: boolean
  /** Counts rows that were removed, by what each took. */
  remove(rows: readonly number[]): void
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
}

/** A budget for the rows of a table. */
export function rowBudget(connection: Database, { table, bytes, limit, dropped }: RowBudgetOptions): RowBudget {
  const statements = once(() => ({
    count: connection.prepare(`SELECT count(*) FROM ${table}`).pluck(),
    total: connection.prepare(`SELECT coalesce(sum(${bytes}), 0) FROM ${table}`).pluck(),
    oldest: connection.prepare(
      `SELECT rowid AS number, ${bytes} AS bytes FROM ${table}
       WHERE rowid < (SELECT max(rowid) FROM ${table}) ORDER BY rowid`,
    ),
    drop: connection.prepare(`DELETE FROM ${table} WHERE rowid <= ?`),
  }))
  // Never too low. Nothing is counted before it must be: until then the whole database stands for its table.
  let sum: number | undefined
  // Whether the sum is what there is, as it must be close to the limit: else each write there would count anew.
  let exact = false

  const recount = (): number => {
    sum = Number(statements().total.get())
    exact = sum > limit / 2
    return sum
  }
  const makeRoom = () => {
    let left = exact ? (sum ?? 0) : recount()
    let last: number | undefined
    const rows = statements().oldest.iterate() as Iterable<{ number: number; bytes: number }>
    for (const row of rows) {
      if (left <= limit) break
      left -= row.bytes
      last = row.number
    }
    sum = left
    if (last === undefined) return
    dropped.count += statements().drop.run(last).changes
    dropped.last = Math.max(dropped.last, last)
  }
  return {
    add(added) {
      sum = (sum ?? byteSize(connection)) + added
      if (sum > limit) makeRoom()
    },
    get close() {
      return exact
    },
    remove(rows) {
      if (exact) sum = rows.reduce((left, taken) => left - taken, sum ?? 0)
    },
    doubt() {
      sum = undefined
      exact = false
    },
    size: () => ({
      entries: Number(statements().count.get()),
      bytes: exact ? (sum ?? 0) : recount(),
      limit,
      dropped: dropped.count,
    }),
  }
}
