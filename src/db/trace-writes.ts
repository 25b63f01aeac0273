// Writes traces, and limits their number: the oldest are removed in batches, after the calls whose traces replace them. Until then
// they are hidden (the view `traces`), and not counted.
import type { ExchangeNote } from '../contract/core/exchange-note.ts'
import type { ClientNote } from '../contract/core/finding.ts'
import type { TraceRecord } from '../contract/core/trace.ts'
import { once } from '../lib/once.ts'
import { remembering } from '../lib/remember.ts'
import type { LongTexts } from './long-texts.ts'
import type { Database } from './open.ts'
import { type DroppedRows, rowBudget, rowBytes, rowBytesSql, type StoreSize } from './row-budget.ts'
import { LAST_HIDDEN, NOT_SHOWN } from './schema-sql.ts'
import type { TraceNumbers } from './trace-numbers.ts'
import {
  AS_IT_CAME,
  columnValues,
  packedExchange,
  packedRecord,
  RECORD_COLUMNS,
  type RecordRow,
  TRACE_COLUMNS,
  type TraceRow,
  threadOf,
  unpackedRow,
  withoutUsage,
} from './trace-row.ts'
import type { LargeWrite, Writes } from './writer.ts'

/** The data beside a trace: JSON texts, and client data. */
interface TraceTexts {
  request: string
  rendered: string
  answer: string
  client?: ClientNote
  /** The wire data; absent if there is none, or it is not stored. */
  exchange?: ExchangeNote | undefined
}

/**
 * When a call arrived and when its response was sent, in ms since the epoch by the machine's clock: a client's waits
 * are real.
 */
export interface CallTimes {
  arrived: number
  left: number
}

/** Where traces are written. */
interface TraceTarget {
  connection: Database
  writer: Writes
  long: LongTexts
  /** Limits on the number and size of traces, and what was dropped before. */
  limits: { keep: number; bytes: number; dropped: DroppedRows; counted?: StoreSize | undefined }
  numbers: TraceNumbers
}

/** The size of a row. */
const TRACE_BYTES = `${rowBytesSql('record', 'request', 'rendered', 'answer', 'exchange')} + coalesce(apart, 0)`

/** Hidden traces are removed when there may be so many of them, or bytes. */
const MAX_HIDDEN = 256
const MAX_HIDDEN_BYTES = 1_000_000

/** Rows per statement: SQLite records the pages that it changes, in a file if there are more than sixteen. */
const STEP = 64

const statementsOf = (connection: Database) => ({
  insert: connection.prepare(`INSERT INTO trace_rows (${TRACE_COLUMNS}) VALUES (${TRACE_COLUMNS.map(() => '?')})`),
  bytes: once(() => connection.prepare(`SELECT ${TRACE_BYTES} FROM trace_rows WHERE seq = ?`).pluck()),
  one: once(() => connection.prepare(`SELECT ${RECORD_COLUMNS} FROM trace_rows WHERE seq = ?`)),
  connect: once(() => connection.prepare('UPDATE trace_rows SET exchange = ? WHERE seq = ?')),
  update: once(() =>
    connection.prepare('UPDATE trace_rows SET model = ?, status = ?, record = ?, answer = ? WHERE seq = ?'),
  ),
})

const removalsOf = (connection: Database) => ({
  hidden: connection
    .prepare(`SELECT count(*), coalesce(sum(${TRACE_BYTES}), 0) FROM trace_rows WHERE ${NOT_SHOWN}`)
    .raw(),
  ends: connection.prepare(`SELECT min(seq), (${LAST_HIDDEN}) FROM trace_rows`).raw(),
  removeTo: connection.prepare('DELETE FROM trace_rows WHERE seq <= ?'),
})

/** Caches the last result: most calls of a burst started in the same millisecond. Saves 0.4 us. */
const startOf = remembering((time: string) => Date.parse(time))

/** A trace to be written. */
interface TraceWrite extends LargeWrite {
  row: TraceRow
  /** Size of its texts that are stored elsewhere, once they are. */
  partsSize(): number | null
  bytes: number
  /** Whether it was written before, in a transaction that was rolled back. */
  tried: boolean
}

/** A removal of the oldest traces, and the number of rows removed. */
interface Removal extends LargeWrite {
  gone: number
}

