// One call from its body to its answer: the recipe of the gateway, each step a file beside this one.
import type { MatchedFaults } from '../contract/fault.ts'
import type { AnswerContext } from '../contract/operation.ts'
import type { BytesBody, Reply } from '../contract/reply.ts'
import type { Wire } from '../contract/wire.ts'
import { nextTurn } from '../lib/bare-socket.ts'
import { sinceInstant } from '../lib/clock.ts'
import { jsonInSlices } from '../lib/json-slices.ts'
import { lazy } from '../lib/lazy.ts'
import { isLarge } from '../lib/slices.ts'
import { inSteps, type Steps } from '../lib/steps.ts'
import { DEFAULT_SESSION } from '../sessions/session.ts'
import { findStored, keyOf } from './cache.ts'
import { type Call, type InnerAnswer, innerCall, originOf } from './call.ts'
import { type CallEnding, callEndOf } from './end.ts'
import { guard, guardsOf } from './guardrails.ts'
import { retrieve } from './knowledge.ts'
import { type PassedBody, parsePassed, passedOn, promptIn } from './passing.ts'
import { planOf, type Target } from './plan.ts'
import { callKind, callPoint } from './point.ts'
import { startTrace } from './recorder.ts'
import type { AttemptAnswer, TraceRecorder } from './recording.ts'
import { mayBeReady } from './reply-events.ts'
import { headerAllowance } from './request-headers.ts'
import { respondAtOnce, toResponse } from './respond.ts'
import { route } from './route.ts'
import { sentWhole } from './sent-body.ts'
import { needsGateway, type Settings, settingsOf } from './settings.ts'
import { respondThroughFaults } from './through-faults.ts'
import { toReply } from './to-reply.ts'
import type { CallContext, CallEnd, CallGuardrail, Gateway, GatewayParts } from './types.ts'
import { renderVariables } from './variables.ts'

// Loaded for the first call that a scenario, or a provider's own bytes, may reach directly.
const direct = lazy<typeof import('./direct.ts')>(() => require('./direct.ts'))
// Loaded for the first stream of a compatible API.
const sentEvents = lazy<typeof import('./sent-events.ts')>(() => require('./sent-events.ts'))

/** A gateway of its parts. */
export const createGateway = (given: GatewayParts): Gateway => {
  const parts: RecordingParts = { ...given, headers: headerAllowance() }
  return {
    ...given,
    handle: (call) => recorded(call, parts, client),
    call: (inner) => recorded(innerCall(inner), parts, inside),
  }
}

type RecordingParts = GatewayParts & CallEnding

/** Names the scenario of a single call. */
const SCENARIO = 'x-understudy-scenario'

/** Who made a call, and hears its answer. */
interface Listener<Answered> {
  /** What it gets where that is not simply the answer: of a direct call, or through faults of a scenario. */
  otherwise?(ready: ReadyCall, end: CallEnd, parts: RecordingParts): Promise<Answered> | undefined
  take(reply: Reply, ready: ReadyCall, parts: RecordingParts): Answered | Promise<Answered>
}

/** Takes a call from its body to its answer; whatever becomes of it ends it. What need not be waited for takes no turn. */
async function recorded<Answered>(call: Call, parts: RecordingParts, listener: Listener<Answered>): Promise<Answered> {
  // The scenario may have changed, and its clock with it: the call keeps to the one that it begins on.
  const playing = parts.runs.current(call.session)
  const passed = passedOn(call, parts.backend)
  // Before anything is made of it here: that is done while its provider works. A scenario may keep it from that.
  const sending = passed && !playing && !call.headers.has(SCENARIO) ? passed.begin() : undefined
  const recording = startTrace(call, parts.observers)
  recording.passed = passed
  const end = callEndOf(recording, parts)
  try {
    if (sending) await sending
    const preparing = inSteps(prepare(call, recording, parts))
    const ready = preparing instanceof Promise ? await call.session.clock.work(preparing) : preparing
    const other = listener.otherwise?.(ready, end, parts)
    if (other) return await other
    const { callContext, cacheKey } = ready
    const answering = answerOf(ready)
    const answer = answering instanceof Promise ? await answering : answering
    const { wire } = call
    const reply = wire
      ? putOnWire(toReply(answer, { callContext, cacheKey }), wire, { call, recording, end })
      : toReply(answer, { callContext, cacheKey, end })
    // A stream ends the call with the last of its events.
    if (reply.body.kind !== 'events') {
      if (reply.body.kind === 'bytes') noteBytes(reply.body, recording)
      const problem = await end.end({ status: 200, headers: reply.headers })
      if (problem) throw problem
    }
    const taken = listener.take(reply, ready, parts)
    return taken instanceof Promise ? await taken : taken
  } catch (error) {
    throw await end.refuse(error)
  }
}

