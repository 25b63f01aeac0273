// The spans of the turn of an agent: its iterations, with the tools that they run.
import type { TaskStep } from '../../contract/trace.ts'
import { CORE, EXECUTE_TOOL, GEN_AI, OWN } from './conventions.ts'
import { type EndedCall, type Placement, stepKey } from './ended-call.ts'
import {
  attributeList,
  intAttribute,
  optionalText,
  SPAN_KIND,
  type SpanParts,
  spanJson,
  textAttribute,
} from './json.ts'
import { callSpanId, partSpanId } from './trace-context.ts'

interface Times {
  start: number
  end: number
}

/** The id of the span of an iteration of an agent: the calls of models that it makes know it before it has ended. */
export const iterationSpanId = (trace: string, iteration: number): string => partSpanId(trace, `iteration:${iteration}`)

/** Spans of the iterations of a turn; none of a call that is no turn. */
export function agentSpans(call: EndedCall, place: Placement): string[] {
  const { trace, position, ended } = call
  if (!trace.task) return []
  const { traceId, state } = position
  const spans: string[] = []
  const span = (parts: Omit<SpanParts, 'traceId' | 'state' | 'kind'>) =>
    spans.push(spanJson({ traceId, state, kind: SPAN_KIND.internal, ...parts }))
  for (const [iteration, steps] of Map.groupBy(trace.task.steps, (step) => step.iteration)) {
    const times = timesOf(steps, call, place)
    const spanId = iterationSpanId(trace.id, iteration)
    span({
      spanId,
      parentId: callSpanId(trace.id),
      name: `iteration ${iteration}`,
      start: Math.min(...times.map(({ start }) => start)),
      end: Math.min(ended, Math.max(...times.map(({ end }) => end))),
      attributes: intAttribute(OWN.iteration, iteration),
      error: steps.some(({ outcome }) => outcome === 'failed') ? 'failed' : undefined,
    })
    for (const [index, step] of steps.entries()) {
      const at = times[index]
      // The call of a model has a trace, and so spans of its own; so has the task of another agent.
      if (step.kind !== 'tool' || !at) continue
      span({ ...toolSpan(step), ...at, spanId: partSpanId(trace.id, `tool:${iteration}:${index}`), parentId: spanId })
    }
  }
  return spans
}

function toolSpan({ name, tool_call_id, outcome }: TaskStep): Pick<SpanParts, 'name' | 'attributes' | 'error'> {
  const error = outcome === 'failed' ? 'failed' : undefined
  return {
    name: `${EXECUTE_TOOL} ${name}`,
    attributes: attributeList(
      textAttribute(GEN_AI.operation, EXECUTE_TOOL),
      textAttribute(GEN_AI.tool, name),
      optionalText(GEN_AI.toolCall, tool_call_id),
      optionalText(CORE.errorType, error),
    ),
    error,
  }
}

/** When the steps of an iteration were: as they were seen, else as its trace says it in whole milliseconds of the session's clock. */
function timesOf(steps: readonly TaskStep[], { trace, agent }: EndedCall, place: Placement): Times[] {
  const origin = Date.parse(trace.started_at)
  // Tools are run together, as soon as the model has asked for them or nothing is waited for any more.
  let last = 0
  return steps.map((step) => {
    const began = Date.parse(step.started_at) - origin
    const end = agent?.ended.get(stepKey(step)) ?? place(began + step.duration_ms)
    const asked = step.kind === 'model' ? agent?.asked.get(step.iteration) : undefined
    const start = Math.min(end, asked ?? Math.max(last, place(began)))
    if (step.kind === 'model' || step.kind === 'wait') last = end
    return { start, end }
  })
}
