// The data of a call for the verdict on its client.
import type { ClientNote } from '../contract/core/finding.ts'
import type { TraceRecord } from '../contract/core/trace.ts'
import { cutCalls, cutCallsSent } from '../lib/cut-calls.ts'
import { frontDecoded } from '../lib/front-coding.ts'
import { fingerprint } from '../lib/ids.ts'
import { keptBytes } from '../lib/kept-text.ts'
import { opaqueQuestion, type Question, readQuestion, responseText } from '../lib/question.ts'
import { readableRow, readRow } from './damaged-rows.ts'
import type { LongTexts } from './long-texts.ts'
import type { Database } from './open.ts'
import { RECORD_COLUMNS, type RecordRow, unpackedExchange, unpackedRow, withUsage } from './trace-row.ts'
import type { CallTimes } from './trace-writes.ts'

/** A trace with the data for judging the client. */
export interface TraceEvidence {
  /** The number of the call in its session. */
  seq: number
  trace: TraceRecord
  /** Equal for equal requests of an operation. */
  request: string
  /** The content of the request. */
  question(): Question
  /** The text of its response, as far as it was sent or about to be, without spaces. */
  responseText(): string
  /** The ids of the tool calls in its response whose arguments are truncated. */
  cutCalls(): readonly string[]
  /** When it arrived and its response ended. Null for a call of another process. */
  times: CallTimes | null
  /** Also null for calls from before these notes were stored. */
  client: ClientNote | null
}

/** SQL that selects the data. */
export const EVIDENCE = `SELECT request, apart, ${RECORD_COLUMNS} FROM traces`
/** A row of that query. */
export interface EvidenceRow extends RecordRow {
  request: string
  apart: number | null
}

/** Reads its rows, whose long texts may be stored elsewhere. */
export const evidenceReader =
  ({ connection, long }: { connection: Database; long: LongTexts }) =>
  (row: EvidenceRow): TraceEvidence => {
    const stored = () =>
      connection.prepare('SELECT seq, answer, exchange, apart FROM traces WHERE seq = ?').get(row.seq) as
        | { seq: number; answer: string; exchange: string | null; apart: number | null }
        | undefined
    const unpacked = unpackedRow(row, connection)
    const { trace } = unpacked
    const place = { table: 'trace_rows', row: row.seq } as const
    const read = <Value>(found: (row: NonNullable<ReturnType<typeof stored>>) => Value): Value | undefined => {
      const one = stored()
      return one && readableRow(() => readRow(connection, place, () => found(one)))[0]
    }
    const textOf = (one: NonNullable<ReturnType<typeof stored>>) => withUsage(long.read(one).answer, trace.usage)
    return evidenceOf(long.read(row), unpacked, {
      answer: () => read((one) => JSON.parse(textOf(one)) as unknown),
      // What a fault made of an answer is kept beside it.
      sent: () =>
        trace.faults.length === 0 && trace.attempts.every(({ faults }) => faults.length === 0)
          ? undefined
          : read((one) => {
              const { response } = one.exchange === null ? {} : unpackedExchange(one.exchange)
              return response && frontDecoded(response.coded, textOf(one)).map(textKept).join('')
            }),
    })
  }

/** A piece of a body as text; bytes that are none are left out. */
function textKept(piece: string): string {
  const bytes = keptBytes(piece)
  return 'text' in bytes ? bytes.text : ''
}

/** What was answered, and the body that was sent where a fault may have changed that. */
interface AnswerReader {
  answer(): unknown
  sent(): string | undefined
}

/** The evidence in a row. */
function evidenceOf(
  { seq, request }: EvidenceRow,
  { trace, notes }: ReturnType<typeof unpackedRow>,
  { answer, sent }: AnswerReader,
): TraceEvidence {
  const { arrived, left, client } = notes
  return {
    seq,
    trace,
    request: client?.request ?? fingerprint(request),
    question: () =>
      client?.request === undefined ? readQuestion(request) : opaqueQuestion(client.question ?? client.request),
    responseText: () => responseText(answer()),
    cutCalls() {
      const body = sent()
      return body === undefined ? cutCalls(answer()) : cutCallsSent(body)
    },
    times: arrived === null || left === null ? null : { arrived, left },
    client,
  }
}
