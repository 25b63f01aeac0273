// Some of the traces of a session by the numbers of their calls: pages of lists, and what stands around one call.
import type { TraceRecord } from '../contract/core/trace.ts'
import { readableRow } from './damaged-rows.ts'
import type { LongTexts } from './long-texts.ts'
import type { Database } from './open.ts'
import { EVIDENCE, type EvidenceRow, evidenceReader, type TraceEvidence } from './trace-evidence.ts'
import type { TraceNumbers } from './trace-numbers.ts'
import { RECORD_COLUMNS, type RecordRow, unpackedRow, withUsage } from './trace-row.ts'

/** Calls by number: below one and above another, which are left out themselves, and the most that are looked at. */
export interface TraceSpan {
  before: number
  above: number
  limit: number
  /** What the record, the request or the answer holds, in small letters; texts of more than a million characters are not searched. */
  text?: string | undefined
  /** Characters of each request to read; none when left out. */
  head?: number
}

/** A trace with the number of its call, and when that came; 0 when it is not known. */
export interface NumberedTrace {
  seq: number
  arrived: number
  trace: TraceRecord
  /** The beginning of its request, as it is stored. */
  request: string
}

/** Reads some of a session's traces. */
export interface TraceWindows {
  /** Some calls by number, newest first: those that hold the text, how many were looked at, and the number of the last of them. */
  span(span: TraceSpan): { found: NumberedTrace[]; looked: number; last: number }
  /** The calls before and after one, at most so many on each side, in the order in which they began. */
  around(id: string, most: number): TraceEvidence[]
}

/** Where traces are read. */
export interface TraceReads {
  connection: Database
  long: LongTexts
  numbers: TraceNumbers
}

/** Whether what is stored beside a record holds a text. */
const BESIDE = 'instr(lower(request), :text) OR instr(lower(answer), :text)'
/** Whether a record holds it, or the end of an answer, of which `stored` has the last characters that are stored. */
const holds = (trace: TraceRecord, stored: string, text: string) =>
  [JSON.stringify(trace), withUsage(stored, trace.usage)].some((one) => one.toLowerCase().includes(text))

/** Windows on the traces of a database. */
export function windowsOf({ connection, long, numbers }: TraceReads): TraceWindows {
  return {
    span({ before, above, limit, text, head = 0 }) {
      const rows = connection
        .prepare(
          `SELECT ${RECORD_COLUMNS}, ${text === undefined ? 1 : BESIDE} AS meant, substr(answer, -length(:text)) AS last, substr(request, 1, :head) AS head
           FROM traces
           WHERE seq < :before AND seq > :above ORDER BY seq DESC LIMIT :limit`,
        )
        .all({ before, above, limit, text: text ?? '', head }) as (RecordRow & {
        meant: number
        last: unknown
        head: unknown
      })[]
      const found = rows.flatMap(({ meant, last, head: request, ...row }) =>
        readableRow(() => unpackedRow(row, connection)).flatMap(({ trace, notes }) =>
          meant || holds(trace, String(last), text ?? '')
            ? [{ seq: row.seq, arrived: notes.arrived ?? 0, trace, request: String(request) }]
            : [],
        ),
      )
      return { found, looked: rows.length, last: rows.at(-1)?.seq ?? 0 }
    },
    around(id, most) {
      const seq = numbers.find(id)
      if (seq === undefined) return []
      const rows = connection.prepare(`${EVIDENCE} WHERE seq BETWEEN ? AND ? ORDER BY seq`).all(seq - most, seq + most)
      const evidenceOf = evidenceReader({ connection, long })
      return (rows as EvidenceRow[]).flatMap((one) => readableRow(() => evidenceOf(one)))
    },
  }
}
