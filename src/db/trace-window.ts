// Windows of a session's traces by call number: pages of lists, and the neighbors of one call.
import type { TraceRecord } from '../contract/core/trace.ts'
import { readableRow } from './damaged-rows.ts'
import type { LongTexts } from './long-texts.ts'
import type { Database } from './open.ts'
import { EVIDENCE, type EvidenceRow, evidenceReader, type TraceEvidence } from './trace-evidence.ts'
import type { TraceNumbers } from './trace-numbers.ts'
import { RECORD_COLUMNS, type RecordRow, unpackedRow, withUsage } from './trace-row.ts'

/** Calls by number: below one and above another, both exclusive, and the maximum number to scan. */
export interface TraceSpan {
  before: number
  above: number
  limit: number
  /**
   * Text in the record, the request or the response, in lower case. Texts of more than a million characters are not
   * searched.
   */
  text?: string | undefined
  /** Characters of each request to read; none if omitted. */
  head?: number
}

/** A trace with the number of its call, and its arrival time, 0 if unknown. */
export interface NumberedTrace {
  seq: number
  arrived: number
  trace: TraceRecord
  /** The start of its request, as stored. */
  request: string
}

/** Reads windows of a session's traces. */
export interface TraceWindows {
  /**
   * Calls by number, newest first: those with the text, the number of scanned calls, and the number of the last one.
   */
  span(span: TraceSpan): { found: NumberedTrace[]; looked: number; last: number }
  /** The calls before and after one, up to a maximum on each side, in the order in which they started. */
  around(id: string, most: number): TraceEvidence[]
}

/** Where traces are read. */
export interface TraceReads {
  connection: Database
  long: LongTexts
  numbers: TraceNumbers
}

/** Whether the data beside a record contains a text. */
const BESIDE = 'instr(lower(request), :text) OR instr(lower(answer), :text)'
/** Whether a record contains it, or the end of a response, whose last stored characters are `stored`. */
const holds = (trace: TraceRecord, stored: string, text: string) =>
  [JSON.stringify(trace), withUsage(stored, trace.usage)].some((one) => one.toLowerCase().includes(text))

/** Windows of a database's traces. */
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
