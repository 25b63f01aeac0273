// Writes traces.
import type { ExchangeNote } from '../contract/core/exchange-note.ts'
import type { ClientNote } from '../contract/core/finding.ts'
import type { TraceRecord } from '../contract/core/trace.ts'
import { once } from '../lib/once.ts'
import { remembering } from '../lib/remember.ts'
import type { LongTexts } from './long-texts.ts'
import type { Database } from './open.ts'
import { rowBytes } from './row-budget.ts'
import { type RetentionTarget, TRACE_BYTES, type TraceRetention, traceRetention } from './trace-retention.ts'
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
import type { LargeWrite } from './writer.ts'

/** The data beside a trace: JSON texts, and client data. */
export interface TraceTexts {
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

/** Writes the traces of one session, and reports their size. */
export interface TraceWrites extends Pick<TraceRetention, 'size' | 'dropped'> {
  /** Resolves when the trace is committed. */
  record(seq: number, trace: TraceRecord, stored: TraceTexts & CallTimes): Promise<void>
  /** The same synchronously. Call it inside a transaction. */
  insert(seq: number, trace: TraceRecord, stored: TraceTexts & CallTimes): void
  /** Replaces a trace by its final form. Does nothing if it was deleted. Call it inside a transaction. */
  replace(trace: TraceRecord, answer: string): void
  /** Adds the wire data of a call to its trace. Does nothing if that was deleted. Call it inside a transaction. */
  connect(id: string, exchange: ExchangeNote): void
}

/** Where traces are written. */
export interface TraceTarget extends RetentionTarget {
  long: LongTexts
}

const statementsOf = (connection: Database) => ({
  insert: connection.prepare(`INSERT INTO trace_rows (${TRACE_COLUMNS}) VALUES (${TRACE_COLUMNS.map(() => '?')})`),
  bytes: once(() => connection.prepare(`SELECT ${TRACE_BYTES} FROM trace_rows WHERE seq = ?`).pluck()),
  one: once(() => connection.prepare(`SELECT ${RECORD_COLUMNS} FROM trace_rows WHERE seq = ?`)),
  connect: once(() => connection.prepare('UPDATE trace_rows SET exchange = ? WHERE seq = ?')),
  update: once(() =>
    connection.prepare('UPDATE trace_rows SET model = ?, status = ?, record = ?, answer = ? WHERE seq = ?'),
  ),
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

/** Writes traces, and drops the oldest. */
export function traceWrites(target: TraceTarget): TraceWrites {
  const { connection, writer, limits, long, numbers } = target
  const statements = once(() => statementsOf(connection))
  const { added, changed, doubt, hasRoom, size, dropped } = traceRetention(target)
  /** The row of a trace that has ended; nothing is written yet. */
  const writeOf = (seq: number, trace: TraceRecord, stored: TraceTexts & CallTimes): TraceWrite => {
    const { client, exchange, arrived, left } = stored
    const {
      texts,
      partWrites: ahead,
      partsSize,
    } = long.stored(seq, {
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
    return { row, steps: ahead, partsSize, bytes, tried: false }
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
    record: (...made) => queue(writeOf(...made)),
    insert(...made) {
      const write = writeOf(...made)
      for (const step of write.steps ?? []) step()
      put([write])
    },
    replace: (trace, answer) =>
      change(trace.id, (seq) => {
        const { one, update } = statements()
        const { notes } = unpackedRow(one().get(seq) as RecordRow, connection)
        const record = packedRecord(trace, notes.client)
        update().run(trace.model, trace.status, record, withoutUsage(answer, trace.usage), seq)
      }),
    connect: (id, exchange) => change(id, (seq) => statements().connect().run(packedExchange(exchange), seq)),
    size,
    dropped,
  }
}
