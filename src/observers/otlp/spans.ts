// The spans of a call, from its trace: one for the call, one for each attempt, and those of the steps around them.
import type { AttemptRecord, TraceRecord } from '../../contract/trace.ts'
import { remembering, rememberingAll } from '../../lib/remember.ts'
import { agentSpans } from './agent-spans.ts'
import { attemptSpan, errorTypeOf, faultEvents, modelAttributes } from './attempt-span.ts'
import { CORE, EVENTS, GEN_AI, INVOKE_AGENT, OWN, providerAndModel } from './conventions.ts'
import { type EndedCall, placementOf } from './ended-call.ts'
import {
  attributeList,
  booleanAttribute,
  doubleAttribute,
  intAttribute,
  optionalInt,
  optionalText,
  SPAN_KIND,
  spanEvent,
  spanJson,
  textAttribute,
} from './json.ts'
import { stepSpans } from './step-spans.ts'
import { callSpanId } from './trace-context.ts'

/** All spans of a call, each as text. */
export function spansOf(call: EndedCall): string[] {
  const { trace, attemptEnds } = call
  const place = placementOf(call)
  const spans: string[] = []
  let from = lastStepBefore(attemptEnds[0]?.at ?? call.ended, call)
  const waits: string[] = []
  for (const [index, attempt] of trace.attempts.entries()) {
    const end = attemptEnds[index]?.at ?? place(attempt.started_ms + attempt.duration_ms)
    const start = Math.min(end, Math.max(from, place(attempt.started_ms)))
    if (attempt.wait_ms > 0) waits.push(waitEvent(attempt, place(attempt.started_ms - attempt.wait_ms)))
    spans.push(attemptSpan(call, index, { start, end }))
    from = end
  }
  spans.push(callSpan(call, waits), ...stepSpans(call, place), ...agentSpans(call, place))
  return spans
}

/** When the steps before the attempts were over, which no whole millisecond of the session's clock says. */
function lastStepBefore(end: number, { begun, steps }: EndedCall): number {
  let last = begun
  for (const { at } of steps) if (at <= end) last = Math.max(last, at)
  return last
}

const waitEvent = ({ target, why, wait_ms }: AttemptRecord, at: number): string =>
  spanEvent(
    EVENTS.wait,
    at,
    attributeList(
      intAttribute(OWN.wait, wait_ms),
      textAttribute(OWN.why, why),
      textAttribute(GEN_AI.requestModel, providerAndModel(target).model),
    ),
  )

const pathnameOf = remembering((url: string) => URL.parse(url)?.pathname)
const addressOf = rememberingAll((received: string, url: string, named: string | undefined) => {
  const parsed = URL.parse(received)
  if (!parsed) return { route: undefined, attributes: '' }
  const { pathname, hostname, port, protocol } = parsed
  const scheme = protocol.replace(':', '')
  // Paths of operations have no parameters; the session is taken out of them, and a slash at their end means nothing.
  const route = named ?? pathnameOf(url)?.replace(/(.)\/$/, '$1') ?? pathname
  const attributes = attributeList(
    textAttribute(CORE.method, 'POST'),
    textAttribute(CORE.route, route),
    textAttribute(CORE.path, pathname),
    textAttribute(CORE.scheme, scheme),
    textAttribute(CORE.serverAddress, hostname.replace(/^\[|\]$/g, '')),
    intAttribute(CORE.serverPort, port === '' ? (scheme === 'https' ? 443 : 80) : Number(port)),
  )
  return { route, attributes }
})

/** What many calls have in common. */
const callAttributes = rememberingAll(
  (
    session: string,
    operation: string,
    outcome: TraceRecord['outcome'],
    status: number | undefined,
    errorType: string | undefined,
    point: string | undefined,
    scenario: string | null,
    fixture: string | null,
    synthesized: boolean,
  ) =>
    attributeList(
      optionalInt(CORE.status, status),
      optionalText(CORE.errorType, errorType),
      textAttribute(OWN.session, session),
      textAttribute(OWN.operation, operation),
      textAttribute(OWN.outcome, outcome),
      optionalText(OWN.point, point),
      optionalText(OWN.scenario, scenario),
      optionalText(OWN.fixture, fixture),
      synthesized ? booleanAttribute(OWN.synthesized, true) : undefined,
    ),
)

function callSpan(call: EndedCall, waits: readonly string[]): string {
  const { trace, seq, position, begun, ended, httpStatus } = call
  const { id, session, operation, inner, status, outcome, scenario, task, thread, point, fixture, cost } = trace
  const at = inner ? undefined : call.address
  const address = at && addressOf(at.received, at.url, at.route)
  const route = address?.route
  const errorType = errorTypeOf(outcome, status)
  // What a client did wrong is no error of a server, and a client may leave.
  const failed = errorType !== undefined && outcome !== 'cancelled' && !(outcome === 'refused' && status < 500)
  const shown = inner ? undefined : (httpStatus ?? undefined)
  const error = failed ? errorType : undefined
  return spanJson({
    traceId: position.traceId,
    spanId: callSpanId(id),
    parentId: position.parentId,
    remote: position.remote,
    state: position.state,
    name: task ? `${INVOKE_AGENT} ${task.agent}` : route === undefined ? operation : `POST ${route}`,
    kind: inner ? SPAN_KIND.internal : SPAN_KIND.server,
    start: begun,
    end: ended,
    attributes: attributeList(
      address?.attributes,
      callAttributes(session, operation, outcome, shown, error, point, scenario, fixture, trace.synthesized),
      textAttribute(OWN.trace, id),
      intAttribute(OWN.call, seq),
      intAttribute(OWN.sessionDuration, trace.duration_ms),
      task && agentAttributes(trace.model, task),
      optionalText(GEN_AI.conversation, task?.context_id ?? (thread?.id as string | undefined)),
      cost === null ? undefined : doubleAttribute(OWN.cost, cost),
      optionalInt(OWN.retryAfter, trace.retry_after_ms),
    ),
    events: [...waits, ...faultEvents(trace.faults, scenario, ended)],
    error: error && (trace.error?.code ?? error),
  })
}

const agentAttributes = (model: string | null, { agent, id, state }: NonNullable<TraceRecord['task']>) =>
  attributeList(
    textAttribute(GEN_AI.operation, INVOKE_AGENT),
    textAttribute(GEN_AI.agent, agent),
    model === null ? undefined : modelAttributes(model),
    textAttribute(OWN.task, id),
    textAttribute(OWN.taskState, state),
  )
