// What is read of a call to judge its client by.
import type { ClientNote } from '../contract/core/finding.ts'
import type { TraceRecord } from '../contract/core/trace.ts'
import { cutCalls } from '../lib/cut-calls.ts'
import { fingerprint } from '../lib/ids.ts'
import { answerWords, opaqueQuestion, type Question, readQuestion } from '../lib/question.ts'
import { readableRow, readRow } from './damaged-rows.ts'
import type { LongTexts } from './long-texts.ts'
import type { Database } from './open.ts'
import { RECORD_COLUMNS, type RecordRow, unpackedRow, withUsage } from './trace-row.ts'
import type { CallTimes } from './trace-writes.ts'

/** A trace with what it takes to tell how the client behaved. */
export interface TraceEvidence {
  /** The number of the call in its session. */
  seq: number
  trace: TraceRecord
  /** Equal for equal requests of an operation. */
  request: string
  /** What it asks. */
  question(): Question
  /** The words of its answer, as far as they were sent or were about to be, without spaces. */
  words(): string
  /** The ids of the tool calls in its answer whose arguments break off. */
  cutCalls(): readonly string[]
  /** Null for a call that was not made here. */
  heard: CallTimes | null
  /** Null as well for one that was made before such notes were kept. */
  client: ClientNote | null
}

/** Selects what it takes. */
export const EVIDENCE = `SELECT request, apart, ${RECORD_COLUMNS} FROM traces`
/** A row of that. */
export interface EvidenceRow extends RecordRow {
  request: string
  apart: number | null
}

/** Reads rows of that, whose long texts may be elsewhere. */
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

/** What a row says; `answer` reads what was answered. */
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
    cutCalls: () => cutCalls(answer()),
    heard: arrived === null || left === null ? null : { arrived, left },
    client,
  }
}
