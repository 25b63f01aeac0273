// The spans of a call, from its trace: one for the call, one for each attempt, and those of the steps around them.
import type { AttemptRecord, TraceRecord } from '../contract/trace.ts'
import { agentSpans } from './agent-spans.ts'
import type { EndedCall } from './calls.ts'
import { contentAttributes } from './content.ts'
import { CORE, EVENTS, GEN_AI, genAiOperation, INVOKE_AGENT, OWN, providerAndModel } from './conventions.ts'
import { type AttributeValues, asDouble, createSpan, type EventParts, type OtlpSpan, SPAN_KIND } from './span.ts'
import { stepSpans } from './step-spans.ts'
import { callSpanId, partSpanId } from './trace-context.ts'

/** Builds all spans of a call. */
export function buildSpans(call: EndedCall): OtlpSpan[] {
  const { trace, attemptEnds } = call
  const place = placement(call)
  const spans: OtlpSpan[] = []
  let from = lastStepBefore(attemptEnds[0]?.at ?? call.ended, call)
  const waits: EventParts[] = []
  for (const [index, attempt] of trace.attempts.entries()) {
    const end = attemptEnds[index]?.at ?? place(attempt.started_ms + attempt.duration_ms)
    const start = Math.min(end, Math.max(from, place(attempt.started_ms)))
    if (attempt.wait_ms > 0) waits.push(waitEvent(attempt, place(attempt.started_ms - attempt.wait_ms)))
    spans.push(attemptSpan(call, attempt, { index, start, end }))
    from = end
  }
  spans.push(callSpan(call, waits), ...stepSpans(call, place), ...agentSpans(call, place))
  return spans
}

/** A virtual clock that ran ahead of the real one by more than that is compressed into the time that really passed. */
const JITTER_MS = 50

/** Converts milliseconds since the beginning of a call, by the clock of its session, to a time of observations. */
function placement({ trace, begun, ended }: EndedCall): (sessionMs: number) => number {
  const real = ended - begun
  const scale = trace.duration_ms > real + JITTER_MS ? real / trace.duration_ms : 1
  return (ms) => Math.min(ended, begun + Math.max(0, ms) * scale)
}

/** When the steps before the attempts ended, which is more precise than the whole milliseconds of the trace. */
function lastStepBefore(end: number, { begun, steps }: EndedCall): number {
  let last = begun
  for (const { at } of steps) if (at <= end) last = Math.max(last, at)
  return last
}

const waitEvent = ({ target, why, wait_ms }: AttemptRecord, at: number): EventParts => ({
  name: EVENTS.wait,
  at,
  attributes: { [OWN.wait]: wait_ms, [OWN.why]: why, [GEN_AI.requestModel]: providerAndModel(target).model },
})

const faultEvents = (faults: readonly string[], scenario: string | null, at: number): EventParts[] =>
  faults.map((rule) => ({ name: EVENTS.fault, at, attributes: { [OWN.rule]: rule, [OWN.scenario]: scenario } }))

/** Why a call or an attempt failed, in a word; undefined when it did not. */
function errorType(outcome: TraceRecord['outcome'], status: number): string | undefined {
  if (outcome === 'answered') return status >= 400 ? String(status) : undefined
  if (outcome === 'refused') return String(status)
  return outcome === 'timed out' ? 'timeout' : outcome
}

/** The model that is called, as its provider knows it. */
function modelAttributes(target: string): AttributeValues {
  const { provider, model } = providerAndModel(target)
  return { [GEN_AI.provider]: provider, [GEN_AI.requestModel]: model }
}

function callSpan(call: EndedCall, waits: readonly EventParts[]): OtlpSpan {
  const { trace, seq, position, begun, ended, offset, httpStatus } = call
  const { id, session, operation, inner, status, outcome, scenario, task, thread, point, fixture, cost } = trace
  const { route, attributes: address } = addressAttributes(inner ? undefined : call.address)
  const type = errorType(outcome, status)
  // What a client did wrong is not an error of the server, and a client may leave.
  const failed = type !== undefined && outcome !== 'cancelled' && !(outcome === 'refused' && status < 500)
  const error = failed ? type : undefined
  return createSpan({
    ...position,
    spanId: callSpanId(id),
    name: task ? `${INVOKE_AGENT} ${task.agent}` : route === undefined ? operation : `POST ${route}`,
    kind: inner ? SPAN_KIND.internal : SPAN_KIND.server,
    start: begun,
    end: ended,
    offset,
    attributes: {
      ...address,
      [CORE.status]: inner ? undefined : httpStatus,
      [CORE.errorType]: error,
      [OWN.session]: session,
      [OWN.operation]: operation,
      [OWN.outcome]: outcome,
      [OWN.point]: point,
      [OWN.scenario]: scenario,
      [OWN.fixture]: fixture,
      [OWN.synthesized]: trace.synthesized || undefined,
      [OWN.trace]: id,
      [OWN.call]: seq,
      [OWN.sessionDuration]: trace.duration_ms,
      ...(task && {
        [GEN_AI.operation]: INVOKE_AGENT,
        [GEN_AI.agent]: task.agent,
        ...(trace.model !== null && modelAttributes(trace.model)),
        [OWN.task]: task.id,
        [OWN.taskState]: task.state,
      }),
      [GEN_AI.conversation]: task?.context_id ?? (thread?.id as string | undefined),
      [OWN.cost]: cost === null ? undefined : asDouble(cost),
      [OWN.retryAfter]: trace.retry_after_ms,
    },
    events: [...waits, ...faultEvents(trace.faults, scenario, ended)],
    error: error && (trace.error?.code ?? error),
  })
}

