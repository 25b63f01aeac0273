// Prepares a call for its attempts: plans it and renders the request where needed.
import type { AnswerContext } from '../contract/core/operation.ts'
import { nextTurn } from '../lib/bare-socket.ts'
import { jsonInSlices } from '../lib/json-slices.ts'
import { isLarge } from '../lib/slices.ts'
import { DEFAULT_SESSION } from '../sessions/session.ts'
import { keyOf } from './cache.ts'
import { type Call, originOf } from './call.ts'
import { callKind, callSiteOf } from './call-site.ts'
import { guardsOf } from './guardrails.ts'
import { historyMode } from './history.ts'
import { type ParsedBody, promptIn } from './passing.ts'
import { planOf, type Target } from './plan.ts'
import type { TraceRecorder } from './record/recorder.ts'
import { needsGateway, settingsOf } from './settings.ts'
import type { CallContext, CallGuardrail, GatewayParts } from './types.ts'
import { hasVariables, renderVariables } from './variables.ts'

/** Header with the scenario of a single call. */
export const SCENARIO = 'x-understudy-scenario'

/** A call with its parsed body and its targets. */
export interface PlannedCall
  extends Pick<CallContext, 'call' | 'recording' | 'settings' | 'answerContext' | 'scenario'> {
  gateway: GatewayParts
  /** The body, valid unless it is passed on. */
  parsed: object
  targets: readonly Target[]
}

/** A call that is ready for its attempts, with its targets, its cache key and its guardrails. */
export interface ReadyCall {
  callContext: CallContext
  targets: readonly Target[]
  cacheKey: string | undefined
  guards: readonly CallGuardrail[]
}

/**
 * Plans the targets of a call.
 * @throws ApiError for a model of an unknown provider.
 */
export function planCall(
  call: Call,
  { request: parsed, isRead }: ParsedBody,
  { recording, gateway }: Pick<PlannedCall, 'recording' | 'gateway'>,
): PlannedCall {
  const { operation, session } = call
  const settings = settingsOf(operation, parsed)
  recording.isRead = isRead
  recording.request = parsed
  recording.settings = settings
  recording.direct = call.wire !== undefined && !needsGateway(settings)
  const scenario = gateway.runs.ofCall(session, call.headers.get(SCENARIO))
  const { steps } = recording
  steps.scenario = scenario?.name ?? null
  const balanceKey = { session, key: call.inner?.key ?? recording.seq }
  const targets = planOf(operation.model(parsed), settings, balanceKey, call.inner?.fallbacks)
  for (const { model, param } of targets) gateway.providers.check(model, param)
  steps.plan = targets.map(({ model }) => model)
  const answerContext = new CallAnswerContext(call, recording)
  return { call, recording, gateway, parsed, settings, targets, answerContext, scenario }
}

/** Prepares a call whose request needs no lookups, variables or checks; undefined for any other call. */
export function plain(planned: PlannedCall): ReadyCall | undefined {
  const { call, recording, parsed, settings } = planned
  const { knowledge, guardrails, identity, cacheTtl } = settings
  if (isLarge(call.text) || guardrails.length > 0 || cacheTtl !== undefined) return undefined
  if (recording.passed) return readyWith(planned, parsed)
  const request = balanced(planned, parsed)
  if (hasVariables(call, parsed) || refers(call, request) || knowledge.length > 0 || identity) return undefined
  call.operation.check?.(request)
  if (isInterpreted(call)) recording.rendered = JSON.stringify(request)
  return readyWith(planned, request)
}
const NO_GUARDS: readonly CallGuardrail[] = []

const readyWith = (planned: PlannedCall, request: object): ReadyCall => ({
  callContext: contextOf(planned, request),
  targets: planned.targets,
  cacheKey: undefined,
  guards: NO_GUARDS,
})

/** Whether a request contains references to look up. */
const refers = ({ operation }: Call, request: object): boolean =>
  operation.resolve !== undefined && (operation.refers?.(request) ?? true)

/** Prepares any other call. A large one yields to other calls between steps. */
export async function prepared(planned: PlannedCall): Promise<ReadyCall> {
  const { call, recording, gateway, parsed, settings, targets } = planned
  const large = isLarge(call.text)
  if (large) await nextTurn()
  const request = recording.passed ? parsed : await rendered(planned)
  if (large) await nextTurn()
  const callContext = contextOf(planned, request)
  if (large) await nextTurn()
  const cacheKey = settings.cacheTtl === undefined ? undefined : await keyOf(callContext, large)
  const guards =
    settings.guardrails.length === 0
      ? NO_GUARDS
      : await guardsOf(settings, originOf(call, recording.id), gateway.guardrails)
  return { callContext, targets, cacheKey, guards }
}