const client: Listener<Response> = {
  otherwise(ready, end, { clientTimeout }) {
    const { callContext, targets } = ready
    const { call, recording, playing } = callContext
    const { wire } = call
    const [target] = targets
    if (recording.direct) {
      // Without a scenario, and without a provider's own bytes, an answer is put as any other is.
      if (!wire || !target || !(playing || recording.passed)) return undefined
      return direct().answerDirectly({ callContext, target, wire, end, clientTimeout })
    }
    const faults = faultsOnResponse(callContext)
    return faults && answerThroughFaults(faults, ready, end)
  },
  take(reply, { callContext: { call } }, { clientTimeout }) {
    const { body, headers } = reply
    const atOnce = body.kind === 'events' && mayBeReady(body.events) && body.events.atOnce()
    if (atOnce) return atOnce.then((blocks) => respondAtOnce(blocks, headers, { hold: call.hold }))
    return toResponse(reply, { clientTimeout, hold: call.hold })
  },
}

const inside: Listener<InnerAnswer> = {
  take: (reply, { callContext: { recording } }) => ({ trace: recording.id, reply }),
}

const isReady = ({ body }: Reply): boolean => body.kind === 'events' && mayBeReady(body.events) && body.events.isReady

/** An answer as clients of another wire have it, noted as it is sent. */
function putOnWire(
  answer: Reply,
  wire: Wire,
  { call, recording, end }: { call: Call; recording: TraceRecorder; end: CallEnd },
): Reply {
  const reply = wire.put(answer, call)
  const { body } = reply
  if (body.kind === 'events')
    return sentEvents().noted({ ...reply, body }, { wire, recording, end, isReady: isReady(answer) })
  if (body.kind === 'bytes' || body === answer.body) return reply
  const text = body.text ?? JSON.stringify(body.value)
  recording.sent = { body: sentWhole(text) }
  return { ...reply, body: { ...body, text } }
}

function noteBytes({ bytes, contentType }: BytesBody, recording: TraceRecorder): void {
  if (bytes instanceof Uint8Array) recording.sent = { body: sentWhole(bytes), type: contentType }
}

/** What a client hears through the faults between it and the gateway. */
async function answerThroughFaults(faults: MatchedFaults, ready: ReadyCall, end: CallEnd): Promise<Response> {
  const { callContext } = ready
  const answer = async () => toReply(await answerOf(ready), ready)
  return respondThroughFaults(faults, callContext, { answer, end, connection: await callContext.call.hold?.find() })
}

/** A call that can be answered: where it may go, where its answer is stored, and what checks it. */
interface ReadyCall {
  callContext: CallContext
  targets: readonly Target[]
  cacheKey: string | undefined
  guards: readonly CallGuardrail[]
}

/** Parses and renders a call and plans where it may go. */
function* prepare(call: Call, recording: TraceRecorder, gateway: GatewayParts): Steps<ReadyCall> {
  const { operation, session } = call
  const { passed } = recording
  const large = isLarge(call.text)
  if (large) yield nextTurn()
  const parsing = passed ? parsePassed(call) : call.parse()
  const read = parsing instanceof Promise ? yield parsing : parsing
  const parsed = (passed ? (read as PassedBody).request : read) as object
  recording.isRead = !passed || (read as PassedBody).isRead
  if (large) yield nextTurn()
  const settings = settingsOf(operation, parsed)
  recording.request = parsed
  recording.settings = settings
  recording.direct = call.wire !== undefined && !needsGateway(settings)
  const playing = gateway.runs.ofCall(session, call.headers.get(SCENARIO))
  recording.playing(playing)
  const answerContext = makingOf(call, recording)
  const lucky = { session, key: call.inner?.key ?? recording.seq }
  const targets = planOf(operation.model(parsed), settings, lucky, call.inner?.fallbacks)
  for (const { model, param } of targets) gateway.providers.check(model, param)
  recording.plan(targets)
  const request = passed
    ? parsed
    : yield* rendered({ call, parsed, settings, targets, answerContext, recording }, gateway)
  if (large) yield nextTurn()
  const prompt = passed ? promptIn(operation, request) : operation.prompt(request)
  const stream = operation.streams(request)
  // What the user gives for variables and finds in knowledge bases makes no other point.
  const asked = recording.rendered === 'null' ? prompt : { ...operation.prompt(parsed), turn: prompt.turn }
  recording.point = call.inner ? undefined : callPoint(session, callKind({ operation, request, stream, prompt: asked }))
  const callContext: CallContext = {
    call,
    operation,
    session,
    request,
    stream,
    prompt,
    settings,
    answerContext,
    recording,
    backend: gateway.backend,
    playing,
    facts: factsOf(call, recording, { playing, text: prompt.user }),
  }
  if (large) yield nextTurn()
  const cacheKey =
    settings.cacheTtl === undefined ? undefined : ((yield Promise.resolve(keyOf(callContext, large))) as string)
  const guards =
    settings.guardrails.length === 0
      ? []
      : ((yield guardsOf(settings, originOf(call, recording.id), gateway.guardrails)) as CallGuardrail[])
  return { callContext, targets, cacheKey, guards }
}

