// What is read of a call to judge its client by.
import type { ClientNote } from '../contract/finding.ts'
import type { TraceRecord } from '../contract/trace.ts'
import { fingerprint } from '../lib/ids.ts'
import { questionOf } from '../lib/question.ts'
import { RECORD_COLUMNS, type RecordRow, unpackedRow } from './trace-row.ts'
import type { CallTimes } from './trace-writes.ts'

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

/** Selects what it takes. */
export const EVIDENCE = `SELECT seq, request, apart, ${RECORD_COLUMNS} FROM traces`
/** A row of that. */
export interface EvidenceRow extends RecordRow {
  seq: number
  request: string
  apart: number | null
}

/** What a row says. */
export function evidenceOf(row: EvidenceRow): TraceEvidence {
  const { seq, request } = row
  const { trace, notes } = unpackedRow(row)
  const { arrived, left, client } = notes
  return {
    seq,
    trace,
    request: client?.request ?? fingerprint(request),
    question: () => client?.request ?? questionOf(request),
    heard: arrived === null || left === null ? null : { arrived, left },
    client,
  }
}
