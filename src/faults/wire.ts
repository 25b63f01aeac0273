// The bytes and events of a reply, for faults that change what is sent.
import type { Operation } from '../contract/core/operation.ts'
import type { BytesBody, EventsBody, Reply } from '../contract/core/reply.ts'
import {
  DONE_EVENT,
  dataEvent,
  type EventBatch,
  encodeEvent,
  eventOfType,
  type SseBlock,
  type StreamEvent,
  sseBytesReader,
} from '../lib/sse.ts'
import { asObject, type JsonObject, parsedJson } from '../lib/values.ts'

const encoder = new TextEncoder()

/** One server-sent event, the end mark, or a comment. */
export interface EventBlock {
  kind: 'event' | 'done' | 'comment'
  /** Its bytes on the wire, including the blank line. */
  bytes: Uint8Array
  /** Name of the event. */
  event?: string | undefined
  /** Its data, if that is an object. */
  data?: Record<string, unknown> | undefined
  /** Whether it has content of the response. */
  content: boolean
  /** Its number of response tokens. Events of a real provider with content count as 1. */
  tokens: number
}

/**
 * The reply with changes. Its usage is read from the original reply when needed, since a stream sets it late.
 * @example
 * import { valueReply } from '../contract/core/reply.ts'
 * changed(valueReply(1), { headers: { 'x-a': 'b' } }).headers // => { 'x-a': 'b' }
 */
export const changed = (reply: Reply, change: Partial<Pick<Reply, 'headers' | 'body'>>): Reply => ({
  ...reply,
  ...change,
  get usage() {
    return reply.usage
  },
})

/** The reply with other bytes as its body, of the same content type. */
export const withBytes = (reply: Reply, bytes: BytesBody['bytes'], contentType = contentTypeOf(reply)): Reply =>
  changed(reply, { body: { kind: 'bytes', contentType, bytes } })

const contentTypeOf = ({ body }: Reply): string =>
  body.kind === 'bytes' ? body.contentType : body.kind === 'value' ? 'application/json' : EVENT_STREAM

/** Whether a reply has a success status. */
export const isAnswer = ({ status }: Reply): boolean => status >= 200 && status <= 299

/**
 * Whether a reply is a stream of events.
 * @example
 * import { valueReply } from '../contract/core/reply.ts'
 * isStream(valueReply(1)) // => false
 */
export const isStream = ({ body }: Reply): boolean =>
  body.kind === 'events' || (body.kind === 'bytes' && /^text\/event-stream/i.test(body.contentType))

/** All bytes of a reply's body. */
export const wholeBytes = async (reply: Reply): Promise<Uint8Array> =>
  Buffer.concat(await Array.fromAsync(piecesOf(reply)))

/** The JSON value of a reply's body; undefined if it is not JSON. */
export const wholeJson = async (reply: Reply): Promise<unknown> =>
  parsedJson(new TextDecoder().decode(await wholeBytes(reply)))

/** The bytes of a reply's body in pieces, as they arrive. */
export function piecesOf(reply: Reply): Iterable<Uint8Array> | AsyncIterable<Uint8Array> {
  const { bytes } = streamBytes(reply)
  return bytes instanceof Uint8Array ? [bytes] : bytes
}

/**
 * A reply's body as bytes, with the timing of its events.
 * @example
 * import { valueReply } from '../contract/core/reply.ts'
 * streamBytes(valueReply({ a: 1 })).contentType // => 'application/json'
 */
export function streamBytes({ body }: Reply): BytesBody {
  if (body.kind === 'bytes') return withoutHidden(body)
  if (body.kind === 'value') {
    const bytes = encoder.encode(body.text ?? JSON.stringify(body.value))
    return { kind: 'bytes', contentType: 'application/json', bytes }
  }
  return { kind: 'bytes', contentType: EVENT_STREAM, bytes: encoded(body) }
}

/** The body without the events that are hidden from its reader. */
function withoutHidden(body: BytesBody): BytesBody {
  const { bytes, contentType, hides } = body
  if (!hides) return body
  const reader = sseBytesReader()
  const shown = (blocks: readonly SseBlock[]) =>
    blocks
      .filter(({ event }) => !(event && hides(decoded(event.data))))
      .map(({ text }) => text)
      .join('')
  const visible = async function* () {
    for await (const piece of bytes instanceof Uint8Array ? [bytes] : bytes) {
      const text = shown(reader.read(piece))
      if (text !== '') yield bytesOf(text)
    }
    const last = shown(reader.end())
    if (last !== '') yield bytesOf(last)
  }
  return { kind: 'bytes', contentType, bytes: visible() }
}

