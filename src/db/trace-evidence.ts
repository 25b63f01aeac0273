// The data of a call for the verdict on its client.
import type { ClientNote } from '../contract/core/finding.ts'
import type { TraceRecord } from '../contract/core/trace.ts'
import { fingerprint } from '../lib/ids.ts'
import { answerWords, opaqueQuestion, type Question, readQuestion } from '../lib/question.ts'
import { readableRow, readRow } from './damaged-rows.ts'
import type { LongTexts } from './long-texts.ts'
import type { Database } from './open.ts'
import { RECORD_COLUMNS, type RecordRow, unpackedRow, withUsage } from './trace-row.ts'
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
  words(): string
  /** Null for a call of another process. */
  heard: CallTimes | null
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
    const answer = () => connection.prepare('SELECT seq, answer, apart FROM traces WHERE seq = ?').get(row.seq)
    const unpacked = unpackedRow(row, connection)
    return evidenceOf(long.read(row), unpacked, () => {
      const found = answer() as { seq: number; answer: string; apart: number | null } | undefined
      if (!found) return undefined
      const place = { table: 'trace_rows', row: row.seq }
      return readableRow(() =>
        readRow(
          connection,
          place,
          () => JSON.parse(withUsage(long.read(found).answer, unpacked.trace.usage)) as unknown,
        ),
      )[0]
    })
  }

/** The evidence in a row; `answer` reads the response. */
function evidenceOf(
  { seq, request }: EvidenceRow,
  { trace, notes }: ReturnType<typeof unpackedRow>,
  answer: () => unknown,
): TraceEvidence {
  const { arrived, left, client } = notes
  return {
    seq,
    trace,
    request: client?.request ?? fingerprint(request),
    question: () =>
      client?.request === undefined ? readQuestion(request) : opaqueQuestion(client.question ?? client.request),
    words: () => answerWords(answer()),
    heard: arrived === null || left === null ? null : { arrived, left },
    client,
  }
}
