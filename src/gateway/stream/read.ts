// Validates what a provider sent: a truncated, malformed or empty reply is not a response.
import { ApiError } from '../../contract/core/error.ts'
import type { Operation, StreamRules } from '../../contract/core/operation.ts'
import {
  type BytesBody,
  ConnectionFailure,
  type EventsBody,
  type Reply,
  TimedOut,
  Unreadable,
} from '../../contract/core/reply.ts'
import { byteChunks, textOfBytes } from '../../lib/byte-stream.ts'
import { parseInSlices } from '../../lib/json-reading.ts'
import { NestedTooDeep, parseNested } from '../../lib/nesting.ts'
import { networkReason } from '../../lib/network-error.ts'
import { isLarge } from '../../lib/slices.ts'
import {
  DONE_EVENT,
  type EventBatch,
  type EventStream,
  EventTooLong,
  type SseBlock,
  StreamEvent,
  sseReader,
} from '../../lib/sse.ts'
import { type TimeoutErrors, within } from '../../lib/timeout.ts'
import { isObject, parsedJson } from '../../lib/values.ts'
import { errorIn, type ProviderError, readErrorBody } from '../../providers/error-body.ts'
import { attributed } from '../../providers/request-id.ts'
import { quote } from '../../schema/validation.ts'
import { Refusal } from '../outcome.ts'

/** The validated content of a reply. */
export type ReplyContent =
  | { kind: 'whole'; value: unknown; text?: string | undefined }
  | ({ kind: 'stream' } & Pick<EventsBody, 'events' | 'whole'>)

/** The parts of an operation that are needed to read its responses. */
export type AnswerRules = Pick<Operation, 'name' | 'answerName' | 'binary' | 'wrongWith' | 'events'>

/** How a reply is read. */
export interface ReadOptions {
  operation: AnswerRules
  stream: boolean
  signal: AbortSignal
}

/** The reply has a content type of another kind than its API. */
export class OtherType extends Unreadable {
  /** The body. */
  readonly text: string
  constructor(contentType: string, { expected, text }: { expected: string; text: string }) {
    super(`the provider returned content-type ${quote(contentType)} instead of ${expected}`)
    this.text = text
  }
}

const EVENT_STREAM = /^text\/event-stream\s*(;|$)/i
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(;|$)/i
/** Status of an error that a provider sends with status 200. */
const BAD_ANSWER = 502

/** Content that was not sent as bytes, and is valid. */
export const readyContent = (body: Exclude<Reply['body'], BytesBody>): ReplyContent =>
  body.kind === 'value'
    ? { kind: 'whole', value: body.value, text: body.text }
    : { kind: 'stream', events: body.events, whole: body.whole }

/**
 * Validates the content of a reply; synchronous unless the body is bytes. Failures of a stream are thrown while it is
 * read.
 * @throws Refusal, Unreadable, ConnectionFailure
 */
export function read(reply: Reply, reading: ReadOptions): ReplyContent | Promise<ReplyContent> {
  const { body } = reply
  return body.kind === 'bytes' ? readBytes(body, reply, reading) : readyContent(body)
}

// Not async: a promise that is returned by an async function takes two more.
function readBytes(body: BytesBody, reply: Reply, reading: ReadOptions): Promise<ReplyContent> {
  const { status } = reply
  const { operation, stream } = reading
  if (status < 200 || status > 299) return readError(body, reply, reading)
  if (operation.binary) return readBinary(operation.binary, body, { reply, reading })
  if (!stream) return readText(body, reply, reading)
  return EVENT_STREAM.test(body.contentType) ? readStream(body, reply, reading) : readNoStream(body, reply, reading)
}

async function readError(body: BytesBody, reply: Reply, reading: ReadOptions): Promise<never> {
  throw providerFailure(readErrorBody(await textOf(body, reading)), reply, reply.status)
}

async function readBinary(
  binary: NonNullable<Operation['binary']>,
  body: BytesBody,
  { reply, reading }: { reply: Reply; reading: ReadOptions },
): Promise<ReplyContent> {
  const bytes = await bytesOf(body, reading)
  const value = bytes.length > 0 ? binary.decode(bytes, body.contentType) : undefined
  if (value) return { kind: 'whole', value }
  return readWhole(utf8.decode(bytes), body, reply, reading.operation)
}

async function readText(body: BytesBody, reply: Reply, reading: ReadOptions): Promise<ReplyContent> {
  return readWhole(await textOf(body, reading), body, reply, reading.operation)
}

/** The provider's own error; a real provider's name and request id are appended. */
function providerFailure({ message, code, param, type }: ProviderError, reply: Reply, status: number): Refusal {
  const { headers, provider, verbatim } = reply
  const attributedMessage = provider ? attributed(message, provider, headers) : message
  const about = { status, code: code ?? 'provider_error', message: attributedMessage, param: param ?? null, headers }
  return new Refusal(verbatim ? { ...about, type, verbatim } : about)
}

