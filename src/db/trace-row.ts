// The row of a trace: its record as a tuple of what is not as it mostly is, since less is written then. Rows of versions before
// 9, and those of a snapshot, have the record as JSON with names instead, and what is beside it in columns of its own; those of
// version 9 say more in their tuples.
import type { ClientNote } from '../contract/finding.ts'
import type { TraceRecord } from '../contract/trace.ts'
import {
  filled,
  type Packed,
  packedAttempt,
  packedClient,
  trimmed,
  unpackedAttempt,
  unpackedClient,
} from './packed-parts.ts'
import { answerSql, unpackedUsage } from './packed-usage.ts'

/** What is stored in the tuple beside the record of a call. */
export interface TraceNotes {
  /** Traces up to this number are not shown any more once this is the newest one. */
  hidden: number
  /** When the call came and when its answer had gone out; null when it was not made here. */
  arrived: number | null
  left: number | null
  client: ClientNote | null
  /** What earlier versions kept of a stream, which is only passed on. */
  sent?: unknown
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
/** Up to which number no row is shown any more. */
export const LAST_HIDDEN = "SELECT record ->> '$[0]' FROM trace_rows ORDER BY seq DESC LIMIT 1"
/** The condition of such a row; the view `traces` has the others. */
export const NOT_SHOWN = `seq <= (${LAST_HIDDEN})`
export const ARRIVED = "coalesce(arrived, record ->> '$[1]', 0)"
export const ID = "coalesce(record ->> '$.id', record ->> '$[4]')"
export const SESSION = "coalesce(record ->> '$.session', record ->> '$[5]')"

/** That the answer is a stream; of versions 9 to 11, what was sent of it. */
const STREAM = 8
const USAGE = 15
/** The answer as it was given: the column has it without what the record says as well. */
export const ANSWER = answerSql(USAGE)
/** Everything of a row, with that answer. */
export const ROW_COLUMNS = `seq, ${RECORD_COLUMNS}, request, rendered, ${ANSWER} AS answer, thread, apart, exchange`

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
  'exchange',
]

/** A row with the values of these columns. */
export function namedRow(row: RecordRow & Record<string, unknown>): Record<string, unknown> {
  const { trace, notes } = unpackedRow(row)
  const { arrived, left, client, sent } = notes
  const named: Record<string, unknown> = {
    ...row,
    id: trace.id,
    record: sent ? { ...trace, sent } : trace,
    arrived,
    left,
    client: client && JSON.stringify(client),
  }
  // Those of earlier versions have none.
  const columns = row.exchange == null ? NAMED_COLUMNS.filter((name) => name !== 'exchange') : NAMED_COLUMNS
  return Object.fromEntries(columns.map((name) => [name, named[name]]))
}

/** Most plans are the model that answered. */
const packedPlan = ({ plan, model }: TraceRecord) => (plan.length === 1 && plan[0] === model ? null : plan)

/** Which call of the client, at which instance, and whether it went straight to its provider. */
const packedPlace = ({ point, instance, route }: TraceRecord) =>
  trimmed([point ?? null, instance ?? null, route === 'direct' ? true : null])

/**
 * A record and its notes as the text of a row; `started_at`, `model` and `status` have columns of their own, and `usage` is what
 * is stored of it.
 */
export const packedRecord = (
  trace: TraceRecord,
  { hidden, arrived, left, client }: TraceNotes,
  usage: unknown = trace.usage,
): string =>
  JSON.stringify(
    trimmed([
      hidden,
      arrived,
      left,
      client && packedClient(client),
      trace.id,
      trace.session,
      trace.operation,
      trace.name === trace.operation ? null : trace.name,
      trace.stream ? true : null,
      trace.outcome === 'answered' ? null : trace.outcome,
      trace.duration_ms,
      trace.fixture,
      trace.synthesized ? true : null,
      packedPlan(trace),
      trace.attempts.map((attempt) => packedAttempt(attempt, trace.model)),
      usage,
      trace.cost,
      // The place of the instance is here, since it mostly is there and what follows is not.
      trace.instance === undefined && trace.route === 'gateway' ? trace.point : packedPlace(trace),
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
  const [point = null, instance = null, direct] = Array.isArray(made) ? made : [made]
  return {
    id,
    session,
    ...(instance !== null && { instance }),
    ...(newSession != null && { new_session: true as const }),
    operation,
    parent,
    inner: inner ?? false,
    name: name ?? operation,
    ...(point !== null && { point }),
    model,
    ...(assumed != null && { assumed }),
    stream: stream != null,
    route: direct ? 'direct' : 'gateway',
    status,
    outcome: outcome ?? 'answered',
    started_at: new Date(started).toISOString(),
    duration_ms,
    fixture,
    synthesized: synthesized ?? false,
    plan: plan ?? [model],
    scenario,
    faults: faults ?? [],
    attempts: attempts.map((attempt: Packed) => unpackedAttempt(attempt, model)),
    cache,
    guardrails: guardrails ?? [],
    retrievals: retrievals ?? [],
    retry_after_ms,
    usage: unpackedUsage(usage),
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
    return { trace, notes: sent ? { ...notes, sent } : notes }
  }
  const [hidden, arrived, left, client] = parsed
  const sent = sentBefore(parsed[STREAM])
  return {
    trace: unpackedRecord(parsed, row),
    notes: { hidden, arrived, left, client: unpackedClient(client), ...(sent && { sent }) },
  }
}

/** What earlier versions kept of a stream, as their snapshots have it. */
function sentBefore(packed: Packed): object | undefined {
  if (!Array.isArray(packed)) return undefined
  const [events, characters, times, blocks] = packed
  return { events, characters, times, ...(blocks && { blocks }) }
}