/** Counts traces, and removes the oldest. */
function traceRetention({ connection, writer, limits, numbers }: TraceTarget) {
  const { keep, bytes: limit, dropped, counted } = limits
  const budget = rowBudget(connection, { table: 'trace_rows', bytes: TRACE_BYTES, limit, dropped, counted })
  const statements = once(() => removalsOf(connection))
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
    /** Counts written rows, by the highest of their numbers. Call it in their transaction, before others are written. */
    added(highest: number, rows: number, bytes: number): void {
      if (highest > keep) dropped.last = Math.max(dropped.last, highest - keep)
      budget.add(bytes, rows)
      written.rows += rows
      written.bytes += bytes
      if (written.rows < MAX_HIDDEN && written.bytes < MAX_HIDDEN_BYTES) return
      written = { rows: 0, bytes: 0 }
      remove()
    },
    /** Counts the change of a row, by its size before and after. */
    changed(before: number, after: number): void {
      budget.remove(1, before)
      budget.add(after)
    },
    hasRoom: budget.hasRoom,
    doubt: budget.doubt,
    size(): StoreSize {
      const [count, bytes] = hidden()
      const all = budget.size()
      return { ...all, entries: all.entries - count, bytes: all.bytes - bytes, dropped: all.dropped + count }
    },
    /** Number of traces that newer ones replaced since the start: all, or those of calls after a number. */
    dropped: (after?: number): number =>
      after === undefined ? dropped.count + hidden()[0] : Math.max(0, dropped.last - after),
  }
}

/** Writes the traces of one session, drops the oldest, and reports their size. */
export function traceWrites(target: TraceTarget) {
  const { connection, writer, limits, long, numbers } = target
  const statements = once(() => statementsOf(connection))
  const { added, changed, doubt, hasRoom, size, dropped } = traceRetention(target)
  /** The row of a trace that has ended; nothing is written yet. */
  const writeOf = (seq: number, trace: TraceRecord, stored: TraceTexts & CallTimes): TraceWrite => {
    const { client, exchange, arrived, left } = stored
    const { texts, partWrites, partsSize } = long.stored(seq, {
      request: stored.request,
      rendered: stored.rendered,
      answer: withoutUsage(stored.answer, trace.usage),
    })
    const { request, rendered, answer } = texts
    const { id, session, model, status } = trace
    const row: TraceRow = {
      seq,
      id,
      session,
      started: startOf(trace.started_at),
      arrived,
      left,
      model,
      status,
      record: packedRecord(trace, client),
      hidden: Math.max(0, seq - limits.keep),
      thread: threadOf(trace),
      request,
      rendered: rendered === AS_IT_CAME ? null : rendered,
      answer,
      exchange: exchange === undefined ? null : packedExchange(exchange),
      apart: null,
    }
    const bytes = rowBytes([row.record, request, row.rendered ?? '', answer, row.exchange ?? ''])
    return { row, steps: partWrites, partsSize, bytes, tried: false }
  }
  const put = (writes: readonly TraceWrite[]) => {
    if (writes.some(({ tried }) => tried)) doubt()
    let highest = 0
    let bytes = 0
    for (const write of writes) {
      const { row } = write
      write.tried = true
      row.apart = write.partsSize()
      statements().insert.run(columnValues(row))
      numbers.add(row.seq, row.id)
      highest = Math.max(highest, row.seq)
      bytes += write.bytes + (row.apart ?? 0)
    }
    added(highest, writes.length, bytes)
  }
  const queue = writer.batched<TraceWrite>({
    put,
    isOneStatement: ({ tried, bytes }) => !tried && hasRoom(bytes),
  })
  /** Changes a row, and updates its size. Does nothing if it was deleted. */
  const change = (id: string, run: (seq: number) => void) => {
    const seq = numbers.find(id)
    if (seq === undefined) return
    const bytes = () => statements().bytes().get(seq) as number
    const before = bytes()
    run(seq)
    changed(before, bytes())
  }
  return {
    /** Resolves when the trace is committed. */
    record: (...written: Parameters<typeof writeOf>): Promise<void> => queue(writeOf(...written)),
    /** The same synchronously. Call it inside a transaction. */
    insert(...written: Parameters<typeof writeOf>): void {
      const write = writeOf(...written)
      for (const step of write.steps ?? []) step()
      put([write])
    },
    /** Replaces a trace by its final form. Does nothing if it was deleted. Call it inside a transaction. */
    replace: (trace: TraceRecord, answer: string): void =>
      change(trace.id, (seq) => {
        const { one, update } = statements()
        const { notes } = unpackedRow(one().get(seq) as RecordRow, connection)
        const record = packedRecord(trace, notes.client)
        update().run(trace.model, trace.status, record, withoutUsage(answer, trace.usage), seq)
      }),
    /** Adds the wire data of a call to its trace. Does nothing if that was deleted. Call it inside a transaction. */
    connect: (id: string, exchange: ExchangeNote): void =>
      change(id, (seq) => statements().connect().run(packedExchange(exchange), seq)),
    size,
    dropped,
  }
}