function readWhole(
  text: string,
  { contentType }: BytesBody,
  reply: Reply,
  operation: AnswerRules,
): ReplyContent | Promise<ReplyContent> {
  if (text.trim() === '') throw new Unreadable('the provider returned an empty body')
  if (!JSON_TYPE.test(contentType) && contentType !== '') {
    throw new OtherType(contentType, { expected: 'application/json', text })
  }
  if (isLarge(text)) return parsedInSlices(text, 'the response').then((value) => wholeOf(value, text, reply, operation))
  return wholeOf(parsed(text, 'the response'), text, reply, operation)
}

/** A parsed response, which may be an error. */
function wholeOf(value: unknown, text: string, reply: Reply, operation: AnswerRules): ReplyContent {
  const wrong = operation.wrongWith(value)
  // Some providers put their error elsewhere than in `error`.
  const failed = wrong || (isObject(value) && value.error) ? errorIn(value) : undefined
  if (failed) throw providerFailure(failed, reply, failed.status ?? BAD_ANSWER)
  if (wrong) throw new Unreadable(`the provider's response is not a valid ${operation.answerName}: ${wrong}`)
  return { kind: 'whole', value, text }
}

async function readStream(body: BytesBody, reply: Reply, { operation, signal }: ReadOptions): Promise<ReplyContent> {
  if (!operation.events) throw noStreams(operation)
  const about = { rules: operation.events, answerName: operation.answerName }
  const events = await providerEvents(body, { ...about, signal, readEvent: (block) => readEvent(block, reply, about) })
  return { kind: 'stream', events, whole: undefined }
}
const noStreams = ({ name }: AnswerRules) => new Unreadable(`${name} has no streams`)

/** Reads a reply that should have been a stream. */
async function readNoStream(body: BytesBody, reply: Reply, reading: ReadOptions): Promise<never> {
  if (!reading.operation.events) throw noStreams(reading.operation)
  const text = await textOf(body, reading)
  const failed = errorIn(parsedJson(text))
  if (failed) throw providerFailure(failed, reply, failed.status ?? BAD_ANSWER)
  if (text.trim() === '') throw new Unreadable('the provider returned an empty body')
  throw new OtherType(body.contentType, { expected: 'text/event-stream', text })
}

function readEvent(
  { event: { data: text, event } }: DataBlock,
  reply: Reply,
  { rules, answerName }: { rules: StreamRules; answerName: string },
): StreamEvent {
  const data = parsed(text, 'a chunk')
  if (!isObject(data)) throw new Unreadable(`a chunk of the provider is ${quote(data)}, not an object`)
  const wrong = rules.wrongWith(data)
  // Some providers put their error elsewhere than in `error`.
  const suspect = data.error == null && !wrong ? undefined : data
  const holder = rules.failureIn ? rules.failureIn(data) : suspect
  const failed = holder === undefined ? undefined : errorIn(holder)
  if (failed) throw providerFailure(failed, reply, failed.status ?? BAD_ANSWER)
  if (wrong) throw new Unreadable(`a chunk of the provider is not a valid part of a ${answerName}: ${wrong}`)
  const tokens = rules.hasContent(data) ? 1 : undefined
  return new StreamEvent(text, { event, tokens, multiline: text.includes('\n') }, data)
}

/** Parses JSON; throws `Unreadable`. */
function parsed(text: string, what: string): unknown {
  try {
    return parseNested(text)
  } catch (error) {
    throw notParsed(error, what)
  }
}

/** `parsed` for a large text. */
async function parsedInSlices(text: string, what: string): Promise<unknown> {
  try {
    return await parseInSlices(text)
  } catch (error) {
    throw notParsed(error, what)
  }
}

const notParsed = (error: unknown, what: string) =>
  new Unreadable(
    `${what} of the provider ${error instanceof NestedTooDeep ? '' : 'is not valid JSON: '}${(error as Error).message}`,
  )

const textOf = ({ bytes }: BytesBody, { signal }: ReadOptions): string | Promise<string> =>
  bytes instanceof Uint8Array
    ? utf8.decode(bytes)
    : textOfBytes(bytes).catch((error: unknown) => {
        throw broken(error, signal)
      })
const utf8 = new TextDecoder()

async function bytesOf({ bytes }: BytesBody, reading: ReadOptions): Promise<Uint8Array> {
  try {
    if (bytes instanceof Uint8Array) return bytes
    return Buffer.concat(await Array.fromAsync(bytes))
  } catch (error) {
    throw broken(error, reading.signal)
  }
}