/** A parsed body, and what its rendering depends on. */
interface ParsedCall {
  call: Call
  parsed: object
  settings: Settings
  targets: readonly Target[]
  answerContext: AnswerContext
  recording: TraceRecorder
}

/** The request with its variables, with what it refers to, and with what knowledge bases have on it. */
function* rendered(
  { call, parsed, settings, targets, answerContext, recording }: ParsedCall,
  gateway: GatewayParts,
): Steps<object> {
  const { operation } = call
  const large = isLarge(call.text)
  const rendering = renderVariables(call, parsed)
  const filled = (rendering instanceof Promise ? yield rendering : rendering) as object
  const balanced = settings.balance ? { ...filled, model: targets[0]?.model } : filled
  if (large) yield nextTurn()
  const resolved = (
    operation.resolve ? yield Promise.resolve(operation.resolve(balanced, answerContext)) : balanced
  ) as object
  const known = retrieve(resolved, { operation, settings, call, recording }, gateway.knowledge)
  const request = (known instanceof Promise ? yield known : known) as object
  if (settings.identity) yield gateway.people.meet(settings.identity, call)
  if (filled !== parsed || request !== resolved || isInterpreted(call))
    recording.rendered = large ? ((yield jsonInSlices(request)) as string) : JSON.stringify(request)
  return request
}

/** Whether a body came in other words, or with names that are understood alone: the trace then has what was made of it. */
const isInterpreted = ({ operation, assumed, wire }: Call): boolean =>
  operation.body === 'json' && (assumed !== undefined || wire?.take !== undefined)

/** What rules of a scenario tell a call by. */
const factsOf = (
  { headers, inner, text: body }: Call,
  { settings, point }: TraceRecorder,
  { playing, text }: Pick<CallContext, 'playing'> & { text: string },
): CallContext['facts'] => ({
  headers,
  key: inner?.key ?? playing?.keyOf(body) ?? '',
  text,
  identity: settings?.identity?.id,
  thread: settings?.thread?.id,
  inner: inner !== undefined,
  agent: inner?.agent,
  point,
})

/** The answer of a call: from the cache or from its targets, with the guardrails before and behind. */
function answerOf(ready: ReadyCall): AttemptAnswer | Promise<AttemptAnswer> {
  const { callContext, targets, cacheKey, guards } = ready
  if (guards.length > 0) return guardedAnswer(ready)
  const stored = cacheKey === undefined ? undefined : cached(callContext, cacheKey)
  return stored ?? inSteps(route(callContext, targets))
}

async function guardedAnswer(ready: ReadyCall): Promise<AttemptAnswer> {
  const { callContext, guards } = ready
  const { operation, request, prompt } = callContext
  await guard(callContext, guards, { stage: 'input', texts: () => operation.inputTexts?.(request) ?? [prompt.user] })
  const answer = await answerOf({ ...ready, guards: [] })
  const { content } = answer
  const texts = () => (content.kind === 'whole' ? (operation.outputTexts?.(content.value as object) ?? []) : undefined)
  await guard(callContext, guards, { stage: 'output', texts })
  return answer
}

/** The faults between the gateway and the client; undefined when there are none. */
function faultsOnResponse({ playing, facts, operation, request, stream, session }: CallContext) {
  const place = { at: 'gateway', position: 0, attempt: 1 } as const
  const model = operation.model(request)
  return playing?.faults(session.clock, { ...facts, ...place, operation, request, stream, model })
}

/** The stored answer to an equal call as one that needs no attempt. */
function cached(callContext: CallContext, key: string): AttemptAnswer | undefined {
  const { operation, request, answerContext, stream, recording, session } = callContext
  const stored = findStored(callContext, key)
  recording.cache(key, stored && sinceInstant(session.clock, stored.at))
  if (!stored) return undefined
  const { model, usage } = stored
  const replayed = operation.replay?.(request, stored.answer, answerContext)
  const content =
    stream && replayed
      ? { kind: 'stream' as const, events: replayed.events(), whole: undefined }
      : { kind: 'whole' as const, value: replayed?.body() ?? stored.answer }
  return { kind: 'answered', model, content, from: { headers: {}, usage, fixture: null, synthesized: false } }
}

function makingOf(call: Call, { id, started }: { id: string; started: number }): AnswerContext {
  const { session, url, caller } = call
  return {
    get signal() {
      return call.signal
    },
    jobLimits: session.jobLimits,
    id,
    now: started,
    secret: session.secret,
    keyValues: session.keyValues,
    workspace: () => caller().workspace,
    publicUrl: (path) => `${new URL(url).origin}${session.name === DEFAULT_SESSION ? '' : `/s/${session.name}`}${path}`,
  }
}
