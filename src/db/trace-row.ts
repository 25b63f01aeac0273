// The row of a trace: its record as a tuple of what is not as it mostly is, since less is written then. Rows of versions before
// 9, and those of a snapshot, have the record as JSON with names instead, and what is beside it in columns of its own.
import type { ClientNote } from '../contract/finding.ts'
import type { StreamRecord } from '../contract/stream-record.ts'
import type { AttemptRecord, TraceRecord } from '../contract/trace.ts'

/** What is stored in the tuple beside the record of a call. */
export interface TraceNotes {
  /** Traces up to this number are not shown any more once this is the newest one. */
  hidden: number
  /** When the call came and when its answer had gone out; null when it was not made here. */
  arrived: number | null
  left: number | null
  client: ClientNote | null
  /** What was sent of a stream. */
  stream?: StreamRecord | undefined
}

/** The columns that it takes to read a record. */
export interface RecordRow {
  started: number
  model: string | null
  status: number
  record: string
  arrived: number | null
  left: number | null
  client: string | null
}
export const RECORD_COLUMNS = 'started, model, status, record, arrived, left, client'

// The places of the tuple, in SQL; a row with names has no such places, and the others have no such names.
/** The condition of a row that is not shown any more; the view `traces` has the others. */
export const NOT_SHOWN = "seq <= (SELECT record ->> '$[0]' FROM trace_rows ORDER BY seq DESC LIMIT 1)"
export const ARRIVED = "coalesce(arrived, record ->> '$[1]', 0)"
export const ID = "coalesce(record ->> '$.id', record ->> '$[4]')"
export const SESSION = "coalesce(record ->> '$.session', record ->> '$[5]')"

/** What was sent of a stream, or that it is one. */
const STREAM = 8

/** The columns of traces as snapshots have them, whatever the form of a row; `record` is no text there. */
export const NAMED_COLUMNS = [
  'seq',
  'id',
  'started',
  'model',
  'status',
  'thread',
  'record',
  'request',
  'rendered',
  'answer',
  'arrived',
  'left',
  'client',
  'apart',
]

/** A row with the values of these columns. */
export function namedRow(row: RecordRow & Record<string, unknown>): Record<string, unknown> {
  const { trace, notes } = unpackedRow(row)
  const { arrived, left, client, stream } = notes
  const named: Record<string, unknown> = {
    ...row,
    id: trace.id,
    record: stream ? { ...trace, sent: stream } : trace,
    arrived,
    left,
    client: client && JSON.stringify(client),
  }
  return Object.fromEntries(NAMED_COLUMNS.map((name) => [name, named[name]]))
}

/** Without what is null at its end. */
function trimmed(tuple: unknown[]): unknown[] {
  while (tuple.length > 0 && tuple[tuple.length - 1] == null) tuple.length--
  return tuple
}
/** Null for a list that is empty. */
const filled = <Item>(list: readonly Item[]) => (list.length === 0 ? null : list)

const packedAttempt = (attempt: AttemptRecord): unknown[] =>
  trimmed([
    attempt.target,
    attempt.position,
    attempt.number,
    attempt.why,
    attempt.wait_ms,
    attempt.started_ms,
    attempt.first_content_ms,
    attempt.duration_ms,
    attempt.outcome === 'answered' ? null : attempt.outcome,
    attempt.status === 200 ? null : attempt.status,
    attempt.request_id,
    attempt.error,
    filled(attempt.faults),
    attempt.fixture,
  ])

const packedStream = (stream: StreamRecord | undefined): unknown[] | undefined =>
  stream && trimmed([stream.events, stream.characters, stream.times, stream.blocks])

function unpackedStream(packed: Packed): StreamRecord | undefined {
  if (!Array.isArray(packed)) return undefined
  const [events, characters, times, blocks] = packed
  return { events, characters, times, ...(blocks && { blocks }) }
}