/** The request with its variables filled in, its references resolved and its retrieved context added. */
async function rendered(planned: PlannedCall): Promise<object> {
  const { call, recording, gateway, parsed, settings, answerContext } = planned
  const { operation } = call
  const large = isLarge(call.text)
  const filled = hasVariables(call, parsed) ? await renderVariables(call, parsed) : parsed
  const named = balanced(planned, filled)
  if (large) await nextTurn()
  operation.check?.(named)
  const resolved = operation.resolve ? ((await operation.resolve(named, answerContext)) as object) : named
  const request = settings.knowledge.length > 0 ? await retrieve(resolved, planned) : resolved
  if (settings.identity) await gateway.people.meet(settings.identity, call)
  if (filled !== parsed || request !== resolved || isInterpreted(call))
    recording.rendered = large ? await jsonInSlices(request) : JSON.stringify(request)
  return request
}

/** The request with the model that the load balancer chose. */
const balanced = ({ settings, targets }: PlannedCall, request: object): object =>
  settings.balance ? { ...request, model: targets[0]?.model } : request

/** What all attempts of a call share. */
function contextOf(planned: PlannedCall, request: object): CallContext {
  const { call, recording, gateway, parsed, settings, answerContext, scenario } = planned
  const { operation, session } = call
  const prompt = recording.passed ? promptIn(operation, request) : operation.prompt(request)
  const stream = operation.streams(request)
  // Values of variables and retrieved texts do not change the call site.
  const sitePrompt = recording.rendered === 'null' ? prompt : { ...operation.prompt(parsed), turn: prompt.turn }
  recording.point = call.inner
    ? undefined
    : callSiteOf(session, callKind({ operation, request, stream, prompt: sitePrompt }, call.wire?.operation))
  return {
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
    scenario,
    history: historyMode({ session, scenario }, gateway.history),
    facts: factsOf(call, recording, { scenario, text: prompt.user }),
  }
}

/** Whether the parsed request differs from the received body: the trace then has both. */
const isInterpreted = ({ operation, assumed, wire }: Call): boolean =>
  operation.body === 'json' && (assumed !== undefined || wire?.take !== undefined)

/** The facts that rules of a scenario match. */
const factsOf = (
  { headers, inner, text: body, url }: Call,
  { settings, point }: TraceRecorder,
  { scenario, text }: Pick<CallContext, 'scenario'> & { text: string },
): CallContext['facts'] => ({
  headers,
  // An internal call has the path of its operation: the URL is that of the call that caused it.
  ...(scenario && !inner && { path: new URL(url).pathname }),
  key: inner?.key ?? scenario?.keyOf(body) ?? '',
  text,
  identity: settings?.identity?.id,
  thread: settings?.thread?.id,
  inner: inner !== undefined,
  agent: inner?.agent,
  point,
})

/** The context of a response. Every call has one, and a class with a getter is created faster than such an object literal. */
class CallAnswerContext implements AnswerContext {
  readonly id: string
  readonly now: number
  readonly secret: string
  readonly keyValues: AnswerContext['keyValues']
  readonly jobLimits: AnswerContext['jobLimits']
  readonly workspace: AnswerContext['workspace']
  readonly publicUrl: AnswerContext['publicUrl']
  readonly #call: Call

  constructor(call: Call, { id, started }: Pick<TraceRecorder, 'id' | 'started'>) {
    const { session, url, caller } = call
    this.id = id
    this.now = started
    this.secret = session.secret
    this.keyValues = session.keyValues
    this.jobLimits = session.jobLimits
    this.workspace = () => caller().workspace
    this.publicUrl = (path) =>
      `${new URL(url).origin}${session.name === DEFAULT_SESSION ? '' : `/s/${encodeURIComponent(session.name)}`}${path}`
    this.#call = call
  }

  get signal(): AbortSignal {
    return this.#call.signal
  }
}

/** The request with the retrieved context; the same request when nothing was found. */
async function retrieve(request: object, { call, settings, recording, gateway }: PlannedCall): Promise<object> {
  const { operation } = call
  if (!operation.addContext) return request
  const { user } = operation.prompt(request)
  const texts: string[] = []
  for (const [index, base] of settings.knowledge.entries()) {
    const { query = user } = base
    const started_ms = recording.elapsed()
    const param = `svc.knowledge_bases[${index}].knowledge_id`
    const { search_type, chunks } = await gateway.knowledge.search(call, { ...base, query, param })
    const duration_ms = recording.elapsed() - started_ms
    const { knowledge_id } = base
    recording.retrieval({ knowledge_id, search_type, query, chunks, started_ms, duration_ms })
    texts.push(...chunks.map(({ text }) => text))
  }
  if (texts.length === 0) return request
  return operation.addContext(request, texts.join('\n\n')) as object
}
