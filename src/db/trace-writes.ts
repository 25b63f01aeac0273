// Writes traces, and drops the oldest when there are too many.
import { eq } from 'drizzle-orm'
import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3'
import type { TraceRecord } from '../contract/trace.ts'
import { once } from '../lib/once.ts'
import type { LongTexts } from './long-texts.ts'
import type { Database } from './open.ts'
import { type DroppedRows, rowBudget, rowBytes, rowBytesSql, type StoreSize } from './row-budget.ts'
import { traces } from './schema.ts'
import { traceInserter } from './trace-insert.ts'
import type { Writer } from './writer.ts'

/** What is stored beside a trace, as JSON texts. */
export interface TraceTexts {
  request: string
  rendered: string
  answer: string
  /** A `ClientNote`. */
  client?: string
}

/** When a call came and when its answer had gone out, in ms since the epoch by the machine's clock: client's waits are real. */
export interface CallTimes {
  arrived: number
  left: number
}

/** The changes of the traces of one session. */
export interface TraceWrites {
  /** Resolves when the trace is committed. */
  record(seq: number, trace: TraceRecord, stored: TraceTexts & CallTimes): Promise<void>
  /** The same at once; belongs inside a transaction. */
  insert(seq: number, trace: TraceRecord, stored: TraceTexts & CallTimes): void
  /** Puts the last form of a trace in the place of an earlier one; nothing happens when that is gone. Belongs inside a transaction. */
  replace(trace: TraceRecord, answer: string): void
  /** How much is stored. */
  size(): StoreSize
  /** How many were removed since the start because there were newer ones: all, or those of the calls after one by number. */
  dropped(after?: number): number
}

/** Where traces are written. */
export interface TraceTarget {
  connection: Database
  database: BetterSQLite3Database
  writer: Pick<Writer, 'write'>
  /** Most traces, most bytes of them, and what went before. */
  limits: { keep: number; bytes: number; dropped: DroppedRows }
  long: LongTexts
}

const BYTES = `${rowBytesSql('record', 'request', 'rendered', 'answer', 'client')} + coalesce(apart, 0)`

/** Stores traces, and drops the oldest. */
export function traceWrites({ connection, database, writer, limits, long }: TraceTarget): TraceWrites {
  const { keep, bytes: limit, dropped } = limits
  const insert = traceInserter(connection, database)
  const budget = rowBudget(connection, { table: 'traces', bytes: BYTES, limit, dropped })
  const remove = connection.prepare('DELETE FROM traces WHERE seq <= ?')
  const removeCounted = connection.prepare(`${remove.source} RETURNING ${BYTES}`).pluck()
  const bytesOf = once(() => connection.prepare(`SELECT ${BYTES} FROM traces WHERE id = ?`).pluck())
  const dropUpTo = (last: number) => {
    if (budget.close) {
      const gone = removeCounted.all(last) as number[]
      budget.remove(gone)
      dropped.count += gone.length
    } else dropped.count += remove.run(last).changes
    dropped.last = Math.max(dropped.last, last)
  }
  /** The row of a trace: what is written before it, and how it is written itself. */
  const rowOf = (seq: number, trace: TraceRecord, stored: TraceTexts & CallTimes) => {
    const record = JSON.stringify(trace)
    const { texts, ahead, apart } = long.stored(seq, stored)
    const bytes = rowBytes([record, texts.request, texts.rendered, texts.answer, stored.client ?? ''])
    let tried = false
    const run = () => {
      if (tried) budget.doubt()
      tried = true
      insert(trace, { seq, record, ...stored, ...texts, apart: apart() })
      if (seq > keep) dropUpTo(seq - keep)
      budget.add(bytes + (apart() ?? 0))
    }
    return { run, bytes, ahead }
  }
  return {
    record(...made) {
      const { run, bytes, ahead } = rowOf(...made)
      return writer.write(run, { bytes, ahead })
    },
    insert(...made) {
      const { run, ahead } = rowOf(...made)
      for (const step of ahead) step()
      run()
    },
    replace(trace, answer) {
      const taken = bytesOf().get(trace.id) as number | undefined
      if (taken === undefined) return
      const record = JSON.stringify(trace)
      database
        .update(traces)
        .set({ record, answer, model: trace.model, status: trace.status })
        .where(eq(traces.id, trace.id))
        .run()
      budget.remove([taken])
      budget.add(bytesOf().get(trace.id) as number)
    },
    dropped: (after) => (after === undefined ? dropped.count : Math.max(0, dropped.last - after)),
    size: budget.size,
  }
}
