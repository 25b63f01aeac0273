// Traces in SQLite: written once, listed newest first.
import { and, asc, count, desc, eq, gt, max } from 'drizzle-orm'
import { type BetterSQLite3Database, drizzle } from 'drizzle-orm/better-sqlite3'
import type { StoredTrace, TraceRecord } from '../contract/trace.ts'
import { type LongTexts, longTexts } from './long-texts.ts'
import type { Database } from './open.ts'
import type { DroppedRows } from './row-budget.ts'
import { traces } from './schema.ts'
import { EVIDENCE, evidenceOf, type TraceEvidence } from './trace-evidence.ts'
import { conditionsOf, SESSION_NAME, type TraceFilter } from './trace-filter.ts'
import { type TraceWindows, windowsOf } from './trace-window.ts'
import { type TraceWrites, traceWrites } from './trace-writes.ts'
import type { Writer } from './writer.ts'

/** A trace, and when its call came. */
export interface Arrival {
  trace: TraceRecord
  arrived: number
}

/** The traces of one session. */
export interface TraceStore extends TraceWrites, TraceWindows {
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
  /** The call of a number. */
  bySeq(seq: number): TraceEvidence | undefined
  /** The highest call number stored, 0 when there is none. */
  lastSeq(): number
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
  const writes = traceWrites({ connection, database, writer, limits, long })
  return { ...writes, ...readsOf(database, long), ...windowsOf(database, long) }
}

/** Everything that only looks. */
function readsOf(
  database: BetterSQLite3Database,
  long: LongTexts,
): Omit<TraceStore, keyof TraceWrites | keyof TraceWindows> {
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
