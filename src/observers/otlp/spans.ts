// The spans of a call, from its trace: one for the call, one for each attempt, and those of the steps around them.
import type { AttemptRecord, TraceRecord } from '../../contract/trace.ts'
import { remembering } from '../../lib/remember.ts'
import { CORE, EVENTS, GEN_AI, genAiOperation, INVOKE_AGENT, OWN, providerAndModel } from './conventions.ts'
import { type EndedCall, placementOf } from './ended-call.ts'
import {
  booleanAttribute,
  doubleAttribute,
  intAttribute,
  LONGEST_CONTENT,
  SPAN_KIND,
  spanEvent,
  spanJson,
  textAttribute,
  textsAttribute,
} from './json.ts'
import { stepSpans, taskSpans } from './step-spans.ts'
import { otelSpanId } from './trace-context.ts'

/** All spans of a call, each as text. */
export function spansOf(call: EndedCall): string[] {
  const { trace, position, attemptEnds } = call
  const place = placementOf(call)
  const spans: string[] = []
  let from = call.begun
  const waits: string[] = []
  for (const [index, attempt] of trace.attempts.entries()) {
    const end = attemptEnds[index] ?? place(attempt.started_ms + attempt.duration_ms)
    const start = Math.min(end, Math.max(from, place(attempt.started_ms)))
    if (attempt.wait_ms > 0) waits.push(waitEvent(attempt, place(attempt.started_ms - attempt.wait_ms)))
    spans.push(attemptSpan(call, index, { start, end }))
    from = end
  }
  spans.push(callSpan(call, waits), ...stepSpans(call, place))
  if (trace.task) spans.push(...taskSpans(trace, { ...position, place, ended: call.ended }))
  return spans
}

const waitEvent = ({ target, why, wait_ms }: AttemptRecord, at: number): string =>
  spanEvent(EVENTS.wait, at, [
    intAttribute(OWN.wait, wait_ms),
    textAttribute(OWN.why, why),
    textAttribute(GEN_AI.requestModel, providerAndModel(target).model),
  ])

/** Events that say which rules of the scenario have acted. */
const faultEvents = (faults: readonly string[], scenario: string | null, at: number): string[] =>
  faults.map((rule) =>
    spanEvent(EVENTS.fault, at, [
      textAttribute(OWN.rule, rule),
      ...(scenario === null ? [] : [textAttribute(OWN.scenario, scenario)]),
    ]),
  )

const PREFIX = /^\/s\/[^/]+(?=\/)/
const addressAttributes = remembering((url: string) => {
  const parsed = URL.parse(url)
  if (!parsed) return { route: undefined, attributes: [] }
  const { pathname, hostname, port, protocol } = parsed
  const scheme = protocol.replace(':', '')
  // Every path that is called here has no parameters but the session.
  const route = pathname.replace(PREFIX, '')
  const attributes = [
    textAttribute(CORE.method, 'POST'),
    textAttribute(CORE.route, route),
    textAttribute(CORE.path, pathname),
    textAttribute(CORE.scheme, scheme),
    textAttribute(CORE.serverAddress, hostname.replace(/^\[|\]$/g, '')),
    intAttribute(CORE.serverPort, port === '' ? (scheme === 'https' ? 443 : 80) : Number(port)),
  ]
  return { route, attributes }
})

/** What made a call or an attempt fail, in a word of few; undefined when nothing did. */
function errorTypeOf(outcome: TraceRecord['outcome'], status: number): string | undefined {
  if (outcome === 'answered') return status >= 400 ? String(status) : undefined
  if (outcome === 'refused') return String(status)
  return outcome === 'timed out' ? 'timeout' : outcome
}

function callSpan(call: EndedCall, waits: readonly string[]): string {
  const { trace, seq, position, begun, ended, url } = call
  const { id, session, operation, inner, status, outcome, scenario, task, thread, point, fixture, cost } = trace
  const { route, attributes: address } =
    inner || url === undefined ? { route: undefined, attributes: [] } : addressAttributes(url)
  const errorType = errorTypeOf(outcome, status)
  // What a client did wrong is no error of a server, and a client may leave.
  const failed = errorType !== undefined && outcome !== 'cancelled' && !(outcome === 'refused' && status < 500)
  const threadId = task?.context_id ?? (thread?.id as string | undefined)
  const agent = task && [
    textAttribute(GEN_AI.operation, INVOKE_AGENT),
    textAttribute(GEN_AI.agent, task.agent),
    ...(trace.model === null ? [] : modelAttributes(trace.model)),
    textAttribute(OWN.task, task.id),
    textAttribute(OWN.taskState, task.state),
  ]
  return spanJson({
    traceId: position.traceId,
    spanId: otelSpanId(id),
    parentId: position.parentId,
    remote: position.remote,
    name: task ? `${INVOKE_AGENT} ${task.agent}` : route === undefined ? operation : `POST ${route}`,
    kind: inner ? SPAN_KIND.internal : SPAN_KIND.server,
    start: begun,
    end: ended,
    attributes: [
      ...address,
      ...(inner ? [] : [intAttribute(CORE.status, status)]),
      ...(failed && errorType !== undefined ? [textAttribute(CORE.errorType, errorType)] : []),
      textAttribute(OWN.trace, id),
      textAttribute(OWN.session, session),
      intAttribute(OWN.call, seq),
      textAttribute(OWN.operation, operation),
      textAttribute(OWN.outcome, outcome),
      intAttribute(OWN.sessionDuration, trace.duration_ms),
      ...(agent ?? []),
      ...(threadId === undefined ? [] : [textAttribute(GEN_AI.conversation, threadId)]),
      ...(point === undefined ? [] : [textAttribute(OWN.point, point)]),
      ...(scenario === null ? [] : [textAttribute(OWN.scenario, scenario)]),
      ...(fixture === null ? [] : [textAttribute(OWN.fixture, fixture)]),
      ...(trace.synthesized ? [booleanAttribute(OWN.synthesized, true)] : []),
      ...(cost === null ? [] : [doubleAttribute(OWN.cost, cost)]),
      ...(trace.retry_after_ms === null ? [] : [intAttribute(OWN.retryAfter, trace.retry_after_ms)]),
    ],
    events: [...waits, ...faultEvents(trace.faults, scenario, ended)],
    error: failed ? (trace.error?.code ?? errorType) : undefined,
  })
}

