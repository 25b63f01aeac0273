// A call of a compatible API that asks for nothing of a gateway: it goes straight to its provider, and what that sends reaches
// the client as it is, faults included. What a correct client makes of it is read along and written into the trace.
import { FAULTS, REQUEST_ID } from '../contract/core/answer-headers.ts'
import { ApiError } from '../contract/core/error.ts'
import type { MatchedFaults } from '../contract/core/fault.ts'
import { ConnectionFailure, jsonReply, type Reply } from '../contract/core/reply.ts'
import type { Wire } from '../contract/core/wire.ts'
import { apiOf } from '../providers/endpoints.ts'
import { providerNamed } from '../providers/index.ts'
import { AttemptCall } from './attempt.ts'
import { answerAttempt, judgeConversation } from './history.ts'
import { errorOf, failureOf, Refusal } from './outcome.ts'
import type { Target } from './plan.ts'
import { headersOf } from './record/recorder.ts'
import type { AttemptRecorder } from './record/recording.ts'
import { read } from './stream/read.ts'
import { putNothing, toResponse } from './stream/respond.ts'
import { breakOf, endOfAborted } from './stream/sent-end.ts'
import { readAlong } from './stream/sent-reply.ts'
import { toReply } from './to-reply.ts'
import type { CallContext, CallEnd } from './types.ts'

/** A call that goes straight to its provider. */
export interface DirectCall {
  callContext: CallContext
  target: Target
  wire: Wire
  end: CallEnd
  /** Longest that the client may read nothing of a stream, in ms. */
  clientTimeout: number
}

/**
 * The response to a direct call; undefined when nothing can change what the backend answers, which is then answered as any
 * call is: no rule of a scenario is about it, and no provider's own bytes are passed on.
 */
export function answerDirectly(direct: DirectCall): Promise<Response> | undefined {
  const { callContext, target } = direct
  const faults = faultsOn(callContext, target)
  // They have been asked for.
  callContext.playing = undefined
  const { recording } = callContext
  if (!faults && !recording.passed) return undefined
  const asked = new AttemptCall(callContext, target)
  const record = recording.attempt({ target, number: 1, why: 'first', waited: 0 })
  return respond(direct, { faults, asked, record })
}

/** The faults of the scenario, those between gateway and client outermost; undefined when there are none. */
function faultsOn({ playing, facts, operation, request, stream, session }: CallContext, { model }: Target) {
  const about = { ...facts, operation, request, stream, model, position: 0, attempt: 1, direct: true } as const
  return playing?.faults(session.clock, { ...about, at: 'gateway' }, { ...about, at: 'provider' })
}

/** The one attempt of a direct call. */
interface DirectAttempt {
  faults: MatchedFaults | undefined
  asked: AttemptCall
  record: AttemptRecorder
}

async function respond(direct: DirectCall, attempt: DirectAttempt): Promise<Response> {
  const { callContext, end, clientTimeout } = direct
  const { faults, asked, record } = attempt
  const { signal } = asked
  const connection = faults && (await callContext.call.hold?.find())
  try {
    const reply = await faultyReply(direct, attempt)
    const own = ownHeaders(callContext.recording, reply)
    // The reply has ours as they were before any fault.
    const headers = { ...own, ...reply.headers, [FAULTS]: own[FAULTS] ?? '' }
    return await toResponse(await readAlong({ ...reply, headers }, { ...direct, record, model: asked.model }), {
      connection,
      clientTimeout,
      hold: callContext.call.hold,
    })
  } catch (error) {
    const failure = failureOf(error, signal)
    const nothing = (error instanceof ConnectionFailure || signal.aborted) && !(signal.reason instanceof ApiError)
    record.end(nothing && failure.kind !== 'canceled' ? { ...failure, status: 0 } : failure)
    // Who called is told of a mistake, and why the session ended the call.
    if (!nothing) {
      callContext.recording.failure = failure
      throw error instanceof ApiError ? error : errorOf(failure)
    }
    callContext.recording.sent = { ended: signal.aborted ? endOfAborted(signal) : breakOf(error), nothing: true }
    await end.end({ status: failure.kind === 'canceled' ? failure.status : 0, headers: {}, failure, read: true })
    return putNothing(error instanceof ConnectionFailure ? error : new ConnectionFailure(failure.message), connection)
  }
}

/** The headers of the call; a provider that gives no request id of its own is given none. */
function ownHeaders(recording: CallContext['recording'], { raw }: Reply): Record<string, string> {
  const { [REQUEST_ID]: id = '', ...own } = headersOf(recording)
  return raw ? own : { [REQUEST_ID]: id, ...own }
}

/** What the provider sends, through the faults of the scenario. */
function faultyReply(direct: DirectCall, attempt: DirectAttempt): Promise<Reply> {
  const { callContext, wire } = direct
  const { faults, asked, record } = attempt
  const next = () => provided(direct, attempt)
  const put = (reply: Reply) => (reply.raw ? reply : wire.put(reply, callContext.call))
  if (!faults) return next().then(put)
  const onTriggered = (rule: string) => void record.faults.push(rule)
  const form = { ...wire, words: speakerOf(asked.model, wire), put }
  return faults.through({ signal: asked.signal, onTriggered, form }, next)
}

/** Who speaks in errors: the provider, where it has the API that was called; otherwise the provider that this is the API of. */
function speakerOf(model: string, { api, words }: Wire): string {
  const provider = model.slice(0, model.indexOf('/'))
  return apiOf(providerNamed(provider).endpoint ?? {}) === api ? provider : words
}

/** What the backend answers, before any fault. */
async function provided({ callContext, wire }: DirectCall, { asked, record }: DirectAttempt): Promise<Reply> {
  const { recording } = callContext
  if (recording.passed) judgeConversation(callContext, asked, record)
  // How the attempt went is what is read of the bytes that are sent.
  const attempt: AttemptRecorder = { contentBegan() {}, replied() {}, judged() {}, end() {}, faults: record.faults }
  try {
    const reply = await (recording.passed?.reply() ?? answerAttempt(callContext, asked, record))
    record.replied(reply)
    if (reply.raw) return reply
    const content = await read(reply, asked)
    return toReply(
      { kind: 'succeeded', model: asked.model, content, from: reply, attempt },
      { callContext, cacheKey: undefined },
    )
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const refused = errorOf(error.failure)
    return jsonReply(refused.status, wire.error(refused, recording.id), refused.headers)
  }
}
