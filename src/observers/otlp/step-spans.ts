// The spans of what the gateway does around the attempts of a call: knowledge, guardrails and the cache.
import type { EndedStep } from '../../contract/observation.ts'
import type { GuardrailRecord, TraceRecord } from '../../contract/trace.ts'
import { limitedJson } from './content-limit.ts'
import { GEN_AI, OWN, RETRIEVAL } from './conventions.ts'
import type { EndedCall, Placement } from './ended-call.ts'
import {
  attributeList,
  intAttribute,
  LONGEST_CONTENT,
  optionalInt,
  SPAN_KIND,
  spanJson,
  textAttribute,
} from './json.ts'
import { callSpanId, partSpanId } from './trace-context.ts'

/** A step of a call; its times are those that its trace says, in whole milliseconds of the session's clock. */
interface Step {
  kind: EndedStep['kind']
  part: string
  name: string
  attributes: string
  started_ms?: number | undefined
  duration_ms?: number | undefined
  /** Whether it comes after the attempts. */
  after?: boolean
}

/** Spans of the steps that the gateway took before and after the attempts. */
export function stepSpans(call: EndedCall, place: Placement): string[] {
  const { trace, position, attemptEnds, begun } = call
  const steps = stepsOf(call)
  if (steps.length === 0) return []
  const seen = Map.groupBy(call.steps, ({ kind }) => kind)
  // One is taken after the other: the end of the last is a better beginning than a whole millisecond.
  let last = begun
  return steps.map(({ kind, part, name, attributes, started_ms = 0, duration_ms = 0, after }) => {
    if (after) last = Math.max(last, attemptEnds.at(-1)?.at ?? last)
    const end = seen.get(kind)?.shift()?.at ?? place(started_ms + duration_ms)
    const start = Math.min(end, Math.max(last, place(started_ms)))
    last = end
    return spanJson({
      traceId: position.traceId,
      state: position.state,
      spanId: partSpanId(trace.id, part),
      parentId: callSpanId(trace.id),
      name,
      kind: SPAN_KIND.internal,
      start,
      end,
      attributes,
    })
  })
}

/** The steps in the order in which they are taken. */
function stepsOf({ trace, content }: EndedCall): Step[] {
  const { retrievals, guardrails, cache } = trace
  // As of nearly all calls.
  if (retrievals.length === 0 && guardrails.length === 0 && cache === null) return []
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
  attributes: attributeList(
    textAttribute(OWN.guardrail, id),
    textAttribute(OWN.guardrailStage, stage),
    textAttribute(OWN.guardrailOutcome, outcome),
  ),
  after: stage === 'output',
})

const cacheStep = ({ status, age_ms: age, started_ms }: NonNullable<TraceRecord['cache']>): Step => ({
  kind: 'cache',
  part: 'cache',
  name: `cache ${status}`,
  attributes: attributeList(textAttribute(OWN.cacheStatus, status), optionalInt(OWN.cacheAge, age)),
  started_ms,
})

function retrievalAttributes(
  { knowledge_id, query, chunks }: TraceRecord['retrievals'][number],
  content: boolean,
): string {
  const documents = content
    ? limitedJson(
        chunks.map(({ id, score }) => ({ id, score })),
        LONGEST_CONTENT,
      )
    : undefined
  return attributeList(
    textAttribute(GEN_AI.operation, RETRIEVAL),
    textAttribute(GEN_AI.dataSource, knowledge_id),
    intAttribute(OWN.chunks, chunks.length),
    content ? textAttribute(GEN_AI.query, query, LONGEST_CONTENT) : undefined,
    content && query.length > LONGEST_CONTENT ? intAttribute(OWN.queryLength, query.length) : undefined,
    documents && textAttribute(GEN_AI.documents, documents.json, LONGEST_CONTENT),
    optionalInt(OWN.documentsLength, documents?.whole),
  )
}
