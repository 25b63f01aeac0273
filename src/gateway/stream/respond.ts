// Sends a reply to its client.
import type { Connection, ConnectionFinder } from '../../contract/core/connection.ts'
import { type BytesBody, ConnectionFailure, type Reply } from '../../contract/core/reply.ts'
import { nextTurn } from '../../lib/bare-socket.ts'
import { realClock } from '../../lib/clock.ts'
import { headerText, soundHeaders } from '../../lib/header-text.ts'
import { lazy } from '../../lib/lazy.ts'
import { sliceEnd } from '../../lib/slices.ts'
import { allEvents, type EventBatch, isComplete } from '../../lib/sse.ts'
import { type TimeoutErrors, within } from '../../lib/timeout.ts'
import { allRead } from '../../lib/unread-bytes.ts'
import { PAUSE_BEFORE_END_MS } from './sent-end.ts'

// Large, and needed only for broken responses.
const http = lazy<typeof import('node:http')>(() => require('node:http'))

/** The headers of a whole JSON response. */
export const JSON_BODY = { 'content-type': 'application/json' }
/** The headers of a stream of server-sent events. */
export const EVENT_STREAM = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }

/** The client of a reply. */
export interface Client {
  /** Its raw connection, when it was found before. */
  connection?: Connection | undefined
  /** How long it may stop reading a stream, in ms. */
  clientTimeout?: number
  /** Is notified when the client waits for the next piece of a stream. */
  hold?: ConnectionFinder | undefined
}
const CLIENT_TIMEOUT_MS = 120_000

/**
 * Turns a reply into a response; an error in its body breaks the client's connection.
 * @throws ConnectionFailure when a body breaks before its first byte.
 */
export function toResponse(reply: Reply, client: Client = {}): Response | Promise<Response> {
  const { status, headers, body } = reply
  switch (body.kind) {
    case 'value': {
      if (status === 204) return new Response(null, { status, headers: soundHeaders(headers) })
      const { value, text = JSON.stringify(value) } = body
      client.hold?.leaves?.()
      return responseWith(text, { status, headers: { ...headers, ...JSON_BODY } })
    }
    case 'events': {
      const { events } = body
      if (isComplete(events)) return putEvents(reply, { first: { value: allEvents(events) } }, client)
      return begun(events).then((pending) => putEvents(reply, pending, client))
    }
    case 'bytes':
      return putBytes(reply, body, client)
    default:
      return body satisfies never
  }
}

const putEvents = ({ status, headers }: Reply, events: PendingItems<EventBatch>, client: Client): Response =>
  responseWith(directStream(events, client, eventChunks), { status, headers: { ...headers, ...EVENT_STREAM } })

/** A response with these headers: a provider's as they are, any others readable for every client. */
const responseWith = (
  body: BodyInit | null,
  { status, headers, raw }: Pick<Reply, 'status' | 'headers' | 'raw'>,
): Response => new Response(body, { status, headers: raw ? headers : soundHeaders(headers) })

/** One chunk on the wire, in parts. */
type Chunk = readonly Uint8Array[]
const eventChunks = (batch: EventBatch): Chunk[] => batch.map((event) => event.bytes())
const onePiece = (piece: Uint8Array): Chunk[] => [[piece]]

function putBytes(reply: Reply, body: BytesBody, client: Client): Response | Promise<Response> {
  const { status, raw, cookies } = reply
  const { bytes, contentType, announced } = body
  const headers = raw ? passedHeaders(reply, contentType) : { ...reply.headers, 'content-type': contentType }
  const responseOf = (sent: BodyInit) => withCookies(responseWith(sent, { status, headers, raw }), cookies)
  if (announced !== undefined) return putCutShort({ ...body, announced }, { reply, headers, responseOf }, client)
  if (bytes instanceof Uint8Array) {
    client.hold?.leaves?.()
    return responseOf(bytes as Uint8Array<ArrayBuffer>)
  }
  // A provider's own headers are sent with its first piece. Bun ends the headers only then, even if it begins them.
  return (raw ? begunSoon(bytes) : begun(bytes)).then((pieces) => responseOf(directStream(pieces, client, onePiece)))
}

/** Puts a body that is shorter than announced. */
async function putCutShort(
  { bytes, announced }: BytesBody & { announced: number },
  {
    reply: { status, raw, cookies = [] },
    headers,
    responseOf,
  }: { reply: Reply; headers: Record<string, string>; responseOf(sent: BodyInit): Response },
  client: Client,
): Promise<Response> {
  const { connection } = client
  if (!connection) return responseOf(directStream(await begun(cutShort(bytes)), client, onePiece))
  // The server would correct the wrong length, so this response is written to the connection directly.
  const { first, source } = await begun(piecesOf(bytes))
  const fields = [
    ...Object.entries(raw ? headers : soundHeaders(headers)),
    ...cookies.map((cookie) => ['set-cookie', cookie]),
    ['content-length', announced],
    ['connection', 'close'],
  ]
  const head = [
    `HTTP/1.1 ${status} ${http().STATUS_CODES[status] ?? ''}`,
    ...fields.map(([name, value]) => `${name}: ${value}`),
  ]
  await connection.write(encoder.encode(`${head.join('\r\n')}\r\n\r\n`))
  for (let step = first; !step.done; step = source ? await source.next() : DONE) await connection.write(step.value)
  connection.close()
  return sentByHand(NEVER_SENT(), status)
}

async function* piecesOf(bytes: BytesBody['bytes']): AsyncGenerator<Uint8Array> {
  if (bytes instanceof Uint8Array) yield bytes
  else yield* bytes
}

