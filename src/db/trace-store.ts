// Traces in SQLite: written once, listed newest first.
import type { ExchangeNote } from '../contract/core/exchange-note.ts'
import type { StoredTrace, TraceRecord } from '../contract/core/trace.ts'
import { once } from '../lib/once.ts'
import { MAX_NUMBER, readableRow, readRow } from './damaged-rows.ts'
import { longTexts } from './long-texts.ts'
import type { Database } from './open.ts'
import type { DroppedRows, StoreSize } from './row-budget.ts'
import { EVIDENCE, type EvidenceRow, evidenceReader, type TraceEvidence } from './trace-evidence.ts'
import { traceNumbers } from './trace-numbers.ts'
import {
  AS_IT_CAME,
  RECORD_COLUMNS,
  type RecordRow,
  TRACE_COLUMNS,
  type TraceRow,
  unpackedExchange,
  unpackedRow,
  withUsage,
} from './trace-row.ts'
import { traceWrites } from './trace-writes.ts'
import type { Writes } from './writer.ts'

/** The filters of a list of traces. The page starts after the trace with the id `after`. */
interface TraceFilter {
  model?: string | undefined
  status?: number | undefined
  /** Id of a thread. */
  thread?: string | undefined
  /** Name of a session, if there are several: in the file of a run. */
  session?: string | undefined
  /** Only calls that arrived in this span, both ends included, in ms since the epoch by the machine's clock. */
  arrived?: readonly [number, number] | undefined
  /** Milliseconds since the epoch, inclusive. */
  since?: number | undefined
  until?: number | undefined
  after?: string | undefined
  limit: number
}

