// Makes a reply of an answer, and notes what is given out of it.
import { type ApiError, envelope } from '../contract/error.ts'
import type { Operation } from '../contract/operation.ts'
import type { Reply } from '../contract/reply.ts'
import { DONE_EVENT, type StreamEvent } from '../lib/sse.ts'
import { asObject } from '../lib/values.ts'
import { storing } from './cache.ts'
import { errorOf, failureOf, UNHEARD } from './outcome.ts'
import { headersOf } from './recorder.ts'
import type { AnswerEffects, AnswerRecord, AttemptAnswer } from './recording.ts'
import type { ReplyContext } from './types.ts'

/** The reply that a client gets, noted in the call's record. */
export function toReply(answer: AttemptAnswer, replyContext: ReplyContext): Reply {
  const { recording } = replyContext.callContext
  const { content, from } = answer
  const effects = (value: unknown) => effectsOf(answer, value, replyContext)
  if (content.kind === 'whole') {
    const { value, text = JSON.stringify(value) } = content
    const body = { kind: 'value' as const, value, text }
    recording.answer = { answer, content: body, complete: true, effects }
    return { ...from, headers: Object.assign(headersOf(recording), from.headers), status: 200, body }
  }
  const sent: StreamEvent[] = []
  const record: AnswerRecord = { answer, content: { kind: 'events', events: sent }, complete: false, effects }
  recording.answer = record
  const headers = Object.assign(headersOf(recording), from.headers)
  const events = replyEvents(content.events, record, { ...replyContext, sent, headers })
  return { ...from, headers, status: 200, body: { kind: 'events', events, marked: true } }
}

/** What a complete answer leaves for later calls, and the token counts that it says itself. */
function effectsOf(answer: AttemptAnswer, value: unknown, { callContext, cacheKey }: ReplyContext): AnswerEffects {
  const { operation, request, answerContext } = callContext
  // A text, such as subtitles, leaves nothing.
  if (typeof value !== 'object' || value === null) return { usage: answer.from.usage, keep: [] }
  const usage = asObject(asObject(value)?.usage) ?? answer.from.usage
  const keep = [...(operation.keep?.(request, value, answerContext) ?? [])]
  const fresh = answer.attempt !== undefined
  if (cacheKey !== undefined && fresh) {
    // A streamed answer says its usage only when asked; a whole one says what it has to.
    const stored = usage && callContext.stream && !('usage' in value) ? { ...value, usage } : value
    keep.push(storing(callContext, cacheKey, { answer: stored, model: answer.model, usage }))
  }
  return { usage: answer.from.usage ?? usage, keep }
}

/** The events that a client gets, the end mark included; a failure becomes an event and leaves out the mark. */
async function* replyEvents(
  events: Iterable<StreamEvent> | AsyncIterable<StreamEvent>,
  record: AnswerRecord,
  { callContext, end, sent, headers }: ReplyContext & { sent: StreamEvent[]; headers: Record<string, string> },
): AsyncGenerator<StreamEvent> {
  const { operation, signal } = callContext
  const { attempt } = record.answer
  const noted = (event: StreamEvent) => {
    signal.throwIfAborted()
    if (event.tokens) attempt?.contentBegan()
    sent.push(event)
    return event
  }
  let last = [DONE_EVENT]
  try {
    // Those of a fixture are there already, and need no waiting between them.
    if (Array.isArray(events)) for (const event of events) yield noted(event)
    else for await (const event of events) yield noted(event)
    signal.throwIfAborted()
    record.complete = true
    attempt?.end()
  } catch (error) {
    const failure = failureOf(error, signal)
    record.failure = failure
    attempt?.end(failure)
    last = failure.kind === 'cancelled' ? [] : failureEvents(errorOf(failure), sent, operation)
  } finally {
    // Somebody stopped listening: the client, or a fault that it hears the answer through.
    if (!record.complete && !record.failure) attempt?.end(UNHEARD)
    const problem = await end?.(headers)
    if (problem) last = failureEvents(problem, sent, operation)
  }
  yield* last
}

/** The events that tell of a failure in a stream that has begun. Those of the operation belong to the answer that the client has. */
function failureEvents(error: ApiError, sent: StreamEvent[], { events: rules }: Operation): StreamEvent[] {
  const body = envelope(error)
  try {
    const own = rules?.failed?.(body, sent)
    sent.push(...(own ?? []))
    if (own) return own
  } catch {
    // What makes them may be what has failed, and is reported as such.
  }
  return [{ data: body }]
}
