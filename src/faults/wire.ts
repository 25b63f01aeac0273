// The wire form of a reply, for faults that cut, change or slice what is really sent.
import type { BytesBody, EventsBody, Reply } from '../contract/reply.ts'
import { DONE_EVENT, encodeEvent, type StreamEvent } from '../lib/sse.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** One server-sent event as text, blank line included. */
export interface Block {
  text: string
  /** Its data parsed, undefined when it is no JSON (the end mark, a comment). */
  data?: unknown
  /** Whether it carries a part of the answer that a reader sees. */
  content: boolean
}

/** Whether a block is the end mark. */
export const isDone = ({ text }: Block): boolean => /^data: ?\[DONE\]\s*$/.test(text)

/** A reply with the bytes of its whole body. */
export async function wholeBytes(reply: Reply): Promise<{ contentType: string; bytes: Uint8Array }> {
  const { body } = reply
  if (body.kind === 'value') {
    return { contentType: 'application/json', bytes: encoder.encode(body.text ?? JSON.stringify(body.value)) }
  }
  const { contentType, bytes } = streamBytes(reply)
  if (bytes instanceof Uint8Array) return { contentType, bytes }
  const chunks: Uint8Array[] = []
  for await (const chunk of bytes) chunks.push(chunk)
  return { contentType, bytes: Buffer.concat(chunks) }
}

/** A reply's body as bytes that come in their own time. */
export function streamBytes({ body }: Reply): BytesBody {
  if (body.kind === 'bytes') return body
  if (body.kind === 'value') {
    const bytes = encoder.encode(body.text ?? JSON.stringify(body.value))
    return { kind: 'bytes', contentType: 'application/json', bytes }
  }
  return { kind: 'bytes', contentType: 'text/event-stream; charset=utf-8', bytes: streamOf(encoded(body)) }
}

async function* encoded(body: EventsBody): AsyncGenerator<Uint8Array> {
  for await (const event of marked(body)) yield encoder.encode(encodeEvent(event))
}

/** The events with their end mark. */
async function* marked({ events, marked }: EventsBody): AsyncGenerator<StreamEvent> {
  yield* events
  if (!marked) yield DONE_EVENT
}

/** A stream of what a generator yields; its error errors the stream, a cancelled stream ends it. */
export function streamOf(source: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await source.next()
        if (done) controller.close()
        else controller.enqueue(value)
      } catch (error) {
        controller.error(error)
      }
    },
    async cancel() {
      await source.return(undefined)
    },
  })
}

/** Whether a reply is a stream of events. */
export const isStream = ({ status, body }: Reply): boolean =>
  body.kind === 'events' || (body.kind === 'bytes' && status === 200 && /^text\/event-stream/i.test(body.contentType))

/** The reply with its events, the end mark included, replaced by what `change` makes of them. */
export function mapBlocks(reply: Reply, change: (blocks: AsyncGenerator<Block>) => AsyncGenerator<string>): Reply {
  const bytes = async function* () {
    for await (const text of change(blocksOf(reply))) yield encoder.encode(text)
  }
  return {
    ...reply,
    body: { kind: 'bytes', contentType: 'text/event-stream; charset=utf-8', bytes: streamOf(bytes()) },
  }
}

async function* blocksOf({ body }: Reply): AsyncGenerator<Block> {
  if (body.kind === 'events') {
    for await (const event of marked(body)) {
      yield { text: encodeEvent(event), data: event.data, content: (event.tokens ?? 0) > 0 }
    }
    return
  }
  if (body.kind === 'value') return
  let pending = ''
  const source = body.bytes instanceof Uint8Array ? [body.bytes] : body.bytes
  for await (const chunk of source) {
    pending += decoder.decode(chunk, { stream: true })
    const parts = pending.split(/(?<=\r?\n\r?\n)/)
    pending = /\n\r?\n$/.test(parts.at(-1) ?? '') ? '' : (parts.pop() ?? '')
    yield* parts.map(blockOf)
  }
  if (pending !== '') yield blockOf(pending)
}

function blockOf(text: string): Block {
  const line = text
    .split(/\r?\n/)
    .filter((one) => one.startsWith('data:'))
    .map((one) => one.slice(5).trim())
    .join('\n')
  try {
    const data: unknown = JSON.parse(line)
    return { text, data, content: true }
  } catch {
    return { text, content: false }
  }
}
