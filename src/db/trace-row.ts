// The row of a trace: its record as a tuple of what is not as it mostly is, since less is written then. Rows of versions before
// 9, and those of a snapshot, have the record as JSON with names instead, and what is beside it in columns of its own; those of
// version 9 say more in their tuples.
import type { ClientNote } from '../contract/finding.ts'
import type { TraceRecord } from '../contract/trace.ts'
import { type DatabaseName, readRow } from './damaged-rows.ts'
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
  seq: number
  started: number
  model: string | null
  status: number
  record: string
  arrived: number | null
  left: number | null
  client: string | null
}
export const RECORD_COLUMNS = 'seq, started, model, status, record, arrived, left, client'

// The places of the tuple, in SQL; a row with names has no such places, and the others have no such names.
/** Up to which number no row is shown any more. */
export const LAST_HIDDEN = `SELECT CASE WHEN json_type(record, '$[0]') = 'integer' AND record ->> '$[0]' < seq THEN record ->> '$[0]' END
  FROM trace_rows WHERE json_valid(record) ORDER BY seq DESC LIMIT 1`
/** The condition of such a row; the view `traces` has the others. */
export const NOT_SHOWN = `seq <= (${LAST_HIDDEN})`
export const ARRIVED = "coalesce(arrived, iif(json_valid(record), record ->> '$[1]', 0), 0)"
export const ID = "iif(json_valid(record), coalesce(record ->> '$.id', record ->> '$[4]'), NULL)"
export const SESSION = "iif(json_valid(record), coalesce(record ->> '$.session', record ->> '$[5]'), NULL)"

/** That the answer is a stream; of versions 9 to 11, what was sent of it. */
const STREAM = 8
const USAGE = 15
/** The answer as it was given: the column has it without what the record says as well. */
export const ANSWER = `iif(json_valid(record), ${answerSql(USAGE)}, answer)`
/** Everything of a row, with that answer. */
export const ROW_COLUMNS = `${RECORD_COLUMNS}, request, rendered, ${ANSWER} AS answer, thread, apart, exchange`

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
export function namedRow(row: RecordRow & Record<string, unknown>, database: DatabaseName): Record<string, unknown> {
  const { trace, notes } = unpackedRow(row, database)
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

/** A record and its notes. */
interface UnpackedRow {
  trace: TraceRecord
  notes: TraceNotes
}

/**
 * The record of a row, and its notes.
 * @throws DamagedRow 507 where the row holds something else
 */
export const unpackedRow = (row: RecordRow, database: DatabaseName): UnpackedRow =>
  readRow(database, { table: 'trace_rows', row: row.seq }, () => {
    const unpacked = unpackedFields(row)
    checkTrace(unpacked.trace)
    return unpacked
  })

type FieldCheck = (value: unknown) => boolean
const isText: FieldCheck = (value) => typeof value === 'string'
const isNumber: FieldCheck = (value) => typeof value === 'number' && Number.isFinite(value)
const isFields: FieldCheck = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
const listOf =
  (item: FieldCheck): FieldCheck =>
  (value) =>
    Array.isArray(value) && value.every(item)
// Records with names of earlier versions say less.
const maybe =
  (check: FieldCheck): FieldCheck =>
  (value) =>
    value == null || check(value)
const fieldChecks = (checks: Record<string, FieldCheck>): [string, FieldCheck][] => Object.entries(checks)

/** What is read as something of its own kind wherever traces are judged or shown; the whole schema would take ten times as long. */
const OF_TRACE = fieldChecks({
  ...{ id: isText, session: isText, operation: isText, name: isText, outcome: isText, started_at: isText },
  ...{ model: maybe(isText), status: isNumber, duration_ms: maybe(isNumber), plan: listOf(isText) },
  attempts: listOf(isFields),
  ...{ faults: maybe(listOf(isText)), guardrails: maybe(listOf(isFields)), retrievals: maybe(listOf(isFields)) },
  ...{ attachments: maybe(listOf(isFields)), cache: maybe(isFields), usage: maybe(isFields), cost: maybe(isNumber) },
  ...{ error: maybe(isFields), thread: maybe(isFields), identity: maybe(isFields), metadata: maybe(isFields) },
  ...{ parent: maybe(isText), scenario: maybe(isText), fixture: maybe(isText), point: maybe(isText) },
  ...{ retry_after_ms: maybe(isNumber), task: maybe(isFields), assumed: maybe(isFields), instance: maybe(isText) },
})
const OF_ATTEMPT = fieldChecks({
  ...{ target: isText, position: isNumber, number: isNumber, outcome: isText, status: isNumber, duration_ms: isNumber },
  ...{ started_ms: maybe(isNumber), wait_ms: maybe(isNumber), first_content_ms: maybe(isNumber), error: maybe(isText) },
  faults: maybe(listOf(isText)),
})

function checkFields(what: string, value: object, checks: [string, FieldCheck][]): void {
  for (const [name, check] of checks)
    if (!check(Reflect.get(value, name))) throw new Error(`${what} has a wrong '${name}'`)
}

function checkTrace(trace: TraceRecord): void {
  checkFields('its record', trace, OF_TRACE)
  for (const attempt of trace.attempts) checkFields('an attempt of its record', attempt, OF_ATTEMPT)
  if (Number.isNaN(Date.parse(trace.started_at))) throw new Error("its record has a wrong 'started_at'")
}

function unpackedFields(row: RecordRow): UnpackedRow {
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
