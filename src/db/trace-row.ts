// The row of a trace: columns for SQL, the rest of the record in a tuple. Positions in the tables of fields are positions in the rows of
// every file, so a change of them is a new version of the schema (schema-sql.ts).
import { DROPPED, type ExchangeNote, type KeptBytes, KNOWN } from '../contract/core/exchange-note.ts'
import type { ClientNote } from '../contract/core/finding.ts'
import type { AttemptRecord, TraceRecord } from '../contract/core/trace.ts'
import { isObject } from '../lib/values.ts'
import { type DatabaseName, readRow } from './damaged-rows.ts'
import { COLUMN, type Form, packedList, packing } from './packing.ts'

/** The token counts of most responses, in their order. */
const USUAL_COUNTS: Shape = [
  ['prompt_tokens'],
  ['completion_tokens'],
  ['total_tokens'],
  ['prompt_tokens_details', [['cached_tokens'], ['cache_creation_tokens'], ['audio_tokens']]],
  [
    'completion_tokens_details',
    [['reasoning_tokens'], ['accepted_prediction_tokens'], ['rejected_prediction_tokens'], ['audio_tokens']],
  ],
]
/** Names of an object of numbers, and of nested objects. */
type Shape = (readonly [name: string, within?: Shape])[]

/** Adds the numbers of an object to a list. False if it has another shape. */
function addCounts(shape: Shape, of: Record<string, unknown>, counts: number[]): boolean {
  let at = 0
  for (const name in of) {
    const expected = shape[at++]
    if (!expected || name !== expected[0]) return false
    const value = of[name]
    const within = expected[1]
    if (within ? !isObject(value) || !addCounts(within, value, counts) : typeof value !== 'number') return false
    if (!within) counts.push(value as number)
  }
  return at === shape.length
}

const withCounts = (shape: Shape, counts: Iterator<unknown>): Record<string, unknown> =>
  Object.fromEntries(shape.map(([name, within]) => [name, within ? withCounts(within, counts) : counts.next().value]))

/** The usual token counts as a list of numbers, any other as they are. */
const usage: Form<NonNullable<TraceRecord['usage']>> = {
  pack(of) {
    const counts: number[] = []
    return addCounts(USUAL_COUNTS, of, counts) ? counts : of
  },
  unpack: (stored) =>
    (Array.isArray(stored) ? withCounts(USUAL_COUNTS, stored.values()) : stored) as NonNullable<TraceRecord['usage']>,
}

const ATTEMPT = packing<AttemptRecord>([
  ['target'],
  ['position', 0],
  ['number', 1],
  ['reason', 'first'],
  ['faults', []],
  ['wait_ms', 0],
  ['started_ms', 0],
  ['first_content_ms', null],
  ['duration_ms'],
  ['outcome', 'succeeded'],
  ['status', 200],
  ['request_id', null],
  ['error', null],
  ['fixture', undefined],
  ['history', undefined],
])

/** The record of a call. */
const TRACE = packing<TraceRecord>([
  ['id', COLUMN],
  ['session', COLUMN],
  ['instance', undefined],
  ['new_session', undefined],
  ['operation'],
  ['parent', null],
  ['internal', false],
  ['name', ({ operation }) => operation],
  ['call_site', undefined],
  ['model', COLUMN],
  ['assumed', undefined],
  ['stream', false],
  ['route', 'gateway'],
  ['status', COLUMN],
  ['outcome', 'succeeded'],
  ['started_at', COLUMN],
  ['duration_ms'],
  ['fixture', null],
  ['generated', false],
  ['plan', ({ model }) => (model === null ? [] : [model])],
  ['scenario', null],
  ['faults', []],
  ['attempts', [], packedList(ATTEMPT)],
  ['cache', null],
  ['guardrails', []],
  ['retrievals', []],
  ['retry_after_ms', null],
  ['usage', null, usage],
  ['cost', null],
  ['attachments', []],
  ['metadata', null],
  ['identity', null],
  ['thread', null],
  ['error', null],
  ['task', undefined],
])

/** The client of a call. */
const CLIENT = packing<ClientNote>([
  ['connection', null],
  ['retry', null],
  ['key', null],
  ['caller', undefined],
  ['until'],
  ['request', undefined],
  ['question', undefined],
  ['advised', undefined],
  ['dated', undefined],
  ['timeout', undefined],
  ['hung', undefined],
  ['headers', undefined],
  ['readable', undefined],
  ['ends_after', undefined],
])

/** The wire data of a call without the content of its texts. */
interface FlatNote extends Omit<ExchangeNote, 'response' | 'request'> {
  response?: KeptBytes['coded'] | undefined
  responseBytes?: number | undefined
  request?: KeptBytes['coded'] | undefined
  requestBytes?: number | undefined
}
const FLAT = packing<FlatNote>([
  ['address', undefined],
  ['headers', undefined],
  ['times', undefined],
  ['response', undefined],
  ['responseBytes', undefined],
  ['request', undefined],
  ['requestBytes', undefined],
  ['ended', undefined],
  ['nothing', undefined],
  ['dropped', undefined],
  ['received', undefined],
  ['status', undefined],
])