/** Calls by number: below one and above another, both exclusive, and the maximum number to scan. */
interface TraceSpan {
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

/** A trace, and when its call arrived. */
export interface Arrival {
  trace: TraceRecord
  arrived: number
}

/** The stored wire data of a call, and the texts that complete it. */
export interface StoredExchange {
  note: ExchangeNote
  /** The request and the response of the trace as JSON, unchanged. */
  request: string
  answer: string
}

/** Limits on stored traces. */
export interface TraceLimits {
  /** Number of the newest traces; unlimited if omitted. */
  keep?: number | undefined
  /** Maximum size in bytes; unlimited if omitted. */
  bytes?: number | undefined
  /** What was dropped from an earlier store over the same data. */
  dropped?: DroppedRows
  /** The current size, if known. */
  counted?: StoreSize | undefined
}

/** Rows in which unreadable ids are searched, and how many of those are named. */
const MAX_NAMELESS_LOOKED = 1_000
const MAX_NAMELESS = 3

/** Calls in whose responses an id is looked for, and the length of what is looked for. */
const MAX_ISSUERS_LOOKED = 500
const MIN_ID_LENGTH = 4

const withRendered = (row: TraceRow) => ({ ...row, rendered: row.rendered ?? AS_IT_CAME })

/** The conditions of a filter, and their values; `seqOf` finds the number of a call by the id of its trace. */
function conditionsOf(
  { model, status, thread, since, until, after, session, arrived }: Omit<TraceFilter, 'limit'>,
  seqOf: (id: string) => number | undefined,
): { sql: string; values: unknown[] } {
  const conditions: [string, ...values: unknown[]][] = [
    ['model = +?', model],
    ['status = +?', status],
    ['thread = +?', thread],
    ['started >= ?', since],
    ['started <= ?', until],
    ['seq < ?', after === undefined ? undefined : (seqOf(after) ?? 0)],
    ['session = +?', session],
    ['arrived BETWEEN ? AND ?', ...(arrived ?? [undefined])],
  ]
  const used = conditions.filter(([, first]) => first !== undefined)
  return {
    sql: used.length === 0 ? '' : `WHERE ${used.map(([condition]) => condition).join(' AND ')}`,
    values: used.flatMap(([, ...values]) => values),
  }
}

/** Whether the data beside a record contains a text. */
const BESIDE = 'instr(lower(request), :text) OR instr(lower(answer), :text)'
/** Whether a record contains it, or the end of a response, whose last stored characters are `stored`. */
const holds = (trace: TraceRecord, stored: string, text: string) =>
  [JSON.stringify(trace), withUsage(stored, trace.usage)].some((one) => one.toLowerCase().includes(text))

/** Traces of a database. The oldest are dropped when there are too many. Reads see the view, which has only visible traces. */
export function traceStore(
  connection: Database,
  writer: Writes,
  {
    keep = Number.POSITIVE_INFINITY,
    bytes = Number.POSITIVE_INFINITY,
    dropped = { count: 0, last: 0 },
    counted,
  }: TraceLimits = {},
) {
  const long = longTexts(connection)
  const numbers = traceNumbers(connection)
  const limits = { keep, bytes, dropped, counted }
  const seqOf = numbers.find
  const evidenceOf = evidenceReader({ connection, long })
  const oneRow = once(() => connection.prepare(`SELECT ${TRACE_COLUMNS} FROM traces WHERE seq = ?`))
  const evidenceSince = once(() => connection.prepare(`${EVIDENCE} WHERE seq > ? ORDER BY seq`))
  const rowOf = (id: string) => {
    const row = oneRow().get(seqOf(id) ?? -1)
    return row ? withRendered(row as TraceRow) : undefined
  }
  const number = (sql: string) => Number(connection.prepare(sql).pluck().get() ?? 0)
  const read = ({ limit, ...filter }: TraceFilter): { found: Arrival[]; damaged: number[] } => {
    const { sql, values } = conditionsOf(filter, seqOf)
    const below = `${sql === '' ? 'WHERE' : `${sql} AND`} seq < ?`
    // `+?`: see `plainParam` of record-store.ts.
    const select = connection.prepare(`SELECT ${RECORD_COLUMNS} FROM traces ${below} ORDER BY seq DESC LIMIT +?`)
    const found: Arrival[] = []
    const damaged: number[] = []
    // Reads additional rows for damaged ones, so that a page is full.
    for (let before = Number.MAX_SAFE_INTEGER; found.length < limit; ) {
      const missing = limit - found.length
      const rows = select.all(...values, before, missing) as RecordRow[]
      for (const row of rows) {
        const [one] = readableRow(() => unpackedRow(row, connection))
        if (one) found.push({ trace: one.trace, arrived: one.notes.arrived ?? 0 })
        else damaged.push(row.seq)
      }
      if (rows.length < missing) break
      before = rows.at(-1)?.seq ?? 0
    }
    return { found, damaged }
  }
  const column = (sql: string): unknown[] => connection.prepare(sql).pluck().all()
  const evidenceIn = (rows: unknown[]) => (rows as EvidenceRow[]).flatMap((row) => readableRow(() => evidenceOf(row)))
  return {
    ...traceWrites({ connection, writer, long, limits, numbers }),
    /** A page, newest first, and the numbers of damaged rows in it. */
    list({ limit, ...filter }: TraceFilter): { data: TraceRecord[]; hasMore: boolean; damaged: number[] } {
      const { found, damaged } = read({ ...filter, limit: limit + 1 })
      return { data: found.slice(0, limit).map(({ trace }) => trace), hasMore: found.length > limit, damaged }
    },
    /** The same with the arrival time of each call, 0 if unknown: sessions have clocks of their own. */
    arrivals: (filter: TraceFilter): Arrival[] => read(filter).found,
    /** Numbers of rows whose ids cannot be read, newest first, among the newest `MAX_NAMELESS_LOOKED`. */
    nameless: (): number[] =>
      column(
        `SELECT seq FROM (SELECT seq, id FROM traces ORDER BY seq DESC LIMIT ${MAX_NAMELESS_LOOKED})
         WHERE typeof(id) <> 'text' LIMIT ${MAX_NAMELESS}`,
      ) as number[],
    /** Names of the sessions with calls in this database. */
    sessions: (): string[] =>
      column('SELECT DISTINCT session FROM traces ORDER BY 1').filter((name) => typeof name === 'string'),
    get(id: string): StoredTrace | undefined {
      const row = rowOf(id)
      if (!row) return undefined
      const whole = long.read(row)
      const { trace, notes } = unpackedRow(whole, connection)
      const texts = [whole.request, whole.rendered, withUsage(whole.answer, trace.usage)]
      const [request, rendered, response] = readRow(connection, { table: 'trace_rows', row: whole.seq }, () =>
        texts.map((text) => JSON.parse(text)),
      )
      return { ...trace, request_headers: notes.client?.headers ?? null, request, rendered, response }
    },
    /** The wire data of a call; undefined if there is none, or it was not stored. */
    exchange(id: string): StoredExchange | undefined {
      const row = rowOf(id)
      if (row?.exchange == null) return undefined
      const { request, answer } = long.read(row)
      const { exchange: packed, seq } = row
      const { trace } = unpackedRow(row, connection)
      const note = readRow(connection, { table: 'trace_rows', row: seq }, () => unpackedExchange(packed))
      return { note, request, answer: withUsage(answer, trace.usage) }
    },
    has: (id: string): boolean => seqOf(id) !== undefined,
    /** The trace of the latest call whose response contains an id, such as that of a tool call; searches the latest calls only. */
    issuerOf(id: string): string | undefined {
      // Compatible APIs put prefixes of their own before the same number.
      const text = id.slice(id.indexOf('_') + 1)
      if (text.length < MIN_ID_LENGTH) return undefined
      const first = number(`SELECT max(seq) FROM trace_rows WHERE seq < ${MAX_NUMBER}`) - MAX_ISSUERS_LOOKED
      const sql = 'SELECT id FROM traces WHERE seq > ? AND instr(answer, ?) > 0 ORDER BY seq DESC LIMIT 1'
      return connection.prepare(sql).pluck().get(first, text) as string | undefined
    },
    /** The calls after a number, in the order in which they started. */
    *since(seq: number): IterableIterator<TraceEvidence> {
      for (const row of evidenceSince().all(seq) as EvidenceRow[]) yield* readableRow(() => evidenceOf(row))
    },
    /** The call with a number. */
    bySeq: (seq: number): TraceEvidence | undefined =>
      evidenceIn(connection.prepare(`${EVIDENCE} WHERE seq = ?`).all(seq))[0],
    count: (): number => number('SELECT count(*) FROM traces'),
    /** The highest stored call number, 0 if there is none. */
    lastSeq: (): number => number(`SELECT max(seq) FROM trace_rows WHERE seq < ${MAX_NUMBER}`),
    /**
     * Calls by number, newest first: those with the text, the number of scanned calls, and the number of the last one.
     */
    span({ before, above, limit, text, head = 0 }: TraceSpan): {
      found: NumberedTrace[]
      looked: number
      last: number
    } {
      const rows = connection
        .prepare(
          `SELECT ${RECORD_COLUMNS}, ${text === undefined ? 1 : BESIDE} AS meant, substr(answer, -length(:text)) AS last, substr(request, 1, :head) AS head
           FROM traces
           WHERE seq < :before AND seq > :above ORDER BY seq DESC LIMIT +:limit`,
        )
        .all({ before, above, limit, text: text ?? '', head }) as (RecordRow &
        Record<'meant' | 'last' | 'head', unknown>)[]
      const found = rows.flatMap(({ meant, last, head: request, ...row }) =>
        readableRow(() => unpackedRow(row, connection)).flatMap(({ trace, notes }) =>
          meant || holds(trace, String(last), text ?? '')
            ? [{ seq: row.seq, arrived: notes.arrived ?? 0, trace, request: String(request) }]
            : [],
        ),
      )
      return { found, looked: rows.length, last: rows.at(-1)?.seq ?? 0 }
    },
    /** The calls before and after one, up to a maximum on each side, in the order in which they started. */
    around(id: string, most: number): TraceEvidence[] {
      const seq = seqOf(id)
      if (seq === undefined) return []
      const between = connection.prepare(`${EVIDENCE} WHERE seq BETWEEN ? AND ? ORDER BY seq`)
      return evidenceIn(between.all(seq - most, seq + most))
    },
  }
}

/** The traces of one session. */
export type TraceStore = ReturnType<typeof traceStore>
