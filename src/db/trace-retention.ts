// Limits the number of traces: the oldest are removed in batches, after the calls whose traces replace them. Until then
// they are hidden (the view `traces`), and not counted.
import { once } from '../lib/once.ts'
import type { Database } from './open.ts'
import { type DroppedRows, rowBudget, rowBytesSql, type StoreSize } from './row-budget.ts'
import { LAST_HIDDEN, NOT_SHOWN } from './schema-sql.ts'
import type { TraceNumbers } from './trace-numbers.ts'
import type { LargeWrite, Writes } from './writer.ts'

/** The size of a row. */
export const TRACE_BYTES = `${rowBytesSql('record', 'request', 'rendered', 'answer', 'exchange')} + coalesce(apart, 0)`

/** Hidden traces are removed when there may be so many of them, or bytes. */
const MAX_HIDDEN = 256
const MAX_HIDDEN_BYTES = 1_000_000

/** Rows per statement: SQLite records the pages that it changes, in a file if there are more than sixteen. */
const STEP = 64

/** Where traces are removed. */
export interface RetentionTarget {
  connection: Database
  writer: Writes
  /** Limits on the number and size of traces, and what was dropped before. */
  limits: { keep: number; bytes: number; dropped: DroppedRows; counted?: StoreSize | undefined }
  numbers: TraceNumbers
}

/** Counts traces, and removes the oldest. */
export interface TraceRetention {
  /** Counts written rows, by the highest of their numbers. Call it in their transaction, before others are written. */
  added(highest: number, rows: number, bytes: number): void
  /** Counts the change of a row, by its size before and after. */
  changed(before: number, after: number): void
  /** Whether a row of so many bytes is known to fit without dropping any. */
  hasRoom(bytes: number): boolean
  /** Call it when a write is repeated: the first attempt was counted, and then rolled back. */
  doubt(): void
  size(): StoreSize
  /** Number of traces that newer ones replaced since the start: all, or those of calls after a number. */
  dropped(after?: number): number
}

/** A removal of the oldest traces, and the number of rows removed. */
interface Removal extends LargeWrite {
  gone: number
}

const statementsOf = (connection: Database) => ({
  hidden: connection
    .prepare(`SELECT count(*), coalesce(sum(${TRACE_BYTES}), 0) FROM trace_rows WHERE ${NOT_SHOWN}`)
    .raw(),
  ends: connection.prepare(`SELECT min(seq), (${LAST_HIDDEN}) FROM trace_rows`).raw(),
  removeTo: connection.prepare('DELETE FROM trace_rows WHERE seq <= ?'),
})

/** The retention of a database's traces. */
export function traceRetention({ connection, writer, limits, numbers }: RetentionTarget): TraceRetention {
  const { keep, bytes: limit, dropped, counted } = limits
  const budget = rowBudget(connection, { table: 'trace_rows', bytes: TRACE_BYTES, limit, dropped, counted })
  const statements = once(() => statementsOf(connection))
  const hidden = (): [count: number, bytes: number] =>
    dropped.last === 0 ? [0, 0] : (statements().hidden.get() as [number, number])
  /** Removes hidden rows, and returns their number. */
  const removeHidden = (): number => {
    let gone = 0
    for (;;) {
      const [first, last] = statements().ends.get() as [number | null, number | null]
      if (first === null || first > (last ?? 0)) {
        numbers.forget(first ?? Number.POSITIVE_INFINITY)
        return gone
      }
      gone += statements().removeTo.run(Math.min(first + STEP - 1, last ?? 0)).changes
    }
  }
  /** What was written since the last removal. */
  let written = { rows: 0, bytes: 0 }
  /** Reverts the counts of a removal that was rolled back. */
  const undo = (removal: Removal) => {
    if (removal.gone > 0) budget.doubt()
    dropped.count -= removal.gone
    removal.gone = 0
  }
  const queue = writer.batched<Removal>({
    put(removals) {
      for (const removal of removals) {
        undo(removal)
        if (budget.exact) budget.remove(...hidden())
        removal.gone = removeHidden()
        dropped.count += removal.gone
      }
    },
  })
  const remove = () => {
    const removal: Removal = { bytes: undefined, gone: 0 }
    // It runs after the calls that are committed now. A failure is repeated the next time.
    queue(removal).catch(() => undo(removal))
  }
  return {
    added(highest, rows, bytes) {
      if (highest > keep) dropped.last = Math.max(dropped.last, highest - keep)
      budget.add(bytes, rows)
      written.rows += rows
      written.bytes += bytes
      if (written.rows < MAX_HIDDEN && written.bytes < MAX_HIDDEN_BYTES) return
      written = { rows: 0, bytes: 0 }
      remove()
    },
    changed(before, after) {
      budget.remove(1, before)
      budget.add(after)
    },
    hasRoom: budget.hasRoom,
    doubt: budget.doubt,
    size() {
      const [count, bytes] = hidden()
      const all = budget.size()
      return { ...all, entries: all.entries - count, bytes: all.bytes - bytes, dropped: all.dropped + count }
    },
    dropped: (after) => (after === undefined ? dropped.count + hidden()[0] : Math.max(0, dropped.last - after)),
  }
}
