// Sends the reply of a direct call, reads it as its client does, and ends the call after the last piece.
import type { ApiError } from '../../contract/core/error.ts'
import type { Operation } from '../../contract/core/operation.ts'
import { type BytesBody, ConnectionFailure, type Reply } from '../../contract/core/reply.ts'
import type { Wire } from '../../contract/core/wire.ts'
import { isStream, streamBytes } from '../../faults/wire.ts'
import { nextTurn } from '../../lib/bare-socket.ts'
import { once } from '../../lib/once.ts'
import { encodeEvent, eventOfType, type StreamEvent } from '../../lib/sse.ts'
import { asObject } from '../../lib/values.ts'
import { type Failure, failureOf, NOT_RECEIVED } from '../outcome.ts'
import type { AnswerRecord, AttemptAnswer, AttemptRecorder } from '../record/recording.ts'
import { toEnd } from '../through-faults.ts'
import type { CallContext, CallEnd } from '../types.ts'
import { type AnswerRules, OtherType, type ReplyContent, read } from './read.ts'
import { SentBody, sentWhole } from './sent-body.ts'
import { bodyEnd, breaksLater, sentAs } from './sent-end.ts'

/** What a reply is sent with. */
export interface SentCall {
  callContext: CallContext
  wire: Wire
  end: CallEnd
  /** The only attempt, and its `<provider>/<model>`. */
  record: AttemptRecorder
  model: string
}

/**
 * The reply, which ends its call when all of it has been sent.
 * @throws ApiError when the call cannot be stored; nothing of a whole response has been sent then.
 */
export async function readAlong(reply: Reply, sentCall: SentCall): Promise<Reply> {
  const { callContext, wire, record } = sentCall
  const { operation, stream, call, recording } = callContext
  const { signal } = call
  const body = streamBytes(reply)
  const { bytes, announced } = body
  const { cookies } = reply
  const reading = { rules: rulesOnWire(operation, wire), stream, contentBegan: () => record.contentBegan() }
  if (bytes instanceof Uint8Array) {
    const error = announced === undefined ? undefined : new ConnectionFailure(CUT_SHORT)
    const content = await readSent(reply, { ...body, bytes }, { ...reading, error })
    recording.sent = { ...sentAs({ body, cookies }), body: sentWhole(bytes), ended: bodyEnd(reply, { signal }) }
    const problem = await endCall(reply, content, sentCall)
    if (problem) throw problem
    return reply
  }
  const reader = new SentReader(reply, body, reading)
  const sent = new SentBody()
  let begun = false
  const onEnd = async (failure: Failure | undefined, broken: unknown) => {
    // Headers without a body count as sent.
    const isSent = begun || broken === undefined
    const content = await contentSent(reader, { failure, broken, signal })
    const ended = bodyEnd(reply, { broken, signal })
    const pauses = breaksLater(broken, sent)
    recording.sent = { ...sentAs({ body, cookies }), body: sent, ended, pauses, ...(!isSent && { nothing: true }) }
    return endCall(isSent ? reply : { ...reply, status: 0 }, content, sentCall)
  }
  const errorItem = (error: ApiError) => encoder.encode(encodeEvent(eventOfType(wire.error(error, recording.id))))
  const onItem = (piece: Uint8Array) => {
    begun = true
    reader.add(piece)
  }
  const note = sent.noting<Uint8Array>(() => recording.elapsed())
  const pieces = toEnd(bytes, { onEnd, signal, onItem, note, ...(isStream(reply) && { errorItem }) })
  return { ...reply, body: { ...body, bytes: pieces } }
}
const encoder = new TextEncoder()
const CUT_SHORT = 'the connection was closed before the promised end of the response'

/** Ends a call with what its client received; resolves with an error when it could not be stored. */
function endCall(
  { status, headers, raw, redact }: Reply,
  content: SentContent,
  { record, end, callContext, model, wire }: SentCall,
): Promise<ApiError | undefined> {
  const { failure, readable } = content
  if (raw) callContext.recording.answer = passedAnswer(content, { model, record, wire, redact })
  // An error inside a stream has its own status.
  record.end(failure && { ...failure, status: failure.kind === 'http_error' ? failure.status : status }, status || null)
  return end.end({ status, headers, failure, read: true, ...(readable && { readable }) })
}

/** The provider's response so far, for the trace; undefined when there is none. */
function passedAnswer(
  { value, text, events, failure }: SentContent,
  { model, record, wire, redact }: Pick<SentCall, 'model' | 'record' | 'wire'> & Pick<Reply, 'redact'>,
): AnswerRecord | undefined {
  const { assemble } = wire
  const from = { headers: {}, usage: null, fixture: null, generated: false, ...(redact && { redact }) }
  const effects = (answer: unknown) => ({ usage: asObject(asObject(answer)?.usage) ?? null, keep: [] })
  const about = { complete: failure === undefined, effects }
  const answerWith = (content: ReplyContent): AttemptAnswer => {
    return { kind: 'succeeded', model, content, from, attempt: record }
  }
  if (events) {
    const whole = assemble && (() => assemble(events))
    const content = { kind: 'stream' as const, events: [events], whole }
    return { answer: answerWith(content), content: { kind: 'events', events, times: [], whole }, ...about }
  }
  if (value === undefined) return undefined
  const content = { kind: 'value' as const, value, text: text ?? JSON.stringify(value) }
  return { answer: answerWith({ kind: 'whole', value }), content, ...about }
}

