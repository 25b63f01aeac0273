// Puts a reply on the wire.
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

// Large, and of use to broken answers alone.
const http = lazy<typeof import('node:http')>(() => require('node:http'))

/** The headers of a whole answer, and of a stream of events. */
export const JSON_BODY = { 'content-type': 'application/json' }
/** The headers of a stream of server-sent events. */
export const EVENT_STREAM = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }

/** Who hears a reply. */
export interface Client {
  /** Its bare connection, when there is a hold on it. */
  connection?: Connection | undefined
  /** Longest that it may read nothing of a stream, in ms. */
  clientTimeout?: number
  /** Is told when it waits for the next piece of a stream. */
  hold?: ConnectionFinder | undefined
}
const CLIENT_TIMEOUT_MS = 120_000

/**
 * A reply as a response; what breaks in it breaks the client's connection.
 * @throws ConnectionFailure when a body breaks before its first byte.
 */
export function toResponse(reply: Reply, client: Client = {}): Response | Promise<Response> {
  const { status, headers, body } = reply
  switch (body.kind) {
    case 'value': {
      if (status === 204) return new Response(null, { status, headers: soundHeaders(headers) })
      const { value, text = JSON.stringify(value) } = body
      client.hold?.leaves?.()
      return new Response(text, { status, headers: soundHeaders({ ...headers, ...JSON_BODY }) })
    }
    case 'events': {
      const { events } = body
      if (isComplete(events)) return putEvents(reply, { first: { value: allEvents(events) } }, client)
      return begun(events).then((coming) => putEvents(reply, coming, client))
    }
    case 'bytes':
      return putBytes(reply, body, client)
    default:
      return body satisfies never
  }
}

const putEvents = ({ status, headers }: Reply, events: Coming<EventBatch>, client: Client): Response =>
  new Response(directStream(events, client, eventChunks), {
    status,
    headers: soundHeaders({ ...headers, ...EVENT_STREAM }),
  })

/** What is put on the wire as one chunk, in parts. */
type Chunk = readonly Uint8Array[]
const eventChunks = (batch: EventBatch): Chunk[] => batch.map((event) => event.bytes())
const onePiece = (piece: Uint8Array): Chunk[] => [[piece]]

