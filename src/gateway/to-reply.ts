// Turns the outcome of a call into a reply, and records it.
import { type ApiError, envelope } from '../contract/core/error.ts'
import type { Operation } from '../contract/core/operation.ts'
import type { Reply } from '../contract/core/reply.ts'
import {
  allEvents,
  DONE_EVENT,
  dataEvent,
  type EventBatch,
  type EventStream,
  isComplete,
  type StreamEvent,
} from '../lib/sse.ts'
import { asObject } from '../lib/values.ts'
import { cacheEntry } from './cache.ts'
import { errorOf, type Failure, failureOf, NOT_RECEIVED } from './outcome.ts'
import { headersOf } from './record/recorder.ts'
import type { AnswerEffects, AnswerRecord, AttemptAnswer, SentStream } from './record/recording.ts'
import { noteTime } from './stream/sent-body.ts'
import type { ReplyContext } from './types.ts'

/** The reply to a client, recorded in the trace. */
export function toReply(answer: AttemptAnswer, replyContext: ReplyContext): Reply {
  const { recording } = replyContext.callContext
  const { content, from } = answer
  if (content.kind === 'whole') {
    const { value, text = JSON.stringify(value) } = content
    const body = { kind: 'value' as const, value, text }
    recording.answer = new RecordedAnswer(answer, body, replyContext)
    const { binary } = replyContext.callContext.operation
    const put = binary ? { kind: 'bytes' as const, ...binary.encode(value) } : body
    return { ...from, headers: Object.assign(headersOf(recording), from.headers), status: 200, body: put }
  }
  const sent: SentStream = { kind: 'events', events: [], times: [], whole: content.whole }
  const record = new RecordedAnswer(answer, sent, replyContext)
  recording.answer = record
  const headers = Object.assign(headersOf(recording), from.headers)
  const streamed = { ...replyContext, record, sent, headers }
  const { call } = replyContext.callContext
  const all = replyContext.atOnce && !call.aborted ? eventsAtOnce(content.events) : undefined
  const events = all ? [sentAtOnce(all, streamed)] : replyEvents(content.events, streamed)
  return { ...from, headers, status: 200, body: { kind: 'events', events, marked: true } }
}

/** The response that a client gets; a whole one is complete at once. An object with a closure made streams slower. */
class RecordedAnswer implements AnswerRecord {
  readonly answer: AttemptAnswer
  readonly content: AnswerRecord['content']
  complete: boolean
  failure?: Failure
  readonly #reply: ReplyContext

  constructor(answer: AttemptAnswer, content: AnswerRecord['content'], reply: ReplyContext) {
    this.answer = answer
    this.content = content
    this.complete = content.kind === 'value'
    this.#reply = reply
  }

