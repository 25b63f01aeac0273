// The spans of what happens around the attempts of a call: knowledge, guardrails, the cache, and what an agent does.
import type { TaskStep, TraceRecord } from '../../contract/trace.ts'
import { CORE, EXECUTE_TOOL, GEN_AI, OWN, RETRIEVAL } from './conventions.ts'
import type { EndedCall, Placement } from './ended-call.ts'
import { intAttribute, LONGEST_CONTENT, SPAN_KIND, type SpanParts, spanJson, textAttribute } from './json.ts'
import { otelSpanId, type TracePosition } from './trace-context.ts'

/** A step about whose time nothing is known but its order. */
interface Instant {
  part: string
  at: number
  name: string
  attributes: readonly string[]
}

/** Spans of the steps that the gateway took before and after the attempts. Their time is not recorded: they have no length. */
export function stepSpans(call: EndedCall, place: Placement): string[] {
  const { trace, position, attemptEnds, ended } = call
  const { retrievals, guardrails, cache, attempts } = trace
  if (retrievals.length === 0 && guardrails.length === 0 && cache === null) return []
  const [first] = attempts
  const before = first ? place(first.started_ms - first.wait_ms) : ended
  const after = attemptEnds.at(-1) ?? ended
  const span = ({ part, at, name, attributes }: Instant) =>
    spanJson({
      traceId: position.traceId,
      spanId: otelSpanId(trace.id, part),
      parentId: otelSpanId(trace.id),
      name,
      kind: SPAN_KIND.internal,
      start: at,
      end: at,
      attributes,
    })
  return [
    ...retrievals.map((found, index) =>
      span({
        part: `retrieval:${index}`,
        at: before,
        name: `${RETRIEVAL} ${found.knowledge_id}`,
        attributes: retrievalAttributes(found, call.content !== undefined),
      }),
    ),
    ...guardrails.map(({ id, stage, outcome }, index) =>
      span({
        part: `guardrail:${index}`,
        at: stage === 'input' ? before : after,
        name: `guardrail ${id}`,
        attributes: [
          textAttribute(OWN.guardrail, id),
          textAttribute(OWN.guardrailStage, stage),
          textAttribute(OWN.guardrailOutcome, outcome),
        ],
      }),
    ),
    ...(cache
      ? [span({ part: 'cache', at: before, name: `cache ${cache.status}`, attributes: cacheAttributes(cache) })]
      : []),
  ]
}

const cacheAttributes = ({ status, age_ms: age }: NonNullable<TraceRecord['cache']>) => [
  textAttribute(OWN.cacheStatus, status),
  ...(age === null ? [] : [intAttribute(OWN.cacheAge, age)]),
]

function retrievalAttributes(
  { knowledge_id, query, chunks }: TraceRecord['retrievals'][number],
  content: boolean,
): string[] {
  const documents = () => JSON.stringify(chunks.map(({ id, score }) => ({ id, score })))
  return [
    textAttribute(GEN_AI.operation, RETRIEVAL),
    textAttribute(GEN_AI.dataSource, knowledge_id),
    intAttribute(OWN.chunks, chunks.length),
    ...(content
      ? [
          textAttribute(GEN_AI.query, query, LONGEST_CONTENT),
          textAttribute(GEN_AI.documents, documents(), LONGEST_CONTENT),
        ]
      : []),
  ]
}

/** The id of the span of an iteration of an agent: the calls of models that it makes know it before it has ended. */
export const iterationSpanId = (trace: string, iteration: number): string => otelSpanId(trace, `iteration:${iteration}`)

/** Spans of the turn of an agent: its iterations, with the tools that they run. */
export function taskSpans(
  trace: TraceRecord,
  { traceId, place, ended }: TracePosition & { place: Placement; ended: number },
): string[] {
  const steps = trace.task?.steps ?? []
  const origin = Date.parse(trace.started_at)
  const timesOf = ({ started_at, duration_ms }: TaskStep) => {
    const began = Date.parse(started_at) - origin
    return { start: place(began), end: place(began + duration_ms) }
  }
  const spans: string[] = []
  const span = (parts: Omit<SpanParts, 'traceId' | 'kind'>) =>
    spans.push(spanJson({ traceId, kind: SPAN_KIND.internal, ...parts }))
  for (const [iteration, ofIteration] of Map.groupBy(steps, (step) => step.iteration)) {
    const times = ofIteration.map(timesOf)
    const spanId = iterationSpanId(trace.id, iteration)
    span({
      spanId,
      parentId: otelSpanId(trace.id),
      name: `iteration ${iteration}`,
      start: Math.min(...times.map(({ start }) => start)),
      end: Math.min(ended, Math.max(...times.map(({ end }) => end))),
      attributes: [intAttribute(OWN.iteration, iteration)],
      error: ofIteration.some(({ outcome }) => outcome === 'failed') ? 'failed' : undefined,
    })
    for (const [index, step] of ofIteration.entries()) {
      // The call of a model has a trace, and so spans of its own; so has the task of another agent.
      if (step.kind !== 'tool') continue
      const failed = step.outcome === 'failed'
      span({
        spanId: otelSpanId(trace.id, `tool:${iteration}:${index}`),
        parentId: spanId,
        name: `${EXECUTE_TOOL} ${step.name}`,
        ...timesOf(step),
        attributes: [
          textAttribute(GEN_AI.operation, EXECUTE_TOOL),
          textAttribute(GEN_AI.tool, step.name),
          ...(step.tool_call_id === null ? [] : [textAttribute(GEN_AI.toolCall, step.tool_call_id)]),
          ...(failed ? [textAttribute(CORE.errorType, 'failed')] : []),
        ],
        error: failed ? 'failed' : undefined,
      })
    }
  }
  return spans
}
