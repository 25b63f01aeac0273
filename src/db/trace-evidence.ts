// The data of a call for the verdict on its client.
import type { ClientNote } from '../contract/core/finding.ts'
import type { TraceRecord } from '../contract/core/trace.ts'
import { cutCalls, cutCallsSent } from '../lib/cut-calls.ts'
import { frontDecoded } from '../lib/front-coding.ts'
import { keptBytes } from '../lib/kept-text.ts'
import { opaqueQuestion, type Question, readQuestion, requestPrint, responseText } from '../lib/question.ts'
import { readableRow, readRow } from './damaged-rows.ts'
import type { LongTexts } from './long-texts.ts'
import type { Database } from './open.ts'
import { RECORD_COLUMNS, type RecordRow, type TraceRow, unpackedExchange, unpackedRow, withUsage } from './trace-row.ts'
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
  /** Null for the task of an agent. */
  client: ClientNote | null
}

/** SQL that selects the data. */
export const EVIDENCE = `SELECT request, apart, ${RECORD_COLUMNS} FROM traces`
/** A row of that query. */
export type EvidenceRow = RecordRow & Pick<TraceRow, 'request' | 'apart'>
type AnswerRow = Pick<TraceRow, 'seq' | 'answer' | 'exchange' | 'apart'>

/** Reads its rows, whose long texts may be stored elsewhere. */
export const evidenceReader =
  ({ connection, long }: { connection: Database; long: LongTexts }) =>
  (row: EvidenceRow): TraceEvidence => {
    const { seq } = row
    const { trace, notes } = unpackedRow(row, connection)
    const { arrived, left, client } = notes
    const { request } = long.read(row)
    /** Reads the stored response, with its row. */
    const read = <Value>(found: (answer: string, row: AnswerRow) => Value): Value | undefined => {
      const stored = connection.prepare('SELECT seq, answer, exchange, apart FROM traces WHERE seq = ?').get(seq)
      const one = stored as AnswerRow | undefined
      const readOne = (one: AnswerRow) => found(withUsage(long.read(one).answer, trace.usage), one)
      return one && readableRow(() => readRow(connection, { table: 'trace_rows', row: seq }, () => readOne(one)))[0]
    }
    const answer = () => read((text): unknown => JSON.parse(text))
    /** The body that was sent, where a fault may have changed it: that is stored beside the response. */
    const sent = () =>
      trace.faults.length === 0 && trace.attempts.every(({ faults }) => faults.length === 0)
        ? undefined
        : read((text, { exchange }) => {
            const { response } = exchange === null ? {} : unpackedExchange(exchange)
            return response && frontDecoded(response.coded, text).map(textKept).join('')
          })
    return {
      seq,
      trace,
      request: client?.request ?? requestPrint(request),
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

/** A piece of a body as text; bytes that are none are left out. */
function textKept(piece: string): string {
  const bytes = keptBytes(piece)
  return 'text' in bytes ? bytes.text : ''
}
