// One call from its body to its answer: the recipe of the gateway, each step a file beside this one.
import type { ActiveFault, ActiveScenario } from '../contract/fault.ts'
import type { AnswerContext } from '../contract/operation.ts'
import type { Reply } from '../contract/reply.ts'
import { nextTurn } from '../lib/bare-socket.ts'
import { jsonInSlices } from '../lib/json-slices.ts'
import { isLarge } from '../lib/slices.ts'
import { DEFAULT_SESSION } from '../sessions/session.ts'
import { findStored, keyOf } from './cache.ts'
import { type Call, type InnerAnswer, innerCall, originOf } from './call.ts'
import { type CallEnding, callEndOf } from './end.ts'
import { guard, guardsOf } from './guardrails.ts'
import { retrieve } from './knowledge.ts'
import { planOf, type Target } from './plan.ts'
import { callKind, callPoint } from './point.ts'
import { startTrace } from './recorder.ts'
import type { AttemptAnswer, TraceRecorder } from './recording.ts'
import { ReplyEvents } from './reply-events.ts'
import { headerAllowance } from './request-headers.ts'
import { respondAtOnce, toResponse } from './respond.ts'
import { route } from './route.ts'
import { settingsOf } from './settings.ts'
import { respondThroughFaults } from './through-faults.ts'
import { toReply } from './to-reply.ts'
import type { CallContext, CallEnd, CallGuardrail, Gateway, GatewayParts } from './types.ts'
import { renderVariables } from './variables.ts'

/** A gateway of its parts. */
export const createGateway = (given: GatewayParts): Gateway => {
  const parts: RecordingParts = { ...given, headers: headerAllowance() }
  return {
    ...given,
    handle: (call) => recorded(call, parts, answerClient),
    call: (inner) => recorded(innerCall(inner), parts, answerInside),
  }
}

type RecordingParts = GatewayParts & CallEnding

/** Answers a call that can be answered, and ends it. */
type Answering<Answered> = (ready: ReadyCall, end: CallEnd, parts: RecordingParts) => Promise<Answered>

/** Prepares a call and has it answered; whatever becomes of it ends it. */
async function recorded<Answered>(call: Call, parts: RecordingParts, answer: Answering<Answered>): Promise<Answered> {
  // The scenario may have changed, and its clock with it: the call keeps to the one that it begins on.
  parts.runs.current(call.session)
  const recording = startTrace(call, parts.observers)
  const end = callEndOf(recording, parts)
  try {
    return await answer(await call.session.clock.work(prepare(call, recording, parts)), end, parts)
  } catch (error) {
    throw await end.refuse(error)
  }
}

const answerClient: Answering<Response> = async (ready, end, { clientTimeout }) => {
  const { callContext } = ready
  const { call } = callContext
  const faults = callContext.playing ? faultsHeard(callContext, callContext.playing) : NO_FAULTS
  if (faults.length > 0) return answerThroughFaults(faults, ready, end)
  const reply = await replyToEnd(ready, end)
  const { body, headers } = reply
  const atOnce = body.kind === 'events' && body.events instanceof ReplyEvents && !call.wire && body.events.atOnce()
  if (atOnce) return respondAtOnce(await atOnce, headers)
  return toResponse(call.wire?.put(reply, call) ?? reply, { clientTimeout })
}
const NO_FAULTS: readonly ActiveFault[] = []

const answerInside: Answering<InnerAnswer> = async (ready, end) => {
  const reply = await replyToEnd(ready, end)
  return { trace: ready.callContext.recording.id, reply }
}

/** What a client hears through the faults between it and the gateway. */
async function answerThroughFaults(faults: readonly ActiveFault[], ready: ReadyCall, end: CallEnd): Promise<Response> {
  const { callContext } = ready
  const { call } = callContext
  const { wire } = call
  const answer = async () => toReply(await answerOf(ready), ready)
  const door = wire && { wire, put: (reply: Reply) => wire.put(reply, call) ?? reply }
  return respondThroughFaults(faults, callContext, { answer, end, connection: await call.hold?.find(), door })
}

/** The answer where no fault comes between it and who asked: the call ends with the last of it. */
async function replyToEnd(ready: ReadyCall, end: CallEnd): Promise<Reply> {
  const { callContext, cacheKey } = ready
  const reply = toReply(await answerOf(ready), { callContext, cacheKey, end })
  if (reply.body.kind === 'events') return reply
  const problem = await end.end({ status: 200, headers: reply.headers })
  if (problem) throw problem
  return reply
}

