// What rows of traces consist of, field by field: what a field usually is, and how it is stored when it is otherwise. A place in
// one of these tables is a place in the rows of every file, so a change of them is a new version of the schema (schema-sql.ts).
import type { ExchangeNote, KeptBytes } from '../contract/core/exchange-note.ts'
import type { ClientNote } from '../contract/core/finding.ts'
import type { AttemptRecord, TraceRecord } from '../contract/core/trace.ts'
import { COLUMN, type Form, packedList, packing } from './packing.ts'

/** Headers that most calls have, whose names are stored as their places here. */
const HEADER_NAMES = [
  'accept',
  'accept-encoding',
  'authorization',
  'connection',
  'content-length',
  'content-type',
  'host',
  'user-agent',
  'x-request-id',
  'x-understudy-trace',
  'x-understudy-instance',
  'x-understudy-session',
  'x-understudy-attempts',
  'x-understudy-fallback',
  'x-understudy-cache',
  'x-understudy-faults',
  'x-understudy-model',
  'x-understudy-assumed',
  'x-understudy-point',
  'x-understudy-fixture',
  'x-understudy-scenario',
  'cache-control',
]
const HEADER_PLACES = new Map(HEADER_NAMES.map((name, place) => [name, place]))

/** Headers as one list of names and values. */
const headers: Form<Record<string, string>> = {
  pack(of) {
    const list: unknown[] = []
    for (const name of Object.keys(of)) list.push(HEADER_PLACES.get(name) ?? name, of[name])
    return list
  },
  unpack(stored) {
    if (!Array.isArray(stored)) throw new Error('it holds no list of headers')
    const names = stored.filter((_, at) => at % 2 === 0)
    const named = names.map((name, at) => [typeof name === 'number' ? HEADER_NAMES[name] : name, stored[at * 2 + 1]])
    return Object.fromEntries(named) as Record<string, string>
  },
}

/** The token counts that most answers have, in the order in which they have them. */
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
/** Names of an object of numbers, and of objects within. */
type Shape = (readonly [name: string, within?: Shape])[]

/** Adds the numbers of an object to a list. False when it is of another shape. */
function addCounts(shape: Shape, of: Record<string, unknown>, counts: number[]): boolean {
  let at = 0
  for (const name in of) {
    const [expected, within] = shape[at++] ?? []
    if (name !== expected) return false
    const value = of[name]
    if (within ? !isObject(value) || !addCounts(within, value, counts) : typeof value !== 'number') return false
    if (!within) counts.push(value as number)
  }
  return at === shape.length
}
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

const withCounts = (shape: Shape, counts: Iterator<unknown>): Record<string, unknown> =>
  Object.fromEntries(shape.map(([name, within]) => [name, within ? withCounts(within, counts) : counts.next().value]))

/** The usual token counts as numbers alone; any other as they are. */
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
  ['why', 'first'],
  ['faults', []],
  ['wait_ms', 0],
  ['started_ms', 0],
  ['first_content_ms', null],
  ['duration_ms'],
  ['outcome', 'answered'],
  ['status', 200],
  ['request_id', null],
  ['error', null],
  ['fixture', undefined],
])

/** The record of a call. */
export const TRACE = packing<TraceRecord>([
  ['id', COLUMN],
  ['session', COLUMN],
  ['instance', undefined],
  ['new_session', undefined],
  ['operation'],
  ['parent', null],
  ['inner', false],
  ['name', ({ operation }) => operation],
  ['point', undefined],
  ['model', COLUMN],
  ['assumed', undefined],
  ['stream', false],
  ['route', 'gateway'],
  ['status', COLUMN],
  ['outcome', 'answered'],
  ['started_at', COLUMN],
  ['duration_ms'],
  ['fixture', null],
  ['synthesized', false],
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

/** What is known of the client of a call. */
export const CLIENT = packing<ClientNote>([
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
  ['headers', undefined, headers],
])

const KEPT = packing<KeptBytes>([['coded'], ['bytes', undefined]])

/** What the connection of a call carried. */
export const EXCHANGE = packing<ExchangeNote>([
  ['headers', undefined, headers],
  ['times', undefined],
  ['response', undefined, KEPT],
  ['address', undefined],
  ['request', undefined, KEPT],
  ['ended', undefined],
  ['nothing', undefined],
  ['dropped', undefined],
  ['received', undefined, headers],
  ['status', undefined],
])