async function* cutShort(bytes: BytesBody['bytes']): AsyncGenerator<Uint8Array> {
  yield* piecesOf(bytes)
  throw new ConnectionFailure('the connection was reset before the end of the response')
}

/** A provider's own headers unchanged, with ours made readable for every client. */
function passedHeaders({ headers: original }: Reply, contentType: string): Record<string, string> {
  const readable: Record<string, string> = { ...original }
  for (const name in original) if (name.startsWith('x-understudy-')) readable[name] = headerText(original[name] ?? '')
  if (contentType !== '') readable['content-type'] = contentType
  return readable
}

function withCookies(response: Response, cookies: readonly string[] = []): Response {
  for (const cookie of cookies) response.headers.append('set-cookie', cookie)
  return response
}

/** Items of a stream, the first of which has arrived or was requested. */
interface PendingItems<Item> {
  first?: IteratorResult<Item>
  /** The first item, when it was requested and has not arrived. */
  next?: Promise<IteratorResult<Item>>
  /** The source of the other items; absent when there are none. */
  source?: AsyncIterator<Item>
}
const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** The items, once the first has arrived: the server cannot undo headers that it has sent. */
async function begun<Item>(items: AsyncIterable<Item>) {
  const source = items[Symbol.asyncIterator]()
  return { first: await source.next(), source }
}

/** The items; a first one that arrives in this turn is sent in one packet with the headers. */
async function begunSoon<Item>(items: AsyncIterable<Item>): Promise<PendingItems<Item>> {
  const source = items[Symbol.asyncIterator]()
  const pending = source.next()
  // An error of the first item is thrown after the headers.
  const arrived = await Promise.race([pending.catch(() => undefined), nextTurn()])
  return arrived ? { first: arrived, source } : { next: pending, source }
}

/**
 * Writes pieces to a client's connection; all streams use it. Bun's direct stream sends every flush as a chunk of its
 * own. What is written before the first wait shares a packet with the headers.
 */
function directStream<Item>(
  { first, next, source }: PendingItems<Item>,
  client: Client,
  chunksOf: (item: Item) => readonly Chunk[],
): ReadableStream {
  const { clientTimeout = CLIENT_TIMEOUT_MS, hold } = client
  const waitedFor = (step: Promise<IteratorResult<Item>>) => hold?.waitsFor?.(step) ?? step
  return new ReadableStream({
    type: 'direct',
    async pull(controller: ReadableStreamDirectController) {
      // The server may have begun the headers while the first piece is awaited.
      let sent = next !== undefined
      // What is complete is sent in one slice.
      let isSliceOver = source && sliceEnd()
      try {
        let step = first ?? (next ? await waitedFor(next) : DONE)
        for (; !step.done; step = source ? await waitedFor(source.next()) : DONE) {
          for (const chunk of chunksOf(step.value)) {
            sent = true
            for (const part of chunk) {
              // A promise when the connection's buffer is full: nothing is generated until the client has read.
              const written: number | Promise<number> = controller.write(part)
              if (typeof written !== 'number') await within(written, clientTimeout, UNREAD_RESPONSE)
            }
            const flushed: number | Promise<number> = controller.flush()
            if (typeof flushed !== 'number') await flushed
          }
          // A client that reads fast enough would never let other work run.
          if (isSliceOver?.()) {
            await nextTurn()
            isSliceOver = sliceEnd()
          }
        }
      } catch (error) {
        // Tells the source that the rest is not needed, as the end of a loop does.
        await source?.return?.().catch(() => {})
        // A reset discards what the client has not read yet, so a pause comes first.
        if (sent) {
          const peer = hold?.peer?.()
          if (peer !== undefined) await allRead(peer)
          await realClock.sleep(PAUSE_BEFORE_END_MS)
          // A client in this process may have had no turn while the process was busy.
          for (const _ of TURNS) await nextTurn()
        }
        await breakOff(error, client)
      }
      // The connection is idle from here on. Before, a silence in the response could last any time.
      hold?.leaves?.()
      controller.close()
    },
  } as unknown as UnderlyingDefaultSource)
}

/** What arrived during the first turn is read in the second. */
const TURNS = [1, 2]

const UNREAD_RESPONSE: TimeoutErrors = {
  late: () => new ConnectionFailure('the client did not read its response in time (--client-timeout)'),
}

/** Ends the client's connection as the failure requires; without access to it, an error of the stream resets it. */
async function breakOff(error: unknown, { connection: found, hold }: Client): Promise<void> {
  if (!(error instanceof ConnectionFailure)) throw error
  const connection = found ?? (await hold?.find())
  if (!connection) throw error
  if (error.how === 'reset') return connection.reset()
  if (error.how === 'garbled') await connection.write(NO_CHUNK_SIZE)
  connection.close()
}

/** Ends the connection without any byte of HTTP. */
export async function putNothing(failure: ConnectionFailure, client: Client): Promise<Response> {
  try {
    await breakOff(failure, client)
    return sentByHand(NEVER_SENT(), null)
  } catch (error) {
    const broken = { type: 'direct', pull: () => Promise.reject(error) } as unknown as UnderlyingDefaultSource
    return sentByHand(new Response(new ReadableStream(broken)), null)
  }
}

const encoder = new TextEncoder()
const NO_CHUNK_SIZE = encoder.encode('no chunk size\r\n')
/** The response for the server when the connection is already closed. */
const NEVER_SENT = () => new Response(null)

const byHand = new WeakMap<Response, number | null>()
function sentByHand(response: Response, status: number | null): Response {
  byHand.set(response, status)
  return response
}
/** The status that was sent with a response; null when the connection ended without one. */
export const sentStatus = (response: Response): number | null => {
  const status = byHand.get(response)
  return status === undefined ? response.status : status
}
