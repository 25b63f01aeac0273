// The events of a reply on their way to a client, noted as they go, and the end of the call behind the last of them.
import { type ApiError, envelope } from '../../contract/core/error.ts'
import type { Operation } from '../../contract/core/operation.ts'
import {
  allEvents,
  DONE_EVENT,
  dataEvent,
  type EventBatch,
  type EventStream,
  isComplete,
  type StreamEvent,
} from '../../lib/sse.ts'
import { errorOf, type Failure, failureOf, UNHEARD } from '../outcome.ts'
import type { AnswerRecord, SentStream } from '../record/recording.ts'
import type { ReplyContext } from '../types.ts'
import { noteTime } from './sent-body.ts'

/** Characters of a stream that is sent in one piece: a connection takes them, whether or not its client reads. */
const MAX_AT_ONCE = 64 * 1024
/** Events of one batch: in between, the clock and the client are looked at. */
const MAX_BATCH = 64

/** A stream on its way: what is noted of it, and the headers that it began with. */
export interface StreamedReply extends ReplyContext {
  record: AnswerRecord
  sent: SentStream
  headers: Record<string, string>
}

/** All events of a stream, where they are there already and few enough to leave in one piece. */
export function eventsAtOnce(stream: EventStream): EventBatch | undefined {
  if (!isComplete(stream)) return undefined
  const events = allEvents(stream)
  let characters = 0
  for (const { text } of events) characters += text.length
  return characters <= MAX_AT_ONCE ? events : undefined
}

/** Notes that all events of a reply leave together; gives them with the end mark. */
export function sentAtOnce(events: EventBatch, { record, sent, callContext }: StreamedReply): EventBatch {
  sent.events = events
  if (events.some(hasContent)) record.answer.attempt?.contentBegan()
  if (events.length > 0) sent.times.push(0, callContext.recording.elapsed())
  complete(record)
  return [...events, DONE_EVENT]
}

/** The events that a client gets, the end mark included; a failure becomes an event and leaves out the mark. Gone through once. */
export async function* replyEvents(stream: EventStream, reply: StreamedReply): AsyncGenerator<EventBatch> {
  const { record, sent, callContext, atOnce } = reply
  const { call, recording } = callContext
  const given: StreamEvent[] = []
  sent.events = given
  let last: EventBatch = NO_EVENTS
  // Until the end is known, somebody may stop listening: the client, or a fault between it and the gateway.
  let isHeard = false
  try {
    for await (const batch of stream) {
      for (const part of inParts(batch, atOnce ? MAX_BATCH : 1)) {
        if (call.aborted) call.signal.throwIfAborted()
        if (part.some(hasContent)) record.answer.attempt?.contentBegan()
        noteTime(sent.times, given.length, recording.elapsed())
        given.push(...part)
        yield part
      }
    }
    if (call.aborted) call.signal.throwIfAborted()
    complete(record)
    last = END_MARK
    isHeard = true
  } catch (error) {
    const failure = failed(error, reply)
    if (failure.kind !== 'canceled') last = failureEvents(errorOf(failure), reply)
    isHeard = true
  } finally {
    if (!isHeard) {
      record.answer.attempt?.end(UNHEARD)
      await ended(reply)
    }
  }
  const problem = await ended(reply)
  yield problem ? failureEvents(problem, reply) : last
}

const NO_EVENTS: EventBatch = []
const END_MARK: EventBatch = [DONE_EVENT]
const hasContent = ({ tokens }: StreamEvent) => Boolean(tokens)

/** A large batch in parts, so that a client that has gone is noticed; a fault may go after any event. */
function inParts(batch: EventBatch, size: number): EventBatch[] {
  if (batch.length <= size) return [batch]
  const parts: EventBatch[] = []
  for (let at = 0; at < batch.length; at += size) parts.push(batch.slice(at, at + size))
  return parts
}

/** Nothing is missing. */
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

/** Ends the call; gives why it could not be stored. */
const ended = ({ end, headers }: StreamedReply): Promise<ApiError | undefined> | undefined =>
  end?.end({ status: 200, headers })

function failureEvents(error: ApiError, { sent, callContext }: StreamedReply): EventBatch {
  noteTime(sent.times, sent.events.length, callContext.recording.elapsed())
  const body = envelope(error)
  const own = ownFailureEvents(body, sent, callContext.operation)
  // Those of the operation belong to the answer that the client has.
  if (own) sent.events = [...sent.events, ...own]
  else sent.closing = [dataEvent(body)]
  return own ?? [dataEvent(body)]
}

/** The events by which an operation tells of a failure in a stream that has begun. */
function ownFailureEvents(
  body: ReturnType<typeof envelope>,
  { events }: SentStream,
  { events: rules }: Operation,
): EventBatch | undefined {
  try {
    return rules?.failed?.(body, events)
  } catch {
    // What makes them may be what has failed, and is reported as such.
    return undefined
  }
}