/** A record and its notes as the text of a row; `started_at`, `model` and `status` have columns of their own. */
export const packedRecord = (trace: TraceRecord, { hidden, arrived, left, client, stream }: TraceNotes): string =>
  JSON.stringify(
    trimmed([
      hidden,
      arrived,
      left,
      client,
      trace.id,
      trace.session,
      trace.operation,
      trace.name === trace.operation ? null : trace.name,
      // What was sent of it, in the place of a mere yes.
      trace.stream ? (packedStream(stream) ?? true) : null,
      trace.outcome === 'answered' ? null : trace.outcome,
      trace.duration_ms,
      trace.fixture,
      trace.synthesized ? true : null,
      trace.plan,
      trace.attempts.map(packedAttempt),
      trace.usage,
      trace.cost,
      // The place of the instance is here, since it mostly is there and what follows is not.
      trace.instance === undefined ? trace.point : [trace.point ?? null, trace.instance],
      // From here on, mostly nothing.
      trace.error,
      trace.thread,
      trace.identity,
      trace.metadata,
      trace.parent,
      trace.inner ? true : null,
      trace.scenario,
      filled(trace.faults),
      trace.cache,
      filled(trace.guardrails),
      filled(trace.retrievals),
      trace.retry_after_ms,
      filled(trace.attachments),
      trace.task,
      trace.assumed,
      trace.new_session,
    ]),
  )

/** What was packed here. */
type Packed = ReturnType<typeof JSON.parse>

function unpackedAttempt(packed: Packed): AttemptRecord {
  const [target, position, number, why, wait_ms, started_ms, first_content_ms = null, duration_ms, ...rest] = packed
  const [outcome, status, request_id = null, error = null, faults, fixture] = rest
  return {
    target,
    position,
    number,
    why,
    faults: faults ?? [],
    wait_ms,
    started_ms,
    first_content_ms,
    duration_ms,
    outcome: outcome ?? 'answered',
    status: status ?? 200,
    request_id,
    error,
    ...(fixture !== undefined && { fixture }),
  }
}

function unpackedRecord(packed: Packed, { started, model, status }: RecordRow): TraceRecord {
  const [, , , , id, session, operation, name, stream, outcome, duration_ms, fixture = null, synthesized, ...rest] =
    packed
  const [plan, attempts, usage = null, cost = null, made = null, error = null, thread = null, ...rare] = rest
  const [
    identity = null,
    metadata = null,
    parent = null,
    inner,
    scenario = null,
    faults,
    cache = null,
    guardrails,
    ...rarer
  ] = rare
  const [retrievals, retry_after_ms = null, attachments, task, assumed, newSession] = rarer
  const [point, instance] = Array.isArray(made) ? made : [made, undefined]
  return {
    id,
    session,
    ...(instance !== undefined && { instance }),
    ...(newSession != null && { new_session: true as const }),
    operation,
    parent,
    inner: inner ?? false,
    name: name ?? operation,
    ...(point !== null && { point }),
    model,
    ...(assumed != null && { assumed }),
    stream: stream != null,
    status,
    outcome: outcome ?? 'answered',
    started_at: new Date(started).toISOString(),
    duration_ms,
    fixture,
    synthesized: synthesized ?? false,
    plan,
    scenario,
    faults: faults ?? [],
    attempts: attempts.map(unpackedAttempt),
    cache,
    guardrails: guardrails ?? [],
    retrievals: retrievals ?? [],
    retry_after_ms,
    usage,
    cost,
    attachments: attachments ?? [],
    metadata,
    identity,
    thread,
    error,
    ...(task != null && { task }),
  }
}

/** The record of a row, and its notes. */
export function unpackedRow(row: RecordRow): { trace: TraceRecord; notes: TraceNotes } {
  const parsed: Packed = JSON.parse(row.record)
  if (!Array.isArray(parsed)) {
    const { arrived, left, client } = row
    const { sent, ...trace } = parsed
    const notes = { hidden: 0, arrived, left, client: client === null ? null : JSON.parse(client) }
    return { trace, notes: sent ? { ...notes, stream: sent } : notes }
  }
  const [hidden, arrived, left, client] = parsed
  const stream = unpackedStream(parsed[STREAM])
  return { trace: unpackedRecord(parsed, row), notes: { hidden, arrived, left, client, ...(stream && { stream }) } }
}