/** A call that can be answered: where it may go, where its answer is stored, and what checks it. */
interface ReadyCall {
  callContext: CallContext
  targets: readonly Target[]
  cacheKey: string | undefined
  guards: readonly CallGuardrail[]
}

/** Parses and renders a call and plans where it may go. */
async function prepare(call: Call, recording: TraceRecorder, gateway: GatewayParts): Promise<ReadyCall> {
  const { operation, session } = call
  const large = isLarge(call.text)
  if (large) await nextTurn()
  const parsing = call.parse()
  const parsed = (parsing instanceof Promise ? await parsing : parsing) as object
  if (large) await nextTurn()
  const settings = settingsOf(operation, parsed)
  recording.request = parsed
  recording.settings = settings
  const playing = gateway.runs.ofCall(session, call.headers.get('x-understudy-scenario'))
  recording.playing(playing)
  const answerContext = makingOf(call, recording)
  const targets = planOf(operation.model(parsed), settings, { session, key: call.inner?.key ?? recording.seq })
  for (const { model, param } of targets) gateway.providers.check(model, param)
  recording.plan(targets)
  const rendering = renderVariables(operation, parsed, call.text.length)
  const rendered = (rendering instanceof Promise ? await rendering : rendering) as object
  const balanced = settings.balance ? { ...rendered, model: targets[0]?.model } : rendered
  if (large) await nextTurn()
  const resolved = (operation.resolve ? await operation.resolve(balanced, answerContext) : balanced) as object
  const known = retrieve(resolved, { operation, settings, call, recording }, gateway.knowledge)
  const request = known instanceof Promise ? await known : known
  if (settings.identity) await gateway.people.meet(settings.identity, call)
  if (rendered !== parsed || request !== resolved || isInterpreted(call))
    recording.rendered = large ? await jsonInSlices(request) : JSON.stringify(request)
  if (large) await nextTurn()
  const prompt = operation.prompt(request)
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
  if (large) await nextTurn()
  const cacheKey = settings.cacheTtl === undefined ? undefined : await keyOf(callContext, large)
  const guards =
    settings.guardrails.length === 0 ? [] : await guardsOf(settings, originOf(call, recording.id), gateway.guardrails)
  return { callContext, targets, cacheKey, guards }
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
function answerOf(ready: ReadyCall): Promise<AttemptAnswer> {
  const { callContext, targets, cacheKey, guards } = ready
  if (guards.length > 0) return guardedAnswer(ready)
  const stored = cacheKey === undefined ? undefined : cached(callContext, cacheKey)
  return stored ? Promise.resolve(stored) : route(callContext, targets)
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

/** The faults between the gateway and the client. */
function faultsHeard(
  { facts, operation, request, stream, session }: CallContext,
  playing: ActiveScenario,
): readonly ActiveFault[] {
  const point = { at: 'gateway' as const, position: 0, attempt: 1, now: session.clock.now() }
  return playing.faults({ ...facts, ...point, operation, request, stream, model: operation.model(request) })
}

/** The stored answer to an equal call as one that needs no attempt. */
function cached(callContext: CallContext, key: string): AttemptAnswer | undefined {
  const { operation, request, answerContext, stream, recording, session } = callContext
  const stored = findStored(callContext, key)
  recording.cache(key, stored && session.clock.now() - stored.at)
  if (!stored) return undefined
  const { model, usage } = stored
  const replayed = operation.replay?.(request, stored.answer, answerContext)
  const content =
    stream && replayed
      ? { kind: 'stream' as const, events: replayed.events(), whole: undefined }
      : { kind: 'whole' as const, value: replayed?.body() ?? stored.answer }
  return { kind: 'answered', model, content, from: { headers: {}, usage, fixture: null, synthesized: false } }
}

function makingOf({ session, url, caller }: Call, { id, started }: { id: string; started: number }): AnswerContext {
  return {
    id,
    now: started,
    secret: session.secret,
    keyValues: session.keyValues,
    workspace: () => caller().workspace,
    publicUrl: (path) => `${new URL(url).origin}${session.name === DEFAULT_SESSION ? '' : `/s/${session.name}`}${path}`,
  }
}