// The reader of bytes has one character per byte.
const bytesOf = (text: string): Uint8Array => Buffer.from(text, 'latin1')
const decoded = (text: string): string => Buffer.from(text, 'latin1').toString()

const EVENT_STREAM = 'text/event-stream; charset=utf-8'

async function* encoded(body: EventsBody): AsyncGenerator<Uint8Array> {
  for await (const event of marked(body)) yield encoder.encode(encodeEvent(event))
}

/** The events with an end mark. */
async function* marked({ events, marked }: EventsBody): AsyncGenerator<StreamEvent> {
  for await (const batch of events) yield* batch
  if (!marked) yield DONE_EVENT
}

/** What a change sends: the bytes of a block, or a text. */
export type SentPiece = Uint8Array | string

/** Changes the events of a stream. Each piece that it yields is sent separately. */
export type BlockChange = (blocks: AsyncGenerator<EventBlock>) => AsyncGenerator<SentPiece>

/** The reply with its events changed, including the end mark. */
export function mapBlocks(reply: Reply, operation: Pick<Operation, 'events'>, change: BlockChange): Reply {
  const bytes = async function* () {
    const blocks = blocksOf(reply, operation)
    try {
      for await (const piece of change(blocks)) yield typeof piece === 'string' ? encoder.encode(piece) : piece
    } finally {
      await blocks.return(undefined)
    }
  }
  return withBytes(reply, bytes())
}

async function* blocksOf(reply: Reply, { events: rules }: Pick<Operation, 'events'>): AsyncGenerator<EventBlock> {
  if (reply.body.kind === 'events') {
    for await (const event of marked(reply.body)) yield blockOfEvent(event, rules)
    return
  }
  const reader = sseBytesReader()
  for await (const piece of piecesOf(reply)) {
    for (const block of reader.read(piece)) yield blockOfBytes(block, rules)
  }
  for (const block of reader.end()) yield blockOfBytes(block, rules)
}

/** The reply with a value or events instead of bytes. Error replies are not changed. */
export async function unpacked(reply: Reply): Promise<Reply> {
  if (reply.body.kind !== 'bytes' || !isAnswer(reply)) return reply
  if (isStream(reply)) return changed(reply, { body: { kind: 'events', events: eventsIn(reply), marked: true } })
  const value = await wholeJson(reply)
  return value === undefined ? reply : changed(reply, { body: { kind: 'value', value } })
}

async function* eventsIn(reply: Reply): AsyncGenerator<EventBatch> {
  for await (const { kind, event, data } of blocksOf(reply, {}))
    if (kind === 'done') yield [DONE_EVENT]
    else if (data) yield [dataEvent(data, { event })]
}

const COMMENT = { kind: 'comment', content: false, tokens: 0 } as const

function blockOfEvent(event: StreamEvent, rules: Operation['events']): EventBlock {
  const bytes = encoder.encode(encodeEvent(event))
  if (event.text === DONE_EVENT.text) return { ...COMMENT, kind: 'done', bytes }
  return blockOfData({ bytes, event: event.event, data: event.data as JsonObject, tokens: event.tokens }, rules)
}

function blockOfBytes({ text, event }: SseBlock, rules: Operation['events']): EventBlock {
  const bytes = bytesOf(text)
  if (!event) return { ...COMMENT, bytes }
  if (event.data === DONE_EVENT.text) return { ...COMMENT, kind: 'done', bytes }
  const name = event.event && decoded(event.event)
  return blockOfData({ bytes, event: name, data: asObject(parsedJson(decoded(event.data))) }, rules)
}

type BlockData = Pick<EventBlock, 'bytes' | 'event' | 'data'> & Partial<Pick<StreamEvent, 'tokens'>>

function blockOfData({ bytes, event, data, tokens }: BlockData, rules: Operation['events']): EventBlock {
  const content = data !== undefined && (rules?.hasContent(data) ?? false)
  const kind = data && rules?.ends?.(data) ? 'done' : 'event'
  return { kind, bytes, event, data, content, tokens: tokens ?? Number(content) }
}

/** The text of a block with other data, given as a value or as text. */
export const rewritten = ({ event }: EventBlock, data: unknown, text?: string): string =>
  encodeEvent({ event, text: text ?? JSON.stringify(data) })

/** The text of an event, named by its type if it has one. */
export const eventText = (data: object): string => encodeEvent(eventOfType(data))

/** Stops a reply whose body is not needed. */
export async function discard(reply: Reply): Promise<void> {
  for await (const _ of piecesOf(reply)) break
}
