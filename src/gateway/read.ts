// Reads what a provider sent, as a client of it must: nothing truncated, malformed or empty passes for an answer.
import type { Operation, StreamRules } from '../contract/operation.ts'
import { type BytesBody, ConnectionFailure, type EventsBody, type Reply, Unreadable } from '../contract/reply.ts'
import { quote } from '../contract/validation.ts'
import { nestingProblem } from '../lib/nesting.ts'
import { networkReason } from '../lib/network-error.ts'
import { DONE_EVENT, EventTooLong, type SseBlock, type SseReader, type StreamEvent, sseReader } from '../lib/sse.ts'
import { parsedJson } from '../lib/values.ts'
import { errorIn, type ProviderError, readErrorBody } from '../providers/error-body.ts'
import { attributed } from '../providers/request-id.ts'
import { Refusal, TimedOut } from './outcome.ts'

/** A reply as an answer of this API. */
export type ReplyContent =
  | { kind: 'whole'; value: unknown; text?: string | undefined }
  | ({ kind: 'stream' } & Pick<EventsBody, 'events' | 'whole'>)

/** What a reply is read as. */
export interface ReadOptions {
  operation: Operation
  stream: boolean
  signal: AbortSignal
}

const EVENT_STREAM = /^text\/event-stream\s*(;|$)/i
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(;|$)/i
/** Status of an error that a provider reports under a 200. */
const BAD_ANSWER = 502

/**
 * The content of a reply. A stream's own failures are thrown while it is read.
 * @throws Refusal, Unreadable, ConnectionFailure
 */
export function read(reply: Reply, reading: ReadOptions): ReplyContent | Promise<ReplyContent> {
  const { body } = reply
  if (body.kind === 'value') return { kind: 'whole', value: body.value, text: body.text }
  if (body.kind === 'events') return { kind: 'stream', events: body.events, whole: body.whole }
  return readBytes(body, reply, reading)
}

async function readBytes(body: BytesBody, reply: Reply, reading: ReadOptions): Promise<ReplyContent> {
  const { status } = reply
  if (status < 200 || status > 299) throw refusal(readErrorBody(await textOf(body, reading)), reply, status)
  if (reading.stream) return { kind: 'stream', events: await readStream(body, reply, reading) }
  return readWhole(await textOf(body, reading), body, reply, reading.operation)
}

/** A provider's error in its own words; behind those of a real one stand its name and its id of the call. */
function refusal({ message, code, param, type }: ProviderError, reply: Reply, status: number): Refusal {
  const { headers, provider, verbatim } = reply
  const attributedMessage = provider ? attributed(message, provider, headers) : message
  const about = { status, code: code ?? 'provider_error', message: attributedMessage, param: param ?? null, headers }
  return new Refusal(verbatim ? { ...about, type, verbatim } : about)
}

function readWhole(text: string, { contentType }: BytesBody, reply: Reply, operation: Operation): ReplyContent {
  if (text.trim() === '') throw new Unreadable('the provider answered with an empty body')
  if (!JSON_TYPE.test(contentType) && contentType !== '') {
    throw new Unreadable(`the provider answered with content-type ${quote(contentType)} instead of application/json`)
  }
  const value = parsed(text, 'the answer')
  const wrong = operation.wrongWith(value)
  // Not every provider has its error under `error`.
  const failed = wrong || (isObject(value) && value.error) ? errorIn(value) : undefined
  if (failed) throw refusal(failed, reply, failed.status ?? BAD_ANSWER)
  if (wrong) throw new Unreadable(`the provider's answer is not a valid ${operation.answerName}: ${wrong}`)
  return { kind: 'whole', value, text }
}

async function readStream(body: BytesBody, reply: Reply, reading: ReadOptions): Promise<AsyncIterable<StreamEvent>> {
  const { operation } = reading
  if (!operation.events) throw new Unreadable(`${operation.name} has no streams`)
  if (!EVENT_STREAM.test(body.contentType)) {
    const text = await textOf(body, reading)
    const failed = errorIn(parsedJson(text))
    if (failed) throw refusal(failed, reply, failed.status ?? BAD_ANSWER)
    throw new Unreadable(
      text.trim() === ''
        ? 'the provider answered with an empty body'
        : `the provider answered with content-type ${quote(body.contentType)} instead of text/event-stream`,
    )
  }
  return readEvents(body, reply, { ...reading, rules: operation.events })
}

