// The fields of trace rows: their defaults, and their packed formats. Positions in these tables are positions in the
// rows of every file, so a change of them is a new version of the schema (schema-sql.ts).
import type { ExchangeNote, KeptBytes } from '../contract/core/exchange-note.ts'
import type { ClientNote } from '../contract/core/finding.ts'
import type { AttemptRecord, TraceRecord } from '../contract/core/trace.ts'
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
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

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
export const TRACE = packing<TraceRecord>([
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
  ['headers', undefined],
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
export const EXCHANGE: Form<ExchangeNote> = {
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