// The events of a provider's stream, read from its bytes up to the end mark: one batch for each piece with events.

/** An SSE block that contains an event. */
type DataBlock = SseBlock & { event: NonNullable<SseBlock['event']> }
const hasEvent = (block: SseBlock): block is DataBlock => block.event !== undefined

/** How the events of a stream are read. */
interface EventReading {
  rules: StreamRules
  /** Aborted when the response is no longer needed. */
  signal: AbortSignal
  /** Reads the event of a block; throws when it is invalid. */
  readEvent(block: DataBlock): StreamEvent
}

/**
 * The events of a body, once its first piece has arrived. A stream that is complete by then is returned as a list. A
 * missing finish reason is a failure, a missing end mark is not. Errors after the last finish reason are ignored.
 * @throws Unreadable, ConnectionFailure, or what `readEvent` throws, after the events before it.
 */
async function providerEvents(body: BytesBody, reading: EventReading): Promise<EventStream> {
  const pieces = new EventPieces(body, reading)
  const first = await pieces.next()
  if (!first.ended || !reading.rules.complete(first.batch)) return following(first, pieces, reading)
  void pieces.end()
  return [first.batch]
}

/** The events of one piece of a body. */
interface EventPiece {
  batch: StreamEvent[]
  /** Whether no more events follow. */
  ended?: boolean
  /** An error after these events. */
  problem?: { error: unknown }
}

async function* following(first: EventPiece, pieces: EventPieces, { rules }: EventReading): AsyncGenerator<EventBatch> {
  const seen: StreamEvent[] = []
  let ended = false
  try {
    for (let piece = first; ; piece = await pieces.next()) {
      seen.push(...piece.batch)
      if (piece.batch.length > 0) yield piece.batch
      if (piece.problem) throw piece.problem.error
      ended = piece.ended === true
      if (ended) break
    }
  } catch (error) {
    const isProviderError =
      error instanceof ConnectionFailure || error instanceof Unreadable || error instanceof TimedOut
    if (isProviderError && rules.complete(seen)) return
    throw error
  } finally {
    if (ended) void pieces.end()
    else await pieces.stop()
  }
  if (seen.length === 0) throw new Unreadable('the provider sent an empty stream')
  if (!rules.complete(seen)) throw new ConnectionFailure('the stream ended before the response was complete')
}

/** A body that is read piece by piece. With closures instead of a class, passed streams took more time. */
class EventPieces {
  readonly #source: AsyncIterator<Uint8Array, undefined>
  readonly #parser = sseReader()
  readonly #hides: BytesBody['hides']
  readonly #reading: EventReading

  constructor({ bytes, hides }: BytesBody, reading: EventReading) {
    this.#source = byteChunks(bytes)
    this.#hides = hides
    this.#reading = reading
  }

  async next(): Promise<EventPiece> {
    try {
      const { done, value } = await this.#source.next()
      return done ? { batch: [], ended: true } : this.#read(value)
    } catch (error) {
      return { batch: [], problem: { error: broken(error, this.#reading.signal) } }
    }
  }

  #read(bytes: Uint8Array): EventPiece {
    const batch: StreamEvent[] = []
    try {
      for (const block of this.#parser.read(bytes)) {
        if (!hasEvent(block) || this.#hides?.(block.event.data)) continue
        if (block.event.data === DONE_EVENT.text) return { batch, ended: true }
        batch.push(this.#reading.readEvent(block))
      }
      return { batch }
    } catch (error) {
      return { batch, problem: { error: error instanceof EventTooLong ? new Unreadable(error.message) : error } }
    }
  }

  /** Cancels the body. An error while canceling does not matter. */
  async stop(): Promise<void> {
    await this.#source.return?.().catch(() => {})
  }

  /**
   * Reads past the end mark to the end of the body: canceling earlier would close the connection, and the next call
   * would need a new one.
   */
  async end(): Promise<void> {
    const reading = async () => {
      while (!(await this.#source.next()).done);
    }
    try {
      await within(reading(), MAX_END_MS, NO_END)
    } catch {
      await this.stop()
    }
  }
}

/** How long the end of a body may take after its end mark. */
const MAX_END_MS = 250
const NO_END: TimeoutErrors = { late: () => new Error('the provider did not end its stream') }

/** Whether an error is a bug of the program. Network errors have a code. */
const isBug = (error: unknown): boolean =>
  (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError) && !('code' in error)

/**
 * The error for a body that cannot be read: the signal's reason once it is aborted, otherwise usually a
 * `ConnectionFailure`.
 */
function broken(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof ConnectionFailure || error instanceof Unreadable || error instanceof ApiError) return error
  if (isBug(error)) return error
  return new ConnectionFailure(`the connection to the provider failed: ${networkReason(error)}`)
}
