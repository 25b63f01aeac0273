// Turns the outcome of a call into a reply, and records it.
import type { Reply } from '../contract/core/reply.ts'
import { asObject } from '../lib/values.ts'
import { cacheEntry } from './cache.ts'
import type { Failure } from './outcome.ts'
import { headersOf } from './record/recorder.ts'
import type { AnswerEffects, AnswerRecord, AttemptAnswer, SentStream } from './record/recording.ts'
import { eventsAtOnce, replyEvents, sentAtOnce } from './stream/reply-events.ts'
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

/** The response that a client gets; a whole one is complete at once. */
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
