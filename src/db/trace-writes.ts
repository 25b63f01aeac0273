// Writes traces.
import type { ExchangeNote } from '../contract/exchange-note.ts'
import type { ClientNote } from '../contract/finding.ts'
import type { TraceRecord } from '../contract/trace.ts'
import { once } from '../lib/once.ts'
import { remembering } from '../lib/remember.ts'
import type { LongTexts, StoredTexts } from './long-texts.ts'
import type { Database } from './open.ts'
import { packedExchange } from './packed-parts.ts'
import { packedUsage } from './packed-usage.ts'
import { rowBytes } from './row-budget.ts'
import { type RetentionTarget, TRACE_BYTES, type TraceRetention, traceRetention } from './trace-retention.ts'
import { packedRecord, RECORD_COLUMNS, type RecordRow, unpackedRow } from './trace-row.ts'

/** What is stored beside a trace: JSON texts, and what is known of its client. */
export interface TraceTexts {
  request: string
  rendered: string
  answer: string
  client?: ClientNote
  /** What the connection carried; absent of a call that came on none, or that is not to be kept. */
  exchange?: ExchangeNote | undefined
}

/** When a call came and when its answer had gone out, in ms since the epoch by the machine's clock: client's waits are real. */
export interface CallTimes {
  arrived: number
  left: number
}

/** The changes of the traces of one session, and how many there are. */
export interface TraceWrites extends Pick<TraceRetention, 'size' | 'dropped'> {
  /** Resolves when the trace is committed. */
  record(seq: number, trace: TraceRecord, stored: TraceTexts & CallTimes): Promise<void>
  /** The same at once; belongs inside a transaction. */
  insert(seq: number, trace: TraceRecord, stored: TraceTexts & CallTimes): void
  /** Puts the last form of a trace in the place of an earlier one; nothing happens when that is gone. Belongs inside a transaction. */
  replace(trace: TraceRecord, answer: string): void
  /** Adds what the connection of a call carried to its trace; nothing happens when that is gone. Belongs inside a transaction. */
  connect(id: string, exchange: ExchangeNote): void
}

/** Where traces are written. */
export interface TraceTarget extends RetentionTarget {
  long: LongTexts
}

/** What most calls have; a value that is bound takes about as long as a hundred bytes of it. */
const USUAL = 'INSERT INTO trace_rows (seq, started, model, status, record, request, answer, exchange) VALUES'
const VALUES = '(?, ?, ?, ?, ?, ?, ?, ?)'

