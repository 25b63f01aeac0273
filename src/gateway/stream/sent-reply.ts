// Sends the reply of a direct call, reads it as its client does, and ends the call after the last piece.
import type { ApiError } from '../../contract/core/error.ts'
import { ConnectionFailure, type Reply } from '../../contract/core/reply.ts'
import type { Wire } from '../../contract/core/wire.ts'
import { isStream, streamBytes } from '../../faults/wire.ts'
import { encodeEvent, eventOfType } from '../../lib/sse.ts'
import { asObject } from '../../lib/values.ts'
import { type Failure, failureOf, NOT_RECEIVED } from '../outcome.ts'
import type { AnswerRecord, AttemptRecorder } from '../record/recording.ts'
import { toEnd } from '../through-faults.ts'
import type { CallContext, CallEnd } from '../types.ts'
import { SentBody, sentWhole } from './sent-body.ts'
import { bodyEnd, sentAs } from './sent-end.ts'
import { readSent, rulesOnWire, type SentContent, SentReader } from './sent-reader.ts'

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
    recording.sent = { ...sentAs({ body, cookies }), body: sent, ended, ...(!isSent && { nothing: true }) }
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
  const { failure } = content
  if (raw) callContext.recording.answer = passedAnswer(content, { model, record, wire, redact })
  // An error inside a stream has its own status.
  record.end(failure && { ...failure, status: failure.kind === 'http_error' ? failure.status : status }, status || null)
  return end.end({ status, headers, failure, read: true })
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
  if (events) {
    const whole = assemble && (() => assemble(events))
    const answer = {
      kind: 'succeeded' as const,
      model,
      content: { kind: 'stream' as const, events: [events], whole },
      from,
      attempt: record,
    }
    return { answer, content: { kind: 'events', events, times: [], whole }, ...about }
  }
  if (value === undefined) return undefined
  const content = { kind: 'whole' as const, value }
  return {
    answer: { kind: 'succeeded', model, content, from, attempt: record },
    content: { kind: 'value', value, text: text ?? JSON.stringify(value) },
    ...about,
  }
}

/** What the client received of a body; `failure` and `broken` tell what ended it early. */
async function contentSent(
  reader: SentReader,
  { failure, broken, signal }: { failure: Failure | undefined; broken: unknown; signal: AbortSignal },
): Promise<SentContent> {
  const content = await reader.end(
    failure && failure.kind !== 'internal_error' ? new ConnectionFailure(failure.message) : undefined,
  )
  if (failure?.kind === 'internal_error' || signal.aborted)
    return { ...content, failure: failure ?? failureOf(new ConnectionFailure(NOT_RECEIVED.message), signal) }
  return !failure && broken === NOT_RECEIVED ? { ...content, failure: NOT_RECEIVED } : content
}
