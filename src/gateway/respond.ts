// Puts a reply on the wire.
import type { Connection, ConnectionFinder } from '../contract/connection.ts'
import { type BytesBody, ConnectionFailure, type Reply } from '../contract/reply.ts'
import { nextTurn } from '../lib/bare-socket.ts'
import { realClock } from '../lib/clock.ts'
import { headerText, soundHeaders } from '../lib/header-text.ts'
import { lazy } from '../lib/lazy.ts'
import { type Reproach, within } from '../lib/patience.ts'
import { responseWith } from '../lib/response-headers.ts'
import { sliceEnd } from '../lib/slices.ts'
import { encodeEvent, type PromptIterable, type PromptIterator } from '../lib/sse.ts'
import { allRead } from '../lib/unread-bytes.ts'
import { WrittenEvents } from '../lib/written-events.ts'
import type { ReadyStream } from './reply-events.ts'

// Large, and of use to broken answers alone.
const http = lazy<typeof import('node:http')>(() => require('node:http'))

/** The headers of a whole answer, and of a stream of events. */
export const JSON_BODY = { 'content-type': 'application/json' }
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
      return responseWith(text, status, { ...headers, ...JSON_BODY })
    }
    case 'events':
      return responseWith(directStream(body.events, client, encodeEvent), status, { ...headers, ...EVENT_STREAM })
    case 'bytes':
      return putBytes(reply, body, client)
    default:
      return body satisfies never
  }
}

/** A stream of which all is there: each event is a chunk of its own, and all leave in one piece. */
export function respondAtOnce(stream: ReadyStream, headers: Record<string, string>, { hold }: Client): Response {
  hold?.leaves?.()
  return responseWith(readyStream(stream), 200, { ...headers, ...EVENT_STREAM })
}

const readyStream = ({ blocks, last }: ReadyStream) =>
  new ReadableStream({
    type: 'direct',
    // No async function: what is written before it returns is held together by the server.
    pull(controller: ReadableStreamDirectController) {
      const put = (block: Piece) => {
        controller.write(block)
        controller.flush()
      }
      if (blocks instanceof WrittenEvents) blocks.write(put)
      else for (const block of blocks) put(block)
      for (const block of last) put(block)
      controller.close()
    },
  } as unknown as UnderlyingDefaultSource)

async function putBytes(reply: Reply, { bytes, contentType, announced }: BytesBody, client: Client): Promise<Response> {
  const { status, raw } = reply
  const { connection } = client
  const headers = raw
    ? passedHeaders(reply, contentType)
    : soundHeaders({ ...reply.headers, 'content-type': contentType })
  const whole = bytes instanceof Uint8Array
  if (whole && announced === undefined) {
    client.hold?.leaves?.()
    return new Response(bytes as Uint8Array<ArrayBuffer>, { status, headers })
  }
  // A provider's own head leaves as soon as its first piece is there, and by itself where none comes.
  const pieces = raw && !whole ? await withHead(bytes) : await begun(whole ? [bytes] : bytes)
  if (announced === undefined) return new Response(directStream(pieces, client), { status, headers })
  if (!connection) return new Response(directStream(broken(pieces), client), { status, headers })
  // The server would correct a length that is not kept, so this answer is written by hand.
  const own = headers instanceof Headers ? [...headers] : Object.entries(headers)
  const fields = [...own, ['content-length', announced], ['connection', 'close']]
  const head = [
    `HTTP/1.1 ${status} ${http().STATUS_CODES[status] ?? ''}`,
    ...fields.map(([name, value]) => `${name}: ${value}`),
  ]
  await connection.write(encoder.encode(`${head.join('\r\n')}\r\n\r\n`))
  for await (const piece of pieces) await connection.write(piece)
  connection.close()
  return sentByHand(NEVER_SENT(), status)
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

/** The same pieces; where the first comes in this turn, it leaves in one packet with the head. */
async function withHead(pieces: AsyncIterable<Uint8Array>): Promise<PromptIterable<Uint8Array>> {
  const source = pieces[Symbol.asyncIterator]()
  const coming = source.next()
  // What breaks instead of it breaks behind the head.
  const come = await Promise.race([coming.catch(() => undefined), nextTurn()])
  let first: IteratorResult<Uint8Array> | Promise<IteratorResult<Uint8Array>> | undefined = come || coming
  const iterator: PromptIterator<Uint8Array> = {
    next() {
      const next = first ?? source.next()
      first = undefined
      return next
    },
    return: async (value) => source.return?.(value) ?? { done: true, value },
  }
  return { [Symbol.asyncIterator]: () => iterator }
}

/** The same pieces once the first has come: the server cannot take back a head that it has begun. */
async function begun(pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<AsyncGenerator<Uint8Array>> {
  const rest = (async function* () {
    yield* pieces
  })()
  const first = await rest.next()
  return (async function* () {
    try {
      if (!first.done) yield first.value
      yield* rest
    } finally {
      await rest.return()
    }
  })()
}

async function* broken(pieces: PromptIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* pieces
  throw new ConnectionFailure('the connection was reset before the promised end of the answer')
}

type Piece = string | Uint8Array

/**
 * Bun's direct stream writes text without copies and puts every flush on the wire as a chunk of its own. An item that cannot be
 * encoded is thrown back at its maker, who tells the client and the trace.
 */
function directStream<Item = Piece>(
  items: Iterable<Item> | PromptIterable<Item>,
  { connection, clientTimeout = CLIENT_TIMEOUT_MS, hold }: Client,
  encode: (item: Item) => Piece = (item) => item as Piece,
): ReadableStream {
  return new ReadableStream({
    type: 'direct',
    async pull(controller: ReadableStreamDirectController) {
      const source = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]()
      let sent = false
      let over = sliceEnd()
      try {
        for (let step = source.next(); ; step = source.next()) {
          // What is there is sent in this turn: a promise would cost more than the event.
          let next = step instanceof Promise ? await (hold?.waitsFor?.(step) ?? step) : step
          let piece: Piece | undefined
          while (!next.done && piece === undefined) {
            try {
              piece = encode(next.value)
            } catch (error) {
              next = await thrownBack(source, error)
            }
          }
          if (piece === undefined) break
          sent = true
          // A promise when more is waiting than the connection takes: nothing is made until the client has read.
          const written: number | Promise<number> = controller.write(piece)
          if (typeof written !== 'number') await within(written, clientTimeout, UNREAD)
          const flushed: number | Promise<number> = controller.flush()
          if (typeof flushed !== 'number') await flushed
          // A client that reads fast enough would have the loop for itself.
          if (over()) {
            await nextTurn()
            over = sliceEnd()
          }
        }
      } catch (error) {
        // Whoever makes the items learns that nobody hears the rest, as by the end of a loop.
        await Promise.resolve(source.return?.(undefined)).catch(() => {})
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

function thrownBack<Item>(source: Iterator<Item> | PromptIterator<Item>, error: unknown) {
  if (!source.throw) throw error
  return source.throw(error)
}

const UNREAD: Reproach = {
  late: () => new ConnectionFailure('the client read nothing of its answer for too long (--client-timeout)'),
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
    return sentByHand(new Response(directStream(failing(error), { connection })), null)
  }
}

// biome-ignore lint/correctness/useYield: it fails before it has anything
async function* failing(error: unknown): AsyncGenerator<never> {
  throw error
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
