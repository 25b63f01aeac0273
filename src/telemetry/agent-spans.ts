// The spans of the turn of an agent: its iterations, with the tools that they run.
import type { TaskStep } from '../contract/trace.ts'
import { type EndedCall, stepKey } from './calls.ts'
import { CORE, EXECUTE_TOOL, GEN_AI, OWN } from './conventions.ts'
import { createSpan, type OtlpSpan, SPAN_KIND, type SpanParts } from './span.ts'
import { callSpanId, iterationSpanId, partSpanId } from './trace-context.ts'

interface Times {
  start: number
  end: number
}

/** Spans of the iterations of a turn; none of any other call. `place` converts times of the trace. */
export function agentSpans(call: EndedCall, place: (sessionMs: number) => number): OtlpSpan[] {
  const { trace, position, ended, offset } = call
  if (!trace.task) return []
  const { traceId, state } = position
  const spans: OtlpSpan[] = []
  const add = (parts: Omit<SpanParts, 'traceId' | 'state' | 'kind' | 'offset'>) =>
    spans.push(createSpan({ traceId, state, kind: SPAN_KIND.internal, offset, ...parts }))
  for (const [iteration, steps] of Map.groupBy(trace.task.steps, (step) => step.iteration)) {
    const times = stepTimes(steps, call, place)
    const spanId = iterationSpanId(trace.id, iteration)
    add({
      spanId,
      parentId: callSpanId(trace.id),
      name: `iteration ${iteration}`,
      start: Math.min(...times.map(({ start }) => start)),
      end: Math.min(ended, Math.max(...times.map(({ end }) => end))),
      attributes: { [OWN.iteration]: iteration },
      error: steps.some(({ outcome }) => outcome === 'failed') ? 'failed' : undefined,
    })
    for (const [index, { kind, name, tool_call_id, outcome }] of steps.entries()) {
      const at = times[index]
      // The call of a model has a trace, and so spans of its own; so has the task of another agent.
      if (kind !== 'tool' || !at) continue
      const error = outcome === 'failed' ? 'failed' : undefined
      add({
        spanId: partSpanId(trace.id, `tool:${iteration}:${index}`),
        parentId: spanId,
        name: `${EXECUTE_TOOL} ${name}`,
        ...at,
        attributes: {
          [GEN_AI.operation]: EXECUTE_TOOL,
          [GEN_AI.tool]: name,
          [GEN_AI.toolCall]: tool_call_id,
          [CORE.errorType]: error,
        },
        error,
      })
    }
  }
  return spans
}

/** When the steps of an iteration happened: as they were observed, else by the trace, in whole milliseconds of the session's clock. */
function stepTimes(
  steps: readonly TaskStep[],
  { trace, agent }: EndedCall,
  place: (sessionMs: number) => number,
): Times[] {
  const origin = Date.parse(trace.started_at)
  // Tools run together, as soon as the model has called them or nothing is waited for any more.
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
