// Some of the traces of a session by the numbers of their calls: pages of lists, and what stands around one call.
import { and, asc, desc, eq, gt, gte, lt, sql } from 'drizzle-orm'
import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3'
import type { TraceRecord } from '../contract/trace.ts'
import type { LongTexts } from './long-texts.ts'
import { traces } from './schema.ts'
import { EVIDENCE, evidenceOf, type TraceEvidence } from './trace-evidence.ts'

/** Calls by number: below one and above another, which are left out themselves, and the most that are looked at. */
export interface TraceSpan {
  before: number
  above: number
  limit: number
  /** What the record, the request or the answer holds, in small letters; texts of more than a million characters are not searched. */
  text?: string | undefined
}

/** A trace with the number of its call, and when that came; 0 when it is not known. */
export interface NumberedTrace {
  seq: number
  arrived: number
  trace: TraceRecord
}

/** Reads some of a session's traces. */
export interface TraceWindows {
  /** Some calls by number, newest first: those that hold the text, how many were looked at, and the number of the last of them. */
  span(span: TraceSpan): { found: NumberedTrace[]; looked: number; last: number }
  /** The calls before and after one, at most so many on each side, in the order in which they began. */
  around(id: string, most: number): TraceEvidence[]
}

/** Windows on the traces of a database. */
export function windowsOf(database: BetterSQLite3Database, long: LongTexts): TraceWindows {
  return {
    span({ before, above, limit, text }) {
      const meant = text === undefined ? sql`${traces.record}` : recordWith(text)
      const rows = database
        .select({ seq: traces.seq, arrived: traces.arrived, record: sql<string | null>`${meant}` })
        .from(traces)
        .where(and(lt(traces.seq, before), gt(traces.seq, above)))
        .orderBy(desc(traces.seq))
        .limit(limit)
        .all()
      const found = rows.flatMap(({ seq, arrived, record }) =>
        record === null ? [] : [{ seq, arrived: arrived ?? 0, trace: JSON.parse(record) as TraceRecord }],
      )
      return { found, looked: rows.length, last: rows.at(-1)?.seq ?? 0 }
    },
    around(id, most) {
      const seq = database.select({ seq: traces.seq }).from(traces).where(eq(traces.id, id)).get()?.seq
      if (seq === undefined) return []
      const rows = database
        .select(EVIDENCE)
        .from(traces)
        .where(and(gte(traces.seq, seq - most), lt(traces.seq, seq + most + 1)))
        .orderBy(asc(traces.seq))
        .all()
      return rows.map((row) => evidenceOf(long.read(row)))
    },
  }
}

/** The record when it or what is stored beside it holds a text, else null. */
function recordWith(text: string) {
  const holds = (column: typeof traces.record | typeof traces.request | typeof traces.answer) =>
    sql`instr(lower(${column}), ${text})`
  return sql`CASE WHEN ${holds(traces.record)} OR ${holds(traces.request)} OR ${holds(traces.answer)} THEN ${traces.record} END`
}
