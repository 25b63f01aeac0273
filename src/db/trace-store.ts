// Traces in SQLite: written once, listed newest first.
import { and, asc, count, desc, eq, gt, max } from 'drizzle-orm'
import { type BetterSQLite3Database, drizzle } from 'drizzle-orm/better-sqlite3'
import type { ClientNote } from '../contract/finding.ts'
import type { StoredTrace, TraceRecord } from '../contract/trace.ts'
import { fingerprint } from '../lib/ids.ts'
import { once } from '../lib/once.ts'
import { questionOf } from '../lib/question.ts'
import { type LongTexts, longTexts } from './long-texts.ts'
import type { Database } from './open.ts'
import { type DroppedRows, rowBudget, rowBytes, rowBytesSql, type StoreSize } from './row-budget.ts'
import { traces } from './schema.ts'
import { conditionsOf, SESSION_NAME, type TraceFilter } from './trace-filter.ts'
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

/** A trace with what it takes to tell how the client behaved. */
export interface TraceEvidence {
  /** The number of the call in its session. */
  seq: number
  trace: TraceRecord
  /** Equal for equal requests of an operation. */
  request: string
  /** Equal for requests that ask the same, of another model or with other settings too. */
  question(): string
  /** Null for a call that was not made here. */
  heard: CallTimes | null
  /** Null as well for one that was made before such notes were kept. */
  client: ClientNote | null
}

/** A trace, and when its call came. */
export interface Arrival {
  trace: TraceRecord
  arrived: number
}

/** The traces of one session. */
export interface TraceStore {
  /** Resolves when the trace is committed. */
  record(seq: number, trace: TraceRecord, stored: TraceTexts & CallTimes): Promise<void>
  /** Puts the last form of a trace in the place of an earlier one; nothing happens when that is gone. Belongs inside a transaction. */
  replace(trace: TraceRecord, answer: string): void
  list(filter: TraceFilter): { data: TraceRecord[]; hasMore: boolean }
  /** The same with the time at which each call came, 0 when it is not known: sessions have clocks of their own. */
  arrivals(filter: TraceFilter): Arrival[]
  /** Names of the sessions that have calls here. */
  sessions(): string[]
  get(id: string): StoredTrace | undefined
  has(id: string): boolean
  /** The calls after one by number, in the order in which they began. */
  since(seq: number): IterableIterator<TraceEvidence>
  count(): number
  /** How much is stored. */
  size(): StoreSize
  /** The call of a number. */
  bySeq(seq: number): TraceEvidence | undefined
  /** How many were removed since the start because there were newer ones: all, or those of the calls after one by number. */
  dropped(after?: number): number
  /** The highest call number stored, 0 when there is none. */
  lastSeq(): number
}

const EVIDENCE = {
  seq: traces.seq,
  record: traces.record,
  request: traces.request,
  arrived: traces.arrived,
  left: traces.left,
  client: traces.client,
  apart: traces.apart,
}
interface EvidenceRow extends Pick<TraceTexts, 'request'> {
  seq: number
  record: string
  arrived: number | null
  left: number | null
  client: string | null
  apart: number | null
}
function evidenceOf({ seq, record, request, arrived, left, client: note }: EvidenceRow): TraceEvidence {
  const client: ClientNote | null = note === null ? null : JSON.parse(note)
  return {
    seq,
    trace: JSON.parse(record),
    request: client?.request ?? fingerprint(request),
    question: () => client?.request ?? questionOf(request),
    heard: arrived === null || left === null ? null : { arrived, left },
    client,
  }
}

/** How many traces are kept. */
export interface TraceLimits {
  /** Those of the newest so many calls; of all when left out. */
  keep?: number | undefined
  /** Bytes of them at most; any when left out. */
  bytes?: number | undefined
  /** What went, of a store over the same data before this one. */
  dropped?: DroppedRows
}

/** Traces of a database, of which the oldest go when there are too many. */
export function traceStore(
  connection: Database,
  writer: Pick<Writer, 'write'>,
  {
    keep = Number.POSITIVE_INFINITY,
    bytes = Number.POSITIVE_INFINITY,
    dropped = { count: 0, last: 0 },
  }: TraceLimits = {},
): TraceStore {
  const database: BetterSQLite3Database = drizzle(connection)
  const limits = { keep, bytes, dropped }
  const long = longTexts(connection)
  return { ...writesTo({ connection, database, writer, limits, long }), ...readsOf(database, long) }
}

interface TraceTarget {
  connection: Database
  database: BetterSQLite3Database
  writer: Pick<Writer, 'write'>
  limits: Required<TraceLimits> & { keep: number; bytes: number }
  long: LongTexts
}

const BYTES = `${rowBytesSql('record', 'request', 'rendered', 'answer', 'client')} + coalesce(apart, 0)`

/** Stores traces, and drops the oldest. */
function writesTo({
  connection,
  database,
  writer,
  limits,
  long,
}: TraceTarget): Pick<TraceStore, 'record' | 'replace' | 'dropped' | 'size'> {
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
  return {
    record(seq, trace, stored) {
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
      return writer.write(run, { bytes, ahead })
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

/** Everything that only looks. */
function readsOf(
  database: BetterSQLite3Database,
  long: LongTexts,
): Omit<TraceStore, 'record' | 'replace' | 'dropped' | 'size'> {
  const seqOf = (id: string) => database.select({ seq: traces.seq }).from(traces).where(eq(traces.id, id)).get()?.seq
  const arrivals = (filter: TraceFilter): Arrival[] =>
    database
      .select({ record: traces.record, arrived: traces.arrived })
      .from(traces)
      .where(and(...conditionsOf(filter, seqOf)))
      .orderBy(desc(traces.seq))
      .limit(filter.limit)
      .all()
      .map((row) => ({ trace: JSON.parse(row.record), arrived: row.arrived ?? 0 }))
  return {
    list({ limit, ...filter }) {
      const found = arrivals({ ...filter, limit: limit + 1 }).map(({ trace }) => trace)
      return { data: found.slice(0, limit), hasMore: found.length > limit }
    },
    arrivals,
    sessions: () => {
      const rows = database.selectDistinct({ name: SESSION_NAME }).from(traces).orderBy(SESSION_NAME).all()
      return rows.map(({ name }) => name)
    },
    get(id) {
      const row = database.select().from(traces).where(eq(traces.id, id)).get()
      if (!row) return undefined
      const { record, request, rendered, answer } = long.read(row)
      return {
        ...JSON.parse(record),
        request: JSON.parse(request),
        rendered: JSON.parse(rendered),
        answer: JSON.parse(answer),
      }
    },
    has: (id) => seqOf(id) !== undefined,
    *since(seq) {
      const rows = database.select(EVIDENCE).from(traces).where(gt(traces.seq, seq)).orderBy(asc(traces.seq)).all()
      for (const row of rows) yield evidenceOf(long.read(row))
    },
    bySeq(seq) {
      const row = database.select(EVIDENCE).from(traces).where(eq(traces.seq, seq)).get()
      return row && evidenceOf(long.read(row))
    },
    count: () => database.select({ total: count() }).from(traces).get()?.total ?? 0,
    lastSeq: () =>
      database
        .select({ last: max(traces.seq) })
        .from(traces)
        .get()?.last ?? 0,
  }
}
