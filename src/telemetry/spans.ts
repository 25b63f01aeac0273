// The spans of a call, from its trace: one for the call, one for each attempt, and those of the other steps.
import type { EndedStep } from '../contract/core/observation.ts'
import type { AttemptRecord, GuardrailRecord, TaskStep, TraceRecord } from '../contract/core/trace.ts'
import { callSpanId, type EndedCall, iterationPart, partSpanId, stepKey } from './calls.ts'
import { contentAttributes, limitedJson } from './content.ts'
import {
  CORE,
  EVENTS,
  EXECUTE_TOOL,
  GEN_AI,
  genAiOperation,
  INVOKE_AGENT,
  OWN,
  providerAndModel,
  RETRIEVAL,
} from './conventions.ts'
import {
  type AttributeValues,
  asContent,
  asDouble,
  createSpan,
  type EventParts,
  MAX_CONTENT,
  type OtlpSpan,
  SPAN_KIND,
  type SpanParts,
} from './span.ts'

/** Converts milliseconds since the start of a call, by its session's clock, to a time of observations. */
type Placement = (sessionMs: number) => number

/** Builds all spans of a call. */
export function buildSpans(call: EndedCall): OtlpSpan[] {
  const { trace, attemptEnds } = call
  const place = placement(call)
  const spans: OtlpSpan[] = []
  const firstEnd = attemptEnds[0]?.at ?? call.ended
  // The end of the steps before the attempts, which is more precise than the whole milliseconds of the trace.
  let from = Math.max(call.begun, ...call.steps.map(({ at }) => at).filter((at) => at <= firstEnd))
  const waits: EventParts[] = []
  for (const [index, attempt] of trace.attempts.entries()) {
    const end = attemptEnds[index]?.at ?? place(attempt.started_ms + attempt.duration_ms)
    const start = Math.min(end, Math.max(from, place(attempt.started_ms)))
    const { target, reason, wait_ms: wait } = attempt
    if (wait > 0)
      waits.push({
        name: EVENTS.wait,
        at: place(attempt.started_ms - wait),
        attributes: { [OWN.wait]: wait, [OWN.reason]: reason, [GEN_AI.requestModel]: providerAndModel(target).model },
      })
    spans.push(attemptSpan(call, attempt, { index, start, end }))
    from = end
  }
  spans.push(callSpan(call, waits), ...stepSpans(call, place), ...agentSpans(call, place))
  return spans
}

/** If a virtual clock ran ahead of the real one by more than this, its times are compressed into the real time. */
const JITTER_MS = 50

function placement({ trace, begun, ended }: EndedCall): Placement {
  const real = ended - begun
  const scale = trace.duration_ms > real + JITTER_MS ? real / trace.duration_ms : 1
  return (ms) => Math.min(ended, begun + Math.max(0, ms) * scale)
}

const faultEvents = (faults: readonly string[], scenario: string | null, at: number): EventParts[] =>
  faults.map((rule) => ({ name: EVENTS.fault, at, attributes: { [OWN.rule]: rule, [OWN.scenario]: scenario } }))

/** Why a call or an attempt failed, as an error type; undefined if it succeeded. */
function errorType(outcome: TraceRecord['outcome'], status: number): string | undefined {
  if (outcome === 'succeeded') return status >= 400 ? String(status) : undefined
  if (outcome === 'http_error') return String(status)
  return outcome === 'timed_out' ? 'timeout' : outcome
}

/** The called model, by its provider's name. */
function modelAttributes(target: string): AttributeValues {
  const { provider, model } = providerAndModel(target)
  return { [GEN_AI.provider]: provider, [GEN_AI.requestModel]: model }
}

/** The span of a part of a call: internal and a child of the call's span, unless `parts` overrides that. */
const partSpan = (
  { trace, position: { traceId, state }, offset }: EndedCall,
  part: string,
  parts: Pick<SpanParts, 'name' | 'start' | 'end' | 'attributes'> & Partial<SpanParts>,
): OtlpSpan =>
  createSpan({
    ...{ traceId, state, offset, spanId: partSpanId(trace.id, part) },
    ...{ parentId: callSpanId(trace.id), kind: SPAN_KIND.internal, ...parts },
  })

