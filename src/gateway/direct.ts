// A call of a compatible API that uses no feature of the gateway. It goes straight to its provider, and the provider's
// bytes reach the client unchanged, apart from faults. The trace records what a correct client reads from them.
import { FAULTS } from '../contract/core/answer-headers.ts'
import { ApiError } from '../contract/core/error.ts'
import type { MatchedFaults } from '../contract/core/fault.ts'
import { ConnectionFailure, jsonReply, type Reply } from '../contract/core/reply.ts'
import type { Wire } from '../contract/core/wire.ts'
import { apiOf } from '../providers/endpoints.ts'
import { providerNamed } from '../providers/index.ts'
import { AttemptCall, isFaulty } from './attempt.ts'
import { answerAttempt, judgeConversation } from './history.ts'
import { errorOf, failureOf, Refusal } from './outcome.ts'
import type { Target } from './plan.ts'
import { headersOf, withDescription } from './record/recorder.ts'
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
  /** How long the client may stop reading a stream, in ms. */
  clientTimeout: number
}

/**
 * The response to a direct call. Undefined when no rule of the scenario matches and no provider's bytes are passed on:
 * the call is then handled like any other.
 */
export function answerDirectly(direct: DirectCall): Promise<Response> | undefined {
  const { callContext, target } = direct
  const faults = faultsOn(callContext, target)
  // The rules have been matched here and must not be matched again.
  callContext.scenario = undefined
  const { recording } = callContext
  if (!faults && !recording.passed) return undefined
  const backendCall = new AttemptCall(callContext, target)
  const record = recording.attempt({ target, number: 1, why: 'first', waited: 0 })
  if (faults) backendCall.isFaulty = isFaulty(callContext, record)
  return respond(direct, { faults, backendCall, record })
}

/** The matching faults of the scenario, those between gateway and client outermost; undefined when there are none. */
function faultsOn({ scenario, facts, operation, request, stream, session }: CallContext, { model }: Target) {
  const about = { ...facts, operation, request, stream, model, position: 0, attempt: 1, direct: true } as const
  return scenario?.faults(session.clock, { ...about, at: 'gateway' }, { ...about, at: 'provider' })
}

/** The only attempt of a direct call. */
interface DirectAttempt {
  faults: MatchedFaults | undefined
  backendCall: AttemptCall
  record: AttemptRecorder
}

async function respond(direct: DirectCall, attempt: DirectAttempt): Promise<Response> {
  const { callContext, wire, end, clientTimeout } = direct
  const { faults, backendCall, record } = attempt
  const { signal } = backendCall
  const { hold } = callContext.call
  const client = { connection: faults && (await hold?.find()), clientTimeout, hold }
  try {
    const reply = faults
      ? await faultyReply(direct, { ...attempt, faults })
      : onWire(await backendReply(direct, attempt), direct)
    const headers = headersWith(callContext.recording, reply)
    const sentCall = { callContext, wire, end, record, model: backendCall.model }
    return await toResponse(await readAlong({ ...reply, headers }, sentCall), client)
  } catch (error) {
    const failure = failureOf(error, signal)
    const nothing = (error instanceof ConnectionFailure || signal.aborted) && !(signal.reason instanceof ApiError)
    record.end(nothing && failure.kind !== 'canceled' ? { ...failure, status: 0 } : failure)
    // The client is told of its own mistakes, and why the session ended the call.
    if (!nothing) {
      callContext.recording.failure = failure
      throw error instanceof ApiError ? error : errorOf(failure)
    }
    callContext.recording.sent = { ended: signal.aborted ? endOfAborted(signal) : breakOf(error), nothing: true }
    await end.end({ status: failure.kind === 'canceled' ? failure.status : 0, headers: {}, failure, read: true })
    return putNothing(error instanceof ConnectionFailure ? error : new ConnectionFailure(failure.message), client)
  }
}

/** The gateway's headers for a call and those of its reply. A provider's own reply has only its own request id. */
function headersWith(recording: CallContext['recording'], { headers: sent, raw }: Reply): Record<string, string> {
  const headers = raw ? withDescription({}, recording) : headersOf(recording)
  const faults = headers[FAULTS] ?? ''
  for (const name in sent) headers[name] = sent[name] ?? ''
  // The reply was created with the headers from before any fault.
  headers[FAULTS] = faults
  return headers
}

/** The provider's reply, passed through the faults of the scenario. */
function faultyReply(direct: DirectCall, attempt: DirectAttempt & { faults: MatchedFaults }): Promise<Reply> {
  const { wire } = direct
  const { faults, backendCall, record } = attempt
  const next = () => backendReply(direct, attempt)
  const put = (reply: Reply) => onWire(reply, direct)
  const onTriggered = (rule: string) => void record.faults.push(rule)
  const form = { ...wire, words: errorProvider(backendCall.model, wire), put }
  return faults.through({ signal: backendCall.signal, onTriggered, form }, next)
}

/** The reply in the format of the client's API, as a provider's own reply is already. */
const onWire = (reply: Reply, { wire, callContext }: DirectCall): Reply =>
  reply.raw ? reply : wire.put(reply, callContext.call)

/** The provider whose error format applies: the called one if it has this API, otherwise the one that defined the API. */
function errorProvider(model: string, { api, words }: Wire): string {
  const provider = model.slice(0, model.indexOf('/'))
  return apiOf(providerNamed(provider).endpoint ?? {}) === api ? provider : words
}

/** The backend's reply, before any fault. */
async function backendReply({ callContext, wire }: DirectCall, { backendCall, record }: DirectAttempt): Promise<Reply> {
  const { recording } = callContext
  if (recording.passed) judgeConversation(callContext, backendCall, record)
  try {
    const reply = await (recording.passed?.reply(backendCall.isFaulty) ??
      answerAttempt(callContext, backendCall, record))
    record.replied(reply)
    if (reply.raw) return reply
    const content = await read(reply, backendCall)
    // The outcome of the attempt is read from the sent bytes instead.
    const attempt: AttemptRecorder = { contentBegan() {}, replied() {}, judged() {}, end() {}, faults: record.faults }
    const answer = { kind: 'succeeded' as const, model: backendCall.model, content, from: reply, attempt }
    return toReply(answer, { callContext, cacheKey: undefined })
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const apiError = errorOf(error.failure)
    return jsonReply(apiError.status, wire.error(apiError, recording.id), apiError.headers)
  }
}