async function putBytes(reply: Reply, { bytes, contentType, announced }: BytesBody, client: Client): Promise<Response> {
  const { status, raw } = reply
  const { connection } = client
  const headers = raw
    ? passedHeaders(reply, contentType)
    : soundHeaders({ ...reply.headers, 'content-type': contentType })
  if (announced === undefined) {
    if (!(bytes instanceof Uint8Array)) {
      // A provider's own head leaves as soon as its first piece is there, and by itself where none comes.
      const pieces = raw ? await begunSoon(bytes) : await begun(bytes)
      return new Response(directStream(pieces, client, onePiece), { status, headers })
    }
    client.hold?.leaves?.()
    return new Response(bytes as Uint8Array<ArrayBuffer>, { status, headers })
  }
  if (!connection)
    return new Response(directStream(await begun(cutShort(bytes)), client, onePiece), { status, headers })
  // The server would correct a length that is not kept, so this answer is written by hand.
  const { first, source } = await begun(piecesOf(bytes))
  const own = headers instanceof Headers ? [...headers] : Object.entries(headers)
  const fields = [...own, ['content-length', announced], ['connection', 'close']]
  const head = [
    `HTTP/1.1 ${status} ${http().STATUS_CODES[status] ?? ''}`,
    ...fields.map(([name, value]) => `${name}: ${value}`),
  ]
  await connection.write(encoder.encode(`${head.join('\r\n')}\r\n\r\n`))
  for (let step = first; !step.done; step = source ? await source.next() : OVER) await connection.write(step.value)
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

/** A provider's own headers, whatever they hold, beside ours, which any client can read. */
function passedHeaders({ headers: given, cookies = [] }: Reply, contentType: string): Headers | Record<string, string> {
  const readable: Record<string, string> = {}
  for (const name in given)
    readable[name] = name.startsWith('x-understudy-') ? headerText(given[name] ?? '') : (given[name] ?? '')
  if (contentType !== '') readable['content-type'] = contentType
  if (cookies.length === 0) return readable
  const headers = new Headers(readable)
  for (const cookie of cookies) headers.append('set-cookie', cookie)
  return headers
}

/** Items on their way, of which the first is there or was asked for. */
interface Coming<Item> {
  first?: IteratorResult<Item>
  /** It, where it was asked for and has not come. */
  next?: Promise<IteratorResult<Item>>
  /** What follows; absent when there is nothing. */
  source?: AsyncIterator<Item>
}
const OVER: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** The items once the first has come: the server cannot take back a head that it has begun. */
async function begun<Item>(items: AsyncIterable<Item>) {
  const source = items[Symbol.asyncIterator]()
  return { first: await source.next(), source }
}

/** The items; where the first comes in this turn, it leaves in one packet with the head. */
async function begunSoon<Item>(items: AsyncIterable<Item>): Promise<Coming<Item>> {
  const source = items[Symbol.asyncIterator]()
  const coming = source.next()
  // What breaks instead of it breaks behind the head.
  const come = await Promise.race([coming.catch(() => undefined), nextTurn()])
  return come ? { first: come, source } : { next: coming, source }
}

/**
 * The one way in which pieces reach a client's connection. Bun's direct stream puts every flush on the
 * wire as a chunk of its own; what is written before the first wait leaves in one packet with the head.
 */
function directStream<Item>(
  { first, next, source }: Coming<Item>,
  { connection, clientTimeout = CLIENT_TIMEOUT_MS, hold }: Client,
  chunksOf: (item: Item) => readonly Chunk[],
): ReadableStream {
  const waitedFor = (step: Promise<IteratorResult<Item>>) => hold?.waitsFor?.(step) ?? step
  return new ReadableStream({
    type: 'direct',
    async pull(controller: ReadableStreamDirectController) {
      let sent = false
      let over = sliceEnd()
      try {
        let step = first ?? (next ? await waitedFor(next) : OVER)
        for (; !step.done; step = source ? await waitedFor(source.next()) : OVER) {
          for (const chunk of chunksOf(step.value)) {
            sent = true
            for (const part of chunk) {
              // A promise when more is waiting than the connection takes: nothing is made until the client has read.
              const written: number | Promise<number> = controller.write(part)
              if (typeof written !== 'number') await within(written, clientTimeout, UNREAD_RESPONSE)
            }
            const flushed: number | Promise<number> = controller.flush()
            if (typeof flushed !== 'number') await flushed
          }
          // A client that reads fast enough would have the loop for itself.
          if (source && over()) {
            await nextTurn()
            over = sliceEnd()
          }
        }
      } catch (error) {
        // Whoever makes the items learns that nobody receives the rest, as by the end of a loop.
        await source?.return?.().catch(() => {})
        // A reset overtakes what the client has not read yet: without a pause it would lose some of it, by chance.
        if (sent) {
          const peer = hold?.peer?.()
          if (peer !== undefined) await allRead(peer)
          await realClock.sleep(PAUSE_BEFORE_END_MS)
          // A client in this process may have had no turn, where that was busy all the time.
          for (const _ of TURNS) await nextTurn()
        }
        await breakOff(error, connection)
      }
      // From here on the connection is unused: before, nobody knew how long a silence in the answer lasts.
      hold?.leaves?.()
      controller.close()
    },
  } as unknown as UnderlyingDefaultSource)
}

/** Real time between the last byte of an answer and the end of its connection that a failure brings. */
const PAUSE_BEFORE_END_MS = 50
/** In the second, what has come meanwhile is read. */
const TURNS = [1, 2]

const UNREAD_RESPONSE: TimeoutErrors = {
  late: () => new ConnectionFailure('the client did not read its response in time (--client-timeout)'),
}

/** Ends the client's connection as the failure says; without a hold on it, an error of the stream resets it. */
async function breakOff(error: unknown, connection: Connection | undefined): Promise<void> {
  if (!(error instanceof ConnectionFailure) || !connection) throw error
  if (error.how === 'reset') return connection.reset()
  if (error.how === 'garbled') await connection.write(NO_CHUNK_SIZE)
  connection.close()
}

/** A failure in place of an answer: not one byte of HTTP is sent. */
export async function putNothing(failure: ConnectionFailure, connection: Connection | undefined): Promise<Response> {
  try {
    await breakOff(failure, connection)
    return sentByHand(NEVER_SENT(), null)
  } catch (error) {
    const broken = { type: 'direct', pull: () => Promise.reject(error) } as unknown as UnderlyingDefaultSource
    return sentByHand(new Response(new ReadableStream(broken)), null)
  }
}

const encoder = new TextEncoder()
const NO_CHUNK_SIZE = encoder.encode('no chunk size\r\n')
/** What the server is given for a connection that is closed already. */
const NEVER_SENT = () => new Response(null)

const byHand = new WeakMap<Response, number | null>()
function sentByHand(response: Response, status: number | null): Response {
  byHand.set(response, status)
  return response
}
/** The status that leaves with a response: that of one whose head was written past the server; null where the connection ends without one. */
export const sentStatus = (response: Response): number | null => {
  const status = byHand.get(response)
  return status === undefined ? response.status : status
}
