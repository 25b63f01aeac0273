// Runs a call from its body to its response; each step is a file in this folder.
import type { MatchedFaults } from '../contract/core/fault.ts'
import type { Reply } from '../contract/core/reply.ts'
import type { Wire } from '../contract/core/wire.ts'
import { lazy } from '../lib/lazy.ts'
import { isLarge } from '../lib/slices.ts'
import { isComplete } from '../lib/sse.ts'
import { cachedAnswer } from './cache.ts'
import { type Call, type InnerAnswer, innerCall } from './call.ts'
import { guard } from './guardrails.ts'
import { parseBody, parseLargeBody, passedOn } from './passing.ts'
import { plain, planCall, prepared, type ReadyCall, SCENARIO } from './prepare.ts'
import { type CallEnding, callEndOf } from './record/end.ts'
import { startTrace, type TraceRecorder } from './record/recorder.ts'
import type { AttemptAnswer } from './record/recording.ts'
import { headerAllowance } from './record/request-headers.ts'
import { route } from './route.ts'
import { toResponse } from './stream/respond.ts'
import { sentWhole } from './stream/sent-body.ts'
import { respondThroughFaults } from './through-faults.ts'
import { toReply } from './to-reply.ts'
import type { CallContext, CallEnd, Gateway, GatewayParts } from './types.ts'

// Loaded for the first direct call with a scenario or with a provider's own bytes.
const direct = lazy<typeof import('./direct.ts')>(() => require('./direct.ts'))
// Loaded for the first stream of a compatible API.
const sentEvents = lazy<typeof import('./stream/sent-events.ts')>(() => require('./stream/sent-events.ts'))

/** Creates a gateway from its parts. */
export const createGateway = (parts: GatewayParts): Gateway => {
  const recordingParts: RecordingParts = { ...parts, headers: headerAllowance() }
  return {
    ...parts,
    handle: (call) => runRecorded(call, recordingParts, toClient),
    call: (inner) => runRecorded(innerCall(inner), recordingParts, toProgram),
  }
}

type RecordingParts = GatewayParts & CallEnding

/** Returns the response of a call to its maker: a client, or the program itself. */
interface Delivery<Result> {
  /** Handles direct calls and calls with faults on the response; undefined for all others. */
  special?(ready: ReadyCall, end: CallEnd, parts: RecordingParts): Promise<Result> | undefined
  deliver(reply: Reply, ready: ReadyCall, parts: RecordingParts): Result | Promise<Result>
}

/** Runs a call from its body to its response. Every outcome ends the call. */
async function runRecorded<Result>(call: Call, parts: RecordingParts, delivery: Delivery<Result>): Promise<Result> {
  // The scenario and its clock may change during the call; the call keeps the ones it began with.
  const scenario = parts.runs.current(call.session)
  const passed = passedOn(call, parts.backend)
  // The request is sent before it is parsed here, unless a scenario may prevent that.
  const sending = passed && !scenario && !call.headers.has(SCENARIO) ? passed.begin() : undefined
  const recording = startTrace(call, parts)
  recording.passed = passed
  const end = callEndOf(recording, parts)
  try {
    if (sending) await sending
    const { clock } = call.session
    const parsed = isLarge(call.text) ? await clock.work(parseLargeBody(call, passed)) : parseBody(call, passed)
    const planned = planCall(call, parsed, { recording, gateway: parts })
    const ready = plain(planned) ?? (await clock.work(prepared(planned)))
    const special = delivery.special?.(ready, end, parts)
    if (special) return await special
    const { callContext, cacheKey } = ready
    const answer = await answerTo(ready)
    const { wire } = call
    const reply = wire
      ? putOnWire(toReply(answer, { callContext, cacheKey, atOnce: true }), wire, { call, recording, end })
      : toReply(answer, { callContext, cacheKey, atOnce: true, end })
    // A stream in progress ends the call with its last event.
    if (reply.body.kind !== 'events' || isComplete(reply.body.events)) {
      const { body } = reply
      if (body.kind === 'bytes' && body.bytes instanceof Uint8Array)
        recording.sent = { body: sentWhole(body.bytes), type: body.contentType }
      const problem = await end.end({ status: 200, headers: reply.headers })
      if (problem) throw problem
    }
    return await delivery.deliver(reply, ready, parts)
  } catch (error) {
    throw await end.fail(error)
  }
}

const toClient: Delivery<Response> = {
  special(ready, end, { clientTimeout }) {
    const { callContext, targets } = ready
    const { call, recording, scenario } = callContext
    const { wire } = call
    const [target] = targets
    if (recording.direct) {
      // Without a scenario and without a provider's own bytes, the response takes the usual path.
      if (!wire || !target || !(scenario || recording.passed)) return undefined
      return direct().answerDirectly({ callContext, target, wire, end, clientTimeout })
    }
    const faults = faultsOnResponse(callContext)
    return faults && answerThroughFaults(faults, ready, end)
  },
  deliver: (reply, { callContext: { call } }, { clientTimeout }) =>
    toResponse(reply, { clientTimeout, hold: call.hold }),
}

const toProgram: Delivery<InnerAnswer> = {
  deliver: (reply, { callContext: { recording } }) => ({ trace: recording.id, reply }),
}

/** The reply in the format of a compatible API, recorded as it is sent. */
function putOnWire(
  answer: Reply,
  wire: Wire,
  { call, recording, end }: { call: Call; recording: TraceRecorder; end: CallEnd },
): Reply {
  const reply = wire.put(answer, call)
  const { body } = reply
  if (body.kind === 'events') return sentEvents().noted({ ...reply, body }, { wire, recording, end })
  if (body.kind === 'bytes' || body === answer.body) return reply
  const text = body.text ?? JSON.stringify(body.value)
  recording.sent = { body: sentWhole(text) }
  return { ...reply, body: { ...body, text } }
}

/** The response after the faults between the gateway and the client. */
async function answerThroughFaults(faults: MatchedFaults, ready: ReadyCall, end: CallEnd): Promise<Response> {
  const { callContext } = ready
  const answer = async () => toReply(await answerTo(ready), ready)
  return respondThroughFaults(faults, callContext, { answer, end, connection: await callContext.call.hold?.find() })
}

/** The response to a call, from its targets. */
const answerTo = (ready: ReadyCall): Promise<AttemptAnswer> =>
  ready.guards.length > 0 || ready.cacheKey !== undefined
    ? checkedAnswer(ready)
    : route(ready.callContext, ready.targets)

/** The response to a call, from the cache or from its targets, with the guardrails before and after. */
async function checkedAnswer({ callContext, targets, cacheKey, guards }: ReadyCall): Promise<AttemptAnswer> {
  if (guards.length > 0) await guard(callContext, guards)
  const stored = cacheKey === undefined ? undefined : cachedAnswer(callContext, cacheKey)
  const answer = stored ?? (await route(callContext, targets))
  if (guards.length > 0) await guard(callContext, guards, answer.content)
  return answer
}

/** The faults between the gateway and the client; undefined when there are none. */
function faultsOnResponse({ scenario, facts, operation, request, stream, session }: CallContext) {
  const place = { at: 'gateway', position: 0, attempt: 1 } as const
  const model = operation.model(request)
  return scenario?.faults(session.clock, { ...facts, ...place, operation, request, stream, model })
}