function callSpan(call: EndedCall, waits: readonly EventParts[]): OtlpSpan {
  const { trace, seq, position, begun, ended, offset, httpStatus } = call
  const { id, session, operation, internal: inner, status, outcome, scenario, task } = trace
  const { thread, call_site: point, fixture, cost } = trace
  const { route, attributes: address } = addressAttributes(inner ? undefined : call.address)
  const type = errorType(outcome, status)
  // A client's mistake is not an error of the server, and neither is a disconnect.
  const failed = type !== undefined && outcome !== 'canceled' && !(outcome === 'http_error' && status < 500)
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
      [OWN.generated]: trace.generated || undefined,
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

/** The route of a URL and its attributes; empty for an internal call. */
function addressAttributes(address: EndedCall['address']): { route?: string; attributes?: AttributeValues } {
  const parsed = address && URL.parse(address.received)
  if (!parsed) return {}
  const { pathname, hostname, port, protocol } = parsed
  const scheme = protocol.replace(':', '')
  // Paths of operations have no parameters. The session prefix and a trailing slash are not part of them.
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
  const { trace, content } = call
  const { target, outcome, status, first_content_ms: first } = attempt
  const { model } = providerAndModel(target)
  const operation = genAiOperation(trace.operation)
  const error = errorType(outcome, status)
  // The last attempt is the one whose response was used.
  const answered = error === undefined && index === trace.attempts.length - 1
  return partSpan(call, `attempt:${index}`, {
    name: `${operation} ${model}`,
    kind: SPAN_KIND.client,
    ...{ start, end },
    attributes: {
      [GEN_AI.operation]: operation,
      ...modelAttributes(target),
      ...call.parameters,
      [GEN_AI.stream]: trace.stream,
      [CORE.status]: attemptStatus(call, attempt, index),
      [CORE.resend]: index || undefined,
      [CORE.errorType]: error,
      [OWN.attempt]: attempt.number,
      [OWN.reason]: attempt.reason,
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

/**
 * The HTTP status that a target sent. If the end of an attempt was not observed, it succeeded or failed with a status.
 */
function attemptStatus({ attemptEnds }: EndedCall, { outcome, status }: AttemptRecord, index: number): number | null {
  const observed = attemptEnds[index]
  if (observed) return observed.httpStatus
  return outcome === 'succeeded' || outcome === 'http_error' ? status : null
}

function tokenCount(counts: unknown, ...names: readonly string[]): number | undefined {
  if (counts == null) return undefined
  const name = names.find((one) => (counts as Readonly<Record<string, unknown>>)[one] != null)
  const count = name && (counts as Readonly<Record<string, unknown>>)[name]
  return typeof count === 'number' ? count : undefined
}

/** Tokens, by the names in each operation's usage. */
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

/** A step of a call; its times are those of its trace, in whole milliseconds of the session's clock. */
interface Step {
  kind: EndedStep['kind']
  part: string
  name: string
  attributes: AttributeValues
  started_ms?: number | undefined
  duration_ms?: number | undefined
  /** Whether it follows the attempts. */
  after?: boolean
}

/** Spans of the gateway's steps before and after the attempts; `place` converts times of the trace. */
function stepSpans(call: EndedCall, place: Placement): OtlpSpan[] {
  const { attemptEnds, begun } = call
  const observed = Map.groupBy(call.steps, ({ kind }) => kind)
  // Steps are sequential: the end of the last one is more precise than a whole millisecond.
  let last = begun
  return orderedSteps(call).map(({ kind, part, name, attributes, started_ms = 0, duration_ms = 0, after }) => {
    if (after) last = Math.max(last, attemptEnds.at(-1)?.at ?? last)
    const end = observed.get(kind)?.shift()?.at ?? place(started_ms + duration_ms)
    const start = Math.min(end, Math.max(last, place(started_ms)))
    last = end
    return partSpan(call, part, { name, start, end, attributes })
  })
}

/** The steps in order. */
function orderedSteps({ trace, content }: EndedCall): Step[] {
  const { retrievals, guardrails, cache } = trace
  const guards = guardrails.map(guardrailStep)
  return [
    ...retrievals.map(
      (found, index): Step => ({
        ...found,
        kind: 'retrieval',
        part: `retrieval:${index}`,
        name: `${RETRIEVAL} ${found.knowledge_id}`,
        attributes: retrievalAttributes(found, content !== undefined),
      }),
    ),
    ...guards.filter(({ after }) => !after),
    ...(cache ? [cacheStep(cache)] : []),
    ...guards.filter(({ after }) => after),
  ]
}

const guardrailStep = ({ id, stage, outcome, ...times }: GuardrailRecord, index: number): Step => ({
  ...times,
  kind: 'guardrail',
  part: `guardrail:${index}`,
  name: `guardrail ${id}`,
  attributes: { [OWN.guardrail]: id, [OWN.guardrailStage]: stage, [OWN.guardrailOutcome]: outcome },
  after: stage === 'output',
})

const cacheStep = ({ status, age_ms: age, started_ms }: NonNullable<TraceRecord['cache']>): Step => ({
  kind: 'cache',
  part: 'cache',
  name: `cache ${status}`,
  attributes: { [OWN.cacheStatus]: status, [OWN.cacheAge]: age },
  started_ms,
})

function retrievalAttributes(
  { knowledge_id, query, chunks }: TraceRecord['retrievals'][number],
  content: boolean,
): AttributeValues {
  const attributes = {
    [GEN_AI.operation]: RETRIEVAL,
    [GEN_AI.dataSource]: knowledge_id,
    [OWN.chunks]: chunks.length,
  }
  if (!content) return attributes
  const documents = limitedJson(chunks.map(({ id, score }) => ({ id, score })))
  return {
    ...attributes,
    [GEN_AI.query]: asContent(query),
    [OWN.queryLength]: query.length > MAX_CONTENT ? query.length : undefined,
    [GEN_AI.documents]: asContent(documents.json),
    [OWN.documentsLength]: documents.whole,
  }
}

/** Spans of the iterations of a turn; none for other calls. `place` converts times of the trace. */
function agentSpans(call: EndedCall, place: Placement): OtlpSpan[] {
  const { trace, ended } = call
  if (!trace.task) return []
  const spans: OtlpSpan[] = []
  for (const [iteration, steps] of Map.groupBy(trace.task.steps, (step) => step.iteration)) {
    const times = stepTimes(steps, call, place)
    const around = partSpan(call, iterationPart(iteration), {
      name: `iteration ${iteration}`,
      start: Math.min(...times.map(({ start }) => start)),
      end: Math.min(ended, Math.max(...times.map(({ end }) => end))),
      attributes: { [OWN.iteration]: iteration },
      error: steps.some(({ outcome }) => outcome === 'failed') ? 'failed' : undefined,
    })
    spans.push(around)
    for (const [index, { kind, name, tool_call_id, outcome }] of steps.entries()) {
      const at = times[index]
      // A model call has a trace, and so spans of its own; so has the task of a sub-agent.
      if (kind !== 'tool' || !at) continue
      const error = outcome === 'failed' ? 'failed' : undefined
      const tool = partSpan(call, `tool:${iteration}:${index}`, {
        name: `${EXECUTE_TOOL} ${name}`,
        parentId: around.spanId,
        ...at,
        attributes: {
          [GEN_AI.operation]: EXECUTE_TOOL,
          [GEN_AI.tool]: name,
          [GEN_AI.toolCall]: tool_call_id,
          [CORE.errorType]: error,
        },
        error,
      })
      spans.push(tool)
    }
  }
  return spans
}

/**
 * When the steps of an iteration happened: as observed, else by the trace, in whole milliseconds of the session's
 * clock.
 */
function stepTimes(
  steps: readonly TaskStep[],
  { trace, agent }: EndedCall,
  place: Placement,
): Pick<SpanParts, 'start' | 'end'>[] {
  const origin = Date.parse(trace.started_at)
  // Tools run together, as soon as the model has called them or the last wait is over.
  let last = 0
  return steps.map((step) => {
    const began = Date.parse(step.started_at) - origin
    const end = agent?.ended.get(stepKey(step)) ?? place(began + step.duration_ms)
    const requestedAt = step.kind === 'model' ? agent?.requestedAt.get(step.iteration) : undefined
    const start = Math.min(end, requestedAt ?? Math.max(last, place(began)))
    if (step.kind === 'model' || step.kind === 'wait') last = end
    return { start, end }
  })
}
