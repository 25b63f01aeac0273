// The wire form of a reply, for faults that cut, change or slice what is really sent.
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
  sseReader,
} from '../lib/sse.ts'
import { asObject, parsedJson } from '../lib/values.ts'

const encoder = new TextEncoder()

/** One server-sent event, the end mark, or a comment. */
export interface EventBlock {
  kind: 'event' | 'done' | 'comment'
  /** As it is on the wire, blank line included. */
  text: string
  /** Name of the event. */
  event?: string | undefined
  /** Its data, when that is an object. */
  data?: Record<string, unknown> | undefined
  /** Whether it carries a part of the answer that a reader sees. */
  content: boolean
  /** Tokens of the answer in it; one for each event of a real provider that has content. */
  tokens: number
}

/**
 * The reply with something else in it; its counts are those that the real one has by the time they are asked for.
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

/** Whether a reply is an answer at all. */
export const isAnswer = ({ status }: Reply): boolean => status >= 200 && status <= 299

/**
 * Whether a reply is a stream of events.
 * @example
 * import { valueReply } from '../contract/core/reply.ts'
 * isStream(valueReply(1)) // => false
 */
export const isStream = ({ body }: Reply): boolean =>
  body.kind === 'events' || (body.kind === 'bytes' && /^text\/event-stream/i.test(body.contentType))

/** The bytes of a reply's whole body. */
export const wholeBytes = async (reply: Reply): Promise<Uint8Array> =>
  Buffer.concat(await Array.fromAsync(piecesOf(reply)))

/** The bytes of a reply's body, piece by piece as they come. */
export function piecesOf(reply: Reply): Iterable<Uint8Array> | AsyncIterable<Uint8Array> {
  const { bytes } = streamBytes(reply)
  return bytes instanceof Uint8Array ? [bytes] : bytes
}

/**
 * A reply's body as bytes that come in their own time.
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

/** The body as its reader has it: without the events that are no part of the answer. */
function withoutHidden(body: BytesBody): BytesBody {
  const { bytes, contentType, hides } = body
  if (!hides) return body
  const reader = sseReader()
  const textOf = (blocks: readonly SseBlock[]) =>
    encoder.encode(
      blocks
        .filter(({ event }) => !(event && hides(event.data)))
        .map(({ text }) => text)
        .join(''),
    )
  const shown = async function* () {
    for await (const piece of bytes instanceof Uint8Array ? [bytes] : bytes) {
      const left = textOf(reader.read(piece))
      if (left.length > 0) yield left
    }
    const last = textOf(reader.end())
    if (last.length > 0) yield last
  }
  return { kind: 'bytes', contentType, bytes: shown() }
}

const EVENT_STREAM = 'text/event-stream; charset=utf-8'

async function* encoded(body: EventsBody): AsyncGenerator<Uint8Array> {
  for await (const event of marked(body)) yield encoder.encode(encodeEvent(event))
}

/** The events with their end mark. */
async function* marked({ events, marked }: EventsBody): AsyncGenerator<StreamEvent> {
  for await (const batch of events) yield* batch
  if (!marked) yield DONE_EVENT
}

/** What changes the events of a stream: each text that it yields is put on the wire by itself. */
export type BlockChange = (blocks: AsyncGenerator<EventBlock>) => AsyncGenerator<string>

/** The reply with its events, the end mark included, replaced by what `change` makes of them. */
export function mapBlocks(reply: Reply, operation: Pick<Operation, 'events'>, change: BlockChange): Reply {
  const bytes = async function* () {
    const blocks = blocksOf(reply, operation)
    try {
      for await (const text of change(blocks)) yield encoder.encode(text)
    } finally {
      await blocks.return(undefined)
    }
  }
  const { contentType } = streamBytes(reply)
  return changed(reply, { body: { kind: 'bytes', contentType, bytes: bytes() } })
}

async function* blocksOf(reply: Reply, { events: rules }: Pick<Operation, 'events'>): AsyncGenerator<EventBlock> {
  if (reply.body.kind === 'events') {
    for await (const event of marked(reply.body)) yield blockOfEvent(event, rules)
    return
  }
  const reader = sseReader()
  for await (const piece of piecesOf(reply)) {
    for (const block of reader.read(piece)) yield blockOfText(block, rules)
  }
  for (const block of reader.end()) yield blockOfText(block, rules)
}

/** The reply as a value or as events again, when a fault has made bytes of it; those of a refusal stay. */
export async function unpacked(reply: Reply): Promise<Reply> {
  if (reply.body.kind !== 'bytes' || !isAnswer(reply)) return reply
  if (isStream(reply)) return changed(reply, { body: { kind: 'events', events: eventsIn(reply), marked: true } })
  const value = parsedJson(new TextDecoder().decode(await wholeBytes(reply)))
  return value === undefined ? reply : changed(reply, { body: { kind: 'value', value } })
}

async function* eventsIn(reply: Reply): AsyncGenerator<EventBatch> {
  for await (const { kind, event, data } of blocksOf(reply, {}))
    if (kind === 'done') yield [DONE_EVENT]
    else if (data) yield [dataEvent(data, { event })]
}

const COMMENT = { kind: 'comment', content: false, tokens: 0 } as const

function blockOfEvent(event: StreamEvent, rules: Operation['events']): EventBlock {
  const text = encodeEvent(event)
  if (event.text === DONE_EVENT.text) return { ...COMMENT, kind: 'done', text }
  const data = event.data as Record<string, unknown>
  const content = rules?.hasContent(data) ?? false
  return {
    kind: rules?.ends?.(data) ? 'done' : 'event',
    text,
    event: event.event,
    data,
    content,
    tokens: event.tokens ?? Number(content),
  }
}

function blockOfText({ text, event }: SseBlock, rules: Operation['events']): EventBlock {
  if (!event) return { ...COMMENT, text }
  if (event.data === DONE_EVENT.text) return { ...COMMENT, kind: 'done', text }
  const data = objectIn(event.data)
  const content = data !== undefined && (rules?.hasContent(data) ?? false)
  return {
    kind: data && rules?.ends?.(data) ? 'done' : 'event',
    text,
    event: event.event,
    data,
    content,
    tokens: Number(content),
  }
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    return asObject(JSON.parse(text))
  } catch {
    return undefined
  }
}

/** The text of a block with other data, as a value or as the text that it is. */
export const rewritten = ({ event }: EventBlock, data: unknown, text?: string): string =>
  encodeEvent({ event, text: text ?? JSON.stringify(data) })

/** An event as it is on the wire, named by its type where it has one. */
export const eventText = (data: object): string => encodeEvent(eventOfType(data))

/** Stops a reply whose body nobody will hear. */
export async function drop(reply: Reply): Promise<void> {
  for await (const _ of piecesOf(reply)) break
}