/** The wire data of a call. */
const EXCHANGE: Form<ExchangeNote> = {
  pack({ response, request, ...note }) {
    const sent = { response: response?.coded, responseBytes: response?.bytes }
    return FLAT.pack({ ...note, ...sent, request: request?.coded, requestBytes: request?.bytes })
  },
  unpack(stored) {
    const { response, responseBytes, request, requestBytes, ...note } = FLAT.unpack(stored)
    const sent = response && { response: { coded: response, bytes: responseBytes } }
    return { ...note, ...sent, ...(request && { request: { coded: request, bytes: requestBytes } }) }
  },
}

/** The columns that are needed to read a record. */
export interface RecordRow {
  seq: number
  id: string
  session: string
  started: number
  /** When the call arrived and when its response was sent; null for a call of another process. */
  arrived: number | null
  left: number | null
  model: string | null
  status: number
  /** Client data, and the rest of the record: two tuples. */
  record: string
}
/** The columns of a `RecordRow`, for SQL. */
export const RECORD_COLUMNS = 'seq, id, session, started, arrived, left, model, status, record'

/** A whole row. */
export interface TraceRow extends RecordRow {
  /** Traces up to this number are hidden once this is the newest one. */
  hidden: number
  /** The id of its thread. */
  thread: string | null
  request: string
  /** Null if the rendered request equals the received one. */
  rendered: string | null
  answer: string
  exchange: string | null
  /** Size of its texts that are stored elsewhere (long-texts.ts); null if there are none. */
  apart: number | null
}
/** All columns. */
export const TRACE_COLUMNS = [
  ...RECORD_COLUMNS.split(', '),
  ...['hidden', 'thread', 'request', 'rendered', 'answer', 'exchange', 'apart'],
] as (keyof TraceRow)[]
/** The values of these columns, in order. */
export function columnValues(row: TraceRow): unknown[] {
  const values: unknown[] = []
  for (const name of TRACE_COLUMNS) values.push(row[name])
  return values
}

/** A record with its client data, as stored beside the columns. */
export const packedRecord = (trace: TraceRecord, client: ClientNote | null | undefined): string =>
  JSON.stringify([client ? CLIENT.pack(client) : null, TRACE.pack(trace)])
/** The id of the thread of a call. */
export const threadOf = ({ thread }: TraceRecord): string | null => (typeof thread?.id === 'string' ? thread.id : null)

/**
 * The wire data of a call: JSON, which has no line end, and after one the texts of the response, of which the JSON has
 * the lengths, below zero. As JSON, the events of a stream would take several times as long: they are full of quotes.
 */
function textOf(exchange: ExchangeNote): string {
  const { response } = exchange
  if (!response) return JSON.stringify(EXCHANGE.pack(exchange))
  let texts = ''
  const coded = response.coded.map((part) => {
    if (typeof part === 'number') return part
    texts += part
    return -1 - part.length
  })
  return `${JSON.stringify(EXCHANGE.pack({ ...exchange, response: { ...response, coded } }))}\n${texts}`
}

const COMMON = new Map([KNOWN, DROPPED].map((exchange) => [exchange, textOf(exchange)]))
/** The stored wire data of a call. */
export const packedExchange = (exchange: ExchangeNote): string => COMMON.get(exchange) ?? textOf(exchange)
/** @throws Error if it is invalid */
export function unpackedExchange(packed: string): ExchangeNote {
  const end = packed.indexOf('\n')
  if (end < 0) return EXCHANGE.unpack(JSON.parse(packed))
  const { response, ...note } = EXCHANGE.unpack(JSON.parse(packed.slice(0, end)))
  let from = end + 1
  const coded = response?.coded.map((part) => {
    if (typeof part !== 'number' || part >= 0) return part
    const begin = from
    from += -1 - part
    return packed.slice(begin, from)
  })
  if (!coded || from !== packed.length) throw new Error('the texts of its response are not complete')
  return { ...note, response: { ...response, coded } }
}

/** JSON of a rendered request that equals the received one. */
export const AS_IT_CAME = 'null'

type Usage = TraceRecord['usage']
/** The text before the usage of a response that ends with it, as most do. */
const BEFORE = '"usage":'

/**
 * A response as stored: one that ends with the usage of its record ends with a comma instead, which is no valid JSON.
 */
export function withoutUsage(answer: string, usage: Usage): string {
  if (!usage) return answer
  const text = JSON.stringify(usage)
  // Compared in parts, since a joined text would have to be created.
  const end = answer.length - 1
  const begin = end - text.length
  if (!answer.endsWith('}') || !answer.endsWith(text, end) || !answer.endsWith(`,${BEFORE}`, begin)) return answer
  return answer.slice(0, begin - BEFORE.length)
}
/** The original response. */
export const withUsage = (stored: string, usage: Usage): string =>
  stored.endsWith(',') ? `${stored}${BEFORE}${JSON.stringify(usage)}}` : stored

