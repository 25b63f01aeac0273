// The spans of what the gateway does around the attempts of a call: knowledge, guardrails and the cache.
import type { EndedStep } from '../contract/observation.ts'
import type { GuardrailRecord, TraceRecord } from '../contract/trace.ts'
import type { EndedCall } from './calls.ts'
import { limitedJson } from './content.ts'
import { GEN_AI, OWN, RETRIEVAL } from './conventions.ts'
import { type AttributeValues, asContent, createSpan, MAX_CONTENT, type OtlpSpan, SPAN_KIND } from './span.ts'
import { callSpanId, partSpanId } from './trace-context.ts'

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

/** Spans of the steps that the gateway took before and after the attempts; `place` converts times of the trace. */
export function stepSpans(call: EndedCall, place: (sessionMs: number) => number): OtlpSpan[] {
  const { trace, position, attemptEnds, begun, offset } = call
  const observed = Map.groupBy(call.steps, ({ kind }) => kind)
  // One step follows the other: the end of the last is more precise than a whole millisecond.
  let last = begun
  return orderedSteps(call).map(({ kind, part, name, attributes, started_ms = 0, duration_ms = 0, after }) => {
    if (after) last = Math.max(last, attemptEnds.at(-1)?.at ?? last)
    const end = observed.get(kind)?.shift()?.at ?? place(started_ms + duration_ms)
    const start = Math.min(end, Math.max(last, place(started_ms)))
    last = end
    return createSpan({
      traceId: position.traceId,
      state: position.state,
      spanId: partSpanId(trace.id, part),
      parentId: callSpanId(trace.id),
      name,
      kind: SPAN_KIND.internal,
      ...{ start, end, offset, attributes },
    })
  })
}

/** The steps in the order in which they are taken. */
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