/** The events of a stream up to its end mark; an end without a finish reason is a failure, a missing end mark is none. */
async function* readEvents(
  body: BytesBody,
  reply: Reply,
  reading: ReadOptions & { rules: StreamRules },
): AsyncGenerator<StreamEvent> {
  const { rules, signal, operation } = reading
  const seen: StreamEvent[] = []
  const reader = sseReader()
  try {
    for await (const bytes of chunksOf(body, signal)) {
      for (const { event } of readBlocks(reader, bytes)) {
        if (!event) continue
        if (event.data === DONE_EVENT.text) return ended(seen, rules)
        const about = { rules, answerName: operation.answerName }
        const next = readEvent({ text: event.data, event: event.event }, reply, about)
        seen.push(next)
        yield next
      }
    }
  } catch (error) {
    // What breaks or falls silent after the last finish reason takes nothing from the answer.
    const broken = error instanceof ConnectionFailure || error instanceof Unreadable || error instanceof TimedOut
    if (!broken || !rules.complete(seen)) throw error
    return
  }
  ended(seen, rules)
}

function readBlocks(reader: SseReader, bytes: Uint8Array): SseBlock[] {
  try {
    return reader.read(bytes)
  } catch (error) {
    throw error instanceof EventTooLong ? new Unreadable(error.message) : error
  }
}

function ended(seen: readonly StreamEvent[], rules: StreamRules): void {
  if (seen.length === 0) throw new Unreadable('the provider sent an empty stream')
  if (!rules.complete(seen)) throw new ConnectionFailure('the stream ended before the answer was complete')
}

function readEvent(
  { text, event }: { text: string; event: string | undefined },
  reply: Reply,
  { rules, answerName }: { rules: StreamRules; answerName: string },
): StreamEvent {
  const data = parsed(text, 'a chunk')
  if (!isObject(data)) throw new Unreadable(`a chunk of the provider is ${quote(data)}, not an object`)
  const wrong = rules.wrongWith(data)
  // Not every provider has its error under `error`.
  const suspect = data.error == null && !wrong ? undefined : data
  const holder = rules.failureIn ? rules.failureIn(data) : suspect
  const failed = holder === undefined ? undefined : errorIn(holder)
  if (failed) throw refusal(failed, reply, failed.status ?? BAD_ANSWER)
  if (wrong) throw new Unreadable(`a chunk of the provider is not a valid part of a ${answerName}: ${wrong}`)
  return { ...(event && { event }), data, text, ...(rules.hasContent(data) && { tokens: 1 }) }
}

type Fields = Record<string, unknown>
const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A JSON text; throws `Unreadable`. */
function parsed(text: string, what: string): unknown {
  const value = jsonOf(text, what)
  const nested = nestingProblem(value)
  if (nested) throw new Unreadable(`${what} of the provider ${nested}`)
  return value
}

function jsonOf(text: string, what: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Unreadable(`${what} of the provider is not valid JSON: ${(error as Error).message}`)
  }
}

async function textOf({ bytes }: BytesBody, { signal }: ReadOptions): Promise<string> {
  try {
    // The runtime reads a whole stream faster than we can piece by piece.
    return await new Response(bytes as BodyInit).text()
  } catch (error) {
    throw broken(error, signal)
  }
}

/** The chunks of a body; a connection that breaks is a `ConnectionFailure`, an aborted one the signal's reason. */
async function* chunksOf({ bytes }: BytesBody, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  if (bytes instanceof Uint8Array) {
    yield bytes
    return
  }
  try {
    yield* bytes
  } catch (error) {
    throw broken(error, signal)
  }
}

/** Whether an error is one of the program rather than one of the network, whose errors have a code. */
const isBug = (error: unknown): boolean =>
  (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError) && !('code' in error)

function broken(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof ConnectionFailure || error instanceof Unreadable || isBug(error)) return error
  return new ConnectionFailure(`the connection to the provider broke: ${networkReason(error)}`)
}