/** The model that is asked, as its provider knows it. */
const modelAttributes = remembering((target: string): readonly string[] => {
  const { provider, model } = providerAndModel(target)
  return [textAttribute(GEN_AI.provider, provider), textAttribute(GEN_AI.requestModel, model)]
})

function attemptSpan(call: EndedCall, index: number, times: { start: number; end: number }): string {
  const { trace, position, parameters, answer, content } = call
  const attempt = trace.attempts[index] as AttemptRecord
  const { target, outcome, status, started_ms, first_content_ms: first } = attempt
  const operation = genAiOperation(trace.operation)
  const errorType = errorTypeOf(outcome, status)
  // The last attempt is the one whose answer was given.
  const answered = errorType === undefined && index === trace.attempts.length - 1
  return spanJson({
    traceId: position.traceId,
    spanId: otelSpanId(trace.id, `attempt:${index}`),
    parentId: otelSpanId(trace.id),
    name: `${operation} ${providerAndModel(target).model}`,
    kind: SPAN_KIND.client,
    ...times,
    attributes: [
      textAttribute(GEN_AI.operation, operation),
      ...modelAttributes(target),
      ...parameters,
      booleanAttribute(GEN_AI.stream, trace.stream),
      intAttribute(CORE.status, status),
      ...(index === 0 ? [] : [intAttribute(CORE.resend, index)]),
      ...(errorType === undefined ? [] : [textAttribute(CORE.errorType, errorType)]),
      intAttribute(OWN.attempt, attempt.number),
      textAttribute(OWN.why, attempt.why),
      ...(attempt.position === 0 ? [] : [intAttribute(OWN.position, attempt.position)]),
      ...(trace.stream && first !== null ? [doubleAttribute(GEN_AI.firstChunk, (first - started_ms) / 1_000)] : []),
      ...(answered ? answerAttributes(target, { trace, answer, content }) : []),
    ],
    events: attempt.faults.length === 0 ? [] : faultEvents(attempt.faults, trace.scenario, times.end),
    error: errorType,
  })
}

function answerAttributes(
  target: string,
  { trace, answer, content }: Pick<EndedCall, 'trace' | 'answer' | 'content'>,
): string[] {
  const { id, finishReasons = [] } = answer
  return [
    textAttribute(GEN_AI.responseModel, providerAndModel(trace.model ?? target).model),
    ...(id === undefined ? [] : [textAttribute(GEN_AI.responseId, id)]),
    ...(finishReasons.length === 0 ? [] : [textsAttribute(GEN_AI.finishReasons, finishReasons)]),
    ...usageAttributes(trace.usage),
    ...(content
      ? [
          textAttribute(GEN_AI.inputMessages, content.input, LONGEST_CONTENT),
          textAttribute(GEN_AI.outputMessages, content.output, LONGEST_CONTENT),
        ]
      : []),
  ]
}

type Counts = Readonly<Record<string, unknown>>
const countIn = (counts: unknown, ...names: readonly string[]): number | undefined => {
  for (const name of names) {
    const count = (counts as Counts | null | undefined)?.[name]
    if (typeof count === 'number') return count
  }
  return undefined
}

/** Tokens, as the wires of operations name them. */
function usageAttributes(usage: TraceRecord['usage']): string[] {
  if (usage === null) return []
  const input = usage.prompt_tokens_details ?? usage.input_tokens_details
  const output = usage.completion_tokens_details ?? usage.output_tokens_details
  const counts = [
    [GEN_AI.inputTokens, countIn(usage, 'prompt_tokens', 'input_tokens')],
    [GEN_AI.outputTokens, countIn(usage, 'completion_tokens', 'output_tokens')],
    [GEN_AI.reasoningTokens, countIn(output, 'reasoning_tokens')],
    [GEN_AI.cacheReadTokens, countIn(input, 'cached_tokens')],
    [GEN_AI.cacheWriteTokens, countIn(input, 'cache_creation_tokens')],
  ] as const
  return counts.flatMap(([name, count]) => (count === undefined ? [] : [intAttribute(name, count)]))
}
