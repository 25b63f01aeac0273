// What is read of a call to judge its client by.
import type { ClientNote } from '../contract/finding.ts'
import type { TraceRecord } from '../contract/trace.ts'
import { fingerprint } from '../lib/ids.ts'
import { questionOf } from '../lib/question.ts'
import { traces } from './schema.ts'
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

/** Its columns. */
export const EVIDENCE = {
  seq: traces.seq,
  record: traces.record,
  request: traces.request,
  arrived: traces.arrived,
  left: traces.left,
  client: traces.client,
  apart: traces.apart,
}
/** A row of them. */
export interface EvidenceRow {
  request: string
  seq: number
  record: string
  arrived: number | null
  left: number | null
  client: string | null
  apart: number | null
}

/** What a row says. */
export function evidenceOf({ seq, record, request, arrived, left, client: note }: EvidenceRow): TraceEvidence {
  const client: ClientNote | null = note === null ? null : JSON.parse(note)
  return {
    seq,
    trace: JSON.parse(record),
    request: client?.request ?? fingerprint(request),
    question: () => client?.request ?? questionOf(request),
    heard: arrived === null || left === null ? null : { arrived, left },
    client,
  }
}