/** The route of an address and its attributes; nothing for an internal call. */
function addressAttributes(address: EndedCall['address']): { route?: string; attributes?: AttributeValues } {
  const parsed = address && URL.parse(address.received)
  if (!parsed) return {}
  const { pathname, hostname, port, protocol } = parsed
  const scheme = protocol.replace(':', '')
  // Paths of operations have no parameters; the session is not part of them, and a slash at the end means nothing.
  const route = address.route ?? URL.parse(address.url)?.pathname.replace(/(.)\/$/, '$1') ?? pathname
  const attributes = {
    [CORE.method]: 'POST',
    [CORE.route]: route,
    [CORE.path]: pathname,
    [CORE.scheme]: scheme,
    [CORE.serverAddress]: hostname.replace(/^\[|\]$/g, ''),
    [CORE.serverPort]: port === '' ? (scheme === 'https' ? 443 : 80) : Number(port),
  }
  return { route, attributes }
}

function attemptSpan(
  call: EndedCall,
  attempt: AttemptRecord,
  { index, start, end }: { index: number; start: number; end: number },
): OtlpSpan {
  const { trace, position, offset, content } = call
  const { target, outcome, status, first_content_ms: first } = attempt
  const { model } = providerAndModel(target)
  const operation = genAiOperation(trace.operation)
  const error = errorType(outcome, status)
  // The last attempt is the one whose response was given.
  const answered = error === undefined && index === trace.attempts.length - 1
  return createSpan({
    traceId: position.traceId,
    state: position.state,
    spanId: partSpanId(trace.id, `attempt:${index}`),
    parentId: callSpanId(trace.id),
    name: `${operation} ${model}`,
    kind: SPAN_KIND.client,
    ...{ start, end, offset },
    attributes: {
      [GEN_AI.operation]: operation,
      ...modelAttributes(target),
      ...call.parameters,
      [GEN_AI.stream]: trace.stream,
      [CORE.status]: attemptStatus(call, attempt, index),
      [CORE.resend]: index || undefined,
      [CORE.errorType]: error,
      [OWN.attempt]: attempt.number,
      [OWN.why]: attempt.why,
      [OWN.position]: attempt.position || undefined,
      ...(answered && {
        [GEN_AI.responseModel]: providerAndModel(trace.model ?? target).model,
        [GEN_AI.finishReasons]: call.finishReasons,
      }),
      ...(trace.stream && first !== null && { [GEN_AI.firstChunk]: asDouble((first - attempt.started_ms) / 1_000) }),
      ...(answered && { [GEN_AI.responseId]: call.responseId, ...usageAttributes(trace.usage) }),
      ...(answered && content && contentAttributes(content)),
    },
    events: faultEvents(attempt.faults, trace.scenario, end),
    error,
  })
}

/** The HTTP status that a target sent. When the end of an attempt was not observed, it was answered, or refused with a status. */
function attemptStatus({ attemptEnds }: EndedCall, { outcome, status }: AttemptRecord, index: number): number | null {
  const observed = attemptEnds[index]
  if (observed) return observed.httpStatus
  return outcome === 'answered' || outcome === 'refused' ? status : null
}

function tokenCount(counts: unknown, ...names: readonly string[]): number | undefined {
  if (counts == null) return undefined
  const name = names.find((one) => (counts as Readonly<Record<string, unknown>>)[one] != null)
  const count = name && (counts as Readonly<Record<string, unknown>>)[name]
  return typeof count === 'number' ? count : undefined
}

/** Tokens, under the names that the operations have for them. */
function usageAttributes(usage: TraceRecord['usage']): AttributeValues {
  if (usage === null) return {}
  const input = usage.prompt_tokens_details ?? usage.input_tokens_details
  const output = usage.completion_tokens_details ?? usage.output_tokens_details
  return {
    [GEN_AI.inputTokens]: tokenCount(usage, 'prompt_tokens', 'input_tokens'),
    [GEN_AI.outputTokens]: tokenCount(usage, 'completion_tokens', 'output_tokens'),
    [GEN_AI.reasoningTokens]: tokenCount(output, 'reasoning_tokens'),
    [GEN_AI.cacheReadTokens]: tokenCount(input, 'cached_tokens'),
    [GEN_AI.cacheWriteTokens]: tokenCount(input, 'cache_creation_tokens'),
  }
}