  effects(value: unknown): AnswerEffects {
    return effectsOf(this.answer, value, this.#reply)
  }
}

/** What a complete response stores for later calls, and its own token counts. */
function effectsOf(answer: AttemptAnswer, value: unknown, { callContext, cacheKey }: ReplyContext): AnswerEffects {
  const { operation, request, answerContext } = callContext
  // A text response, such as subtitles, stores nothing.
  if (typeof value !== 'object' || value === null) return { usage: answer.from.usage, keep: [] }
  const usage = asObject(asObject(value)?.usage) ?? answer.from.usage
  const keep = [...(operation.keep?.(request, value, answerContext) ?? [])]
  const fresh = answer.attempt !== undefined
  if (cacheKey !== undefined && fresh) {
    // A stream contains its usage only on request, but a whole response must.
    const stored = usage && callContext.stream && !('usage' in value) ? { ...value, usage } : value
    keep.push(cacheEntry(callContext, cacheKey, { answer: stored, model: answer.model, usage }))
  }
  return { usage: answer.from.usage ?? usage, keep }
}

// Sends the events of a reply to a client, records them, and ends the call after the last one.

/** Maximum length of a stream that is sent at once, in characters: a connection buffers it even if the client does not read. */
const MAX_AT_ONCE = 64 * 1024
/** Events per batch; the clock and the client are checked between batches. */
const MAX_BATCH = 64

/** A stream in progress, its record and its response headers. */
export interface StreamedReply extends ReplyContext {
  record: AnswerRecord
  sent: SentStream
  headers: Record<string, string>
}

/** All events of a stream, if they are available and few enough to send at once. */
function eventsAtOnce(stream: EventStream): EventBatch | undefined {
  if (!isComplete(stream)) return undefined
  const events = allEvents(stream)
  let characters = 0
  for (const { text } of events) characters += text.length
  return characters <= MAX_AT_ONCE ? events : undefined
}

/** Records that all events of a reply are sent together; returns them with the end mark. */
function sentAtOnce(events: EventBatch, { record, sent, callContext }: StreamedReply): EventBatch {
  sent.events = events
  if (events.some(hasContent)) record.answer.attempt?.contentBegan()
  if (events.length > 0) sent.times.push(0, callContext.recording.elapsed())
  complete(record)
  return [...events, DONE_EVENT]
}

/** The events for a client with the end mark. A failure becomes an event and replaces the end mark. Can be iterated once. */
async function* replyEvents(stream: EventStream, reply: StreamedReply): AsyncGenerator<EventBatch> {
  const { record, sent, callContext, atOnce } = reply
  const { call, recording } = callContext
  const written: StreamEvent[] = []
  sent.events = written
  let last: EventBatch = NO_EVENTS
  // Until the end, the client or a fault before it may stop reading.
  let isFinished = false
  try {
    for await (const batch of stream) {
      for (const part of inParts(batch, atOnce ? MAX_BATCH : 1)) {
        if (call.aborted) call.signal.throwIfAborted()
        if (part.some(hasContent)) record.answer.attempt?.contentBegan()
        noteTime(sent.times, written.length, recording.elapsed())
        written.push(...part)
        yield part
      }
    }
    if (call.aborted) call.signal.throwIfAborted()
    complete(record)
    last = END_MARK
    isFinished = true
  } catch (error) {
    const failure = failed(error, reply)
    if (failure.kind !== 'canceled') last = failureEvents(errorOf(failure), reply)
    isFinished = true
  } finally {
    if (!isFinished) {
      record.answer.attempt?.end(NOT_RECEIVED)
      await ended(reply)
    }
  }
  const problem = await ended(reply)
  yield problem ? failureEvents(problem, reply) : last
}

const NO_EVENTS: EventBatch = []
const END_MARK: EventBatch = [DONE_EVENT]
const hasContent = ({ tokens }: StreamEvent) => Boolean(tokens)

/** Splits a large batch, so that a closed connection is noticed. Sizes of 1 let a fault act after any event. */
function inParts(batch: EventBatch, size: number): EventBatch[] {
  if (batch.length <= size) return [batch]
  const parts: EventBatch[] = []
  for (let at = 0; at < batch.length; at += size) parts.push(batch.slice(at, at + size))
  return parts
}

/** Marks a response as complete. */
function complete(record: AnswerRecord): void {
  record.complete = true
  record.answer.attempt?.end()
}

function failed(error: unknown, { record, callContext }: StreamedReply): Failure {
  const failure = failureOf(error, callContext.call.signal)
  record.failure = failure
  record.answer.attempt?.end(failure)
  return failure
}

/** Ends the call; resolves with an error when it could not be stored. */
const ended = ({ end, headers }: StreamedReply): Promise<ApiError | undefined> | undefined =>
  end?.end({ status: 200, headers })

function failureEvents(error: ApiError, { sent, callContext }: StreamedReply): EventBatch {
  noteTime(sent.times, sent.events.length, callContext.recording.elapsed())
  const body = envelope(error)
  const own = ownFailureEvents(body, sent, callContext.operation)
  // The operation's own events are part of the client's response.
  if (own) sent.events = [...sent.events, ...own]
  else sent.closing = [dataEvent(body)]
  return own ?? [dataEvent(body)]
}

/** The events with which an operation reports a failure inside a stream. */
function ownFailureEvents(
  body: ReturnType<typeof envelope>,
  { events }: SentStream,
  { events: rules }: Operation,
): EventBatch | undefined {
  try {
    return rules?.failed?.(body, events)
  } catch {
    // The bug that is being reported may be in this function.
    return undefined
  }
}