/** What the client received of a body; `failure` and `broken` tell what ended it early. */
async function contentSent(
  reader: SentReader,
  { failure, broken, signal }: { failure: Failure | undefined; broken: unknown; signal: AbortSignal },
): Promise<SentContent> {
  const isBug = failure?.kind === 'internal_error'
  const isLeft = !isBug && (signal.aborted || broken === NOT_RECEIVED)
  const content = await reader.end(failure && !isBug && !isLeft ? new ConnectionFailure(failure.message) : undefined)
  // Many clients leave after the finish reason, and do not wait for the last event.
  const readable = isLeft && content.failure === undefined
  if (isBug || signal.aborted)
    return { ...content, readable, failure: failure ?? failureOf(new ConnectionFailure(NOT_RECEIVED.message), signal) }
  return !failure && broken === NOT_RECEIVED ? { ...content, readable, failure: NOT_RECEIVED } : content
}

// Reads a response as a correct client of its API does, with the reader that the gateway uses for providers.

/** What a client reads from a response: its value or the events so far, and what is wrong with it. */
interface SentContent {
  value?: unknown
  /** The value as JSON, as it was sent. */
  text?: string | undefined
  events?: StreamEvent[]
  failure?: Failure | undefined
  /** Whether some clients read a whole response all the same. */
  readable?: boolean
}

/** How a response is read. */
interface SentReading {
  rules: AnswerRules
  stream: boolean
  /** Called at the first content, and possibly again. */
  contentBegan(): void
}

/** How clients of a compatible API read the responses of an operation. */
const rulesOnWire = (operation: Operation, wire: Wire): AnswerRules => ({
  name: operation.name,
  answerName: operation.answerName,
  ...(operation.binary && { binary: operation.binary }),
  events: wire.events ?? operation.events,
  wrongWith: wire.wrongWith ?? operation.wrongWith,
})

/** Never aborted: a reader always reads everything that was sent. */
const NEVER = new AbortController().signal

/** What a client reads from a whole body; `error` is what broke the connection after it, if anything. */
function readSent(
  reply: Pick<Reply, 'status' | 'headers'>,
  { bytes, contentType }: BytesBody & { bytes: Uint8Array },
  { error, ...reading }: SentReading & { error?: unknown },
): Promise<SentContent> {
  return contentOf(
    reply,
    { kind: 'bytes', contentType, bytes: error === undefined ? bytes : brokenAfter(bytes, error) },
    reading,
  )
}

async function* brokenAfter(bytes: Uint8Array, error: unknown): AsyncGenerator<Uint8Array> {
  yield bytes
  throw error
}

/** Reads a response while it is sent, in other turns than those that send it. */
class SentReader {
  readonly #pieces = new PieceQueue()
  readonly #read: () => Promise<SentContent>

  constructor(
    reply: Pick<Reply, 'status' | 'headers'>,
    { contentType }: Pick<BytesBody, 'contentType'>,
    reading: SentReading,
  ) {
    this.#read = once(() => contentOf(reply, { kind: 'bytes', contentType, bytes: this.#pieces.all() }, reading))
  }

  /** Adds the next piece of the body. */
  add(piece: Uint8Array): void {
    if (this.#pieces.add(piece)) void nextTurn().then(this.#read)
  }

  /** The content of the response; `error` is what broke the connection, if anything. */
  end(error?: unknown): Promise<SentContent> {
    this.#pieces.end(error)
    return this.#read()
  }
}

async function contentOf(
  { status, headers }: Pick<Reply, 'status' | 'headers'>,
  body: BytesBody,
  { rules, stream, contentBegan }: SentReading,
): Promise<SentContent> {
  const events: StreamEvent[] = []
  const reply = { status, headers, body, usage: null, fixture: null, generated: false }
  try {
    const content = await read(reply, { operation: rules, stream, signal: NEVER })
    if (content.kind === 'whole') {
      contentBegan()
      return { value: content.value, text: content.text }
    }
    for await (const batch of content.events) {
      if (batch.some(({ tokens }) => Boolean(tokens))) contentBegan()
      events.push(...batch)
    }
    return { events }
  } catch (error) {
    const readable = error instanceof OtherType && (await isWhole(error, reply, { rules, stream }))
    return { events, failure: failureOf(error, NEVER), readable }
  }
}

/** Whether the text of a reply is a whole response for clients that do not look at its content type. */
async function isWhole(
  { text }: OtherType,
  reply: Pick<Reply, 'status' | 'headers'>,
  reading: Pick<SentReading, 'rules' | 'stream'>,
): Promise<boolean> {
  const contentType = reading.stream ? 'text/event-stream' : 'application/json'
  const body = { kind: 'bytes', contentType, bytes: encoder.encode(text) } as const
  return (await contentOf(reply, body, { ...reading, contentBegan() {} })).failure === undefined
}

/** Pieces that wait for their reader. */
class PieceQueue {
  #waiting: Uint8Array[] = []
  #ended: { error: unknown } | undefined
  #wake: (() => void) | undefined
  #woken = false

  #isRead = false

  /** Adds a piece; returns whether nobody reads yet. A reader gets the piece in a later turn. */
  add(piece: Uint8Array): boolean {
    this.#waiting.push(piece)
    if (!this.#wake || this.#woken) return !this.#isRead
    this.#woken = true
    void nextTurn().then(() => {
      this.#woken = false
      this.#wake?.()
    })
    return false
  }

  end(error: unknown): void {
    this.#ended ??= { error }
    this.#wake?.()
  }

  async *all(): AsyncGenerator<Uint8Array> {
    this.#isRead = true
    for (;;) {
      const pieces = this.#waiting
      this.#waiting = []
      yield* pieces
      if (this.#waiting.length > 0) continue
      if (this.#ended) {
        if (this.#ended.error !== undefined) throw this.#ended.error
        return
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}