const statementsOf = (connection: Database) => ({
  insert: connection.prepare(`${USUAL} ${VALUES}`),
  // A statement takes as long to be called as a row to be stored; more than four at once save little more.
  insertFour: once(() => connection.prepare(`${USUAL} ${VALUES}, ${VALUES}, ${VALUES}, ${VALUES}`)),
  insertAll: once(() =>
    connection.prepare(
      `INSERT INTO trace_rows (seq, started, model, status, record, request, answer, exchange, rendered, thread, apart)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
  ),
  one: once(() =>
    connection.prepare(`SELECT ${TRACE_BYTES} AS bytes, ${RECORD_COLUMNS} FROM trace_rows WHERE seq = ?`),
  ),
  connect: once(() => connection.prepare('UPDATE trace_rows SET exchange = ? WHERE seq = ?')),
  update: once(() =>
    connection.prepare('UPDATE trace_rows SET model = ?, status = ?, record = ?, answer = ? WHERE seq = ?'),
  ),
})

/** A trace on its way into the database: what is written before it, and how it is written itself. */
interface TraceRow extends Pick<StoredTexts, 'ahead' | 'apart'> {
  seq: number
  trace: TraceRecord
  record: string
  request: string
  rendered: string
  answer: string
  exchange: string | null
  bytes: number
  /** Whether it was written before, in a transaction that was undone. */
  tried: boolean
}

const threadOf = ({ trace }: TraceRow) => (trace.thread?.id as string | undefined) ?? null
const isUsual = (row: TraceRow) => row.rendered === 'null' && row.ahead.length === 0 && threadOf(row) === null
const wasTried = ({ tried }: TraceRow) => tried

/** What is stored of every row. */
const usualValues = ({ seq, trace, record, request, answer, exchange }: TraceRow): unknown[] => [
  seq,
  startOf(trace.started_at),
  trace.model,
  trace.status,
  record,
  request,
  answer,
  exchange,
]
const PLACES = 8

/** Most calls of a moment began at the same millisecond as the one before. */
const startOf = remembering((time: string) => Date.parse(time))

/** Inserts rows, of those that are as usual four by a statement. */
function insertRows(
  { insert, insertFour, insertAll }: ReturnType<typeof statementsOf>,
  rows: readonly TraceRow[],
): void {
  let values: unknown[] = []
  for (const row of rows) {
    if (!isUsual(row)) {
      insertAll().run(...usualValues(row), row.rendered, threadOf(row), row.apart())
      continue
    }
    values.push(...usualValues(row))
    if (values.length < 4 * PLACES) continue
    insertFour().run(values)
    values = []
  }
  for (let index = 0; index < values.length; index += PLACES) insert.run(values.slice(index, index + PLACES))
}

/** Stores traces, and drops the oldest. */
export function traceWrites(target: TraceTarget): TraceWrites {
  const { connection, writer, limits, long, ids } = target
  const statements = once(() => statementsOf(connection))
  const { added, changed, doubt, hasRoom, size, dropped } = traceRetention(target)
  /** The row of a trace that has ended; nothing is written yet. */
  const rowOf = (seq: number, trace: TraceRecord, stored: TraceTexts & CallTimes): TraceRow => {
    const { client = null, arrived, left } = stored
    const { texts, ahead, apart } = long.stored(seq, stored)
    const { request, rendered } = texts
    const { usage, answer } = packedUsage(trace.usage, texts.answer)
    const hidden = Math.max(0, seq - limits.keep)
    const record = packedRecord(trace, { hidden, arrived, left, client }, usage)
    const exchange = packedExchange(stored.exchange)
    const bytes = rowBytes([record, request, rendered, answer, exchange ?? ''])
    return { seq, trace, record, request, rendered, answer, exchange, ahead, apart, bytes, tried: false }
  }
  const put = (rows: readonly TraceRow[]) => {
    if (rows.some(wasTried)) doubt()
    for (const row of rows) row.tried = true
    insertRows(statements(), rows)
    let highest = 0
    let bytes = 0
    for (const row of rows) {
      ids.add(row.seq, row.trace.id)
      highest = Math.max(highest, row.seq)
      bytes += row.bytes + (row.apart() ?? 0)
    }
    added(highest, rows.length, bytes)
  }
  const queue = writer.batched<TraceRow>({
    put,
    isOneStatement: (row) => !row.tried && isUsual(row) && ids.isNew(row.seq) && hasRoom(row.bytes),
  })
  return {
    record: (...made) => queue(rowOf(...made)),
    insert(...made) {
      const row = rowOf(...made)
      for (const step of row.ahead) step()
      put([row])
    },
    replace(trace, answer) {
      const seq = ids.seqOf(trace.id)
      if (seq === undefined) return
      const { one, update } = statements()
      const row = one().get(seq) as RecordRow & { bytes: number }
      const record = packedRecord(trace, unpackedRow(row, connection).notes)
      update().run(trace.model, trace.status, record, answer, seq)
      changed(row.bytes, (one().get(seq) as { bytes: number }).bytes)
    },
    connect(id, exchange) {
      const seq = ids.seqOf(id)
      if (seq === undefined) return
      const { one, connect } = statements()
      const { bytes } = one().get(seq) as { bytes: number }
      connect().run(packedExchange(exchange), seq)
      changed(bytes, (one().get(seq) as { bytes: number }).bytes)
    },
    size,
    dropped,
  }
}