/**
 * The record of a row, and its notes.
 * @throws DamagedRow 507 if the row is invalid
 */
export const unpackedRow = (row: RecordRow, database: DatabaseName) =>
  readRow(database, { table: 'trace_rows', row: row.seq }, () => {
    const { id, session, model, status, started, arrived, left } = row
    const columns = { id, session, model, status, started_at: new Date(started).toISOString() }
    const [client, record]: unknown[] = JSON.parse(row.record)
    const trace = TRACE.unpack(record, columns)
    checkFields('its record', trace, OF_TRACE)
    for (const attempt of trace.attempts) checkFields('an attempt of its record', attempt, OF_ATTEMPT)
    const notes = { arrived, left, client: client === null ? null : CLIENT.unpack(client) }
    checkFields('its notes', notes, OF_NOTES)
    return { trace, notes }
  })

/** The columns of traces in snapshots. */
export interface NamedRow extends Omit<TraceRow, 'session' | 'hidden' | 'record' | 'rendered' | 'exchange'> {
  record: TraceRecord
  rendered: string
  /** JSON of the client data. */
  client: string | null
  /** The stored wire data. */
  exchange?: string | null
}

/**
 * A row for a snapshot.
 * @throws DamagedRow 507 if the row is invalid
 */
export function namedRow(row: TraceRow, database: DatabaseName): NamedRow {
  const { seq, id, started, model, status, thread, request, rendered, exchange, apart } = row
  const { trace, notes } = unpackedRow(row, database)
  const { arrived, left, client } = notes
  const texts = { request, rendered: rendered ?? AS_IT_CAME, answer: withUsage(row.answer, trace.usage) }
  const known = { seq, id, started, model, status, thread, record: trace, ...texts, apart }
  const named = { ...known, arrived, left, client: client && JSON.stringify(client) }
  return exchange === null ? named : { ...named, exchange }
}

/** The row of a trace in a snapshot. Optional columns default to null. */
export function rowOfNamed(named: NamedRow): TraceRow {
  const { seq, started, model, status, request, record: trace, client, exchange } = named
  const { arrived = null, left = null, thread = null, apart = null } = named
  return {
    ...{ seq, id: trace.id, session: trace.session, hidden: 0, started, arrived, left, model, status, thread, apart },
    record: packedRecord(trace, client == null ? null : JSON.parse(client)),
    request,
    rendered: named.rendered === AS_IT_CAME ? null : named.rendered,
    answer: withoutUsage(named.answer, trace.usage),
    exchange: exchange ?? null,
  }
}

type FieldCheck = (value: unknown) => boolean
const isText: FieldCheck = (value) => typeof value === 'string'
const isNumber: FieldCheck = (value) => typeof value === 'number' && Number.isFinite(value)
const listOf =
  (item: FieldCheck): FieldCheck =>
  (value) =>
    Array.isArray(value) && value.every(item)
const maybe =
  (check: FieldCheck): FieldCheck =>
  (value) =>
    value == null || check(value)
const fieldChecks = (checks: Record<string, FieldCheck>): [string, FieldCheck][] => Object.entries(checks)

/**
 * Checks of the fields that are parsed wherever traces are judged or shown; the whole schema would take ten times as
 * long.
 */
const OF_TRACE = fieldChecks({
  ...{ id: isText, session: isText, operation: isText, name: isText, outcome: isText },
  ...{ model: maybe(isText), status: isNumber, duration_ms: maybe(isNumber), plan: listOf(isText) },
  attempts: listOf(isObject),
  ...{ faults: listOf(isText), guardrails: listOf(isObject), retrievals: listOf(isObject) },
  ...{ attachments: listOf(isObject), cache: maybe(isObject), usage: maybe(isObject), cost: maybe(isNumber) },
  ...{ error: maybe(isObject), thread: maybe(isObject), identity: maybe(isObject), metadata: maybe(isObject) },
  ...{ parent: maybe(isText), scenario: maybe(isText), fixture: maybe(isText), call_site: maybe(isText) },
  ...{ retry_after_ms: maybe(isNumber), task: maybe(isObject), assumed: maybe(isObject), instance: maybe(isText) },
})
const OF_ATTEMPT = fieldChecks({
  ...{ target: isText, position: isNumber, number: isNumber, outcome: isText, status: isNumber, duration_ms: isNumber },
  ...{ started_ms: isNumber, wait_ms: isNumber, first_content_ms: maybe(isNumber), error: maybe(isText) },
  faults: listOf(isText),
})
const OF_NOTES = fieldChecks({ arrived: maybe(isNumber), left: maybe(isNumber) })

function checkFields(what: string, value: object, checks: [string, FieldCheck][]): void {
  for (const [name, check] of checks)
    if (!check(Reflect.get(value, name))) throw new Error(`${what} has a wrong '${name}'`)
}
