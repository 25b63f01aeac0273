// What a list shows of a call.
import type { CallRow } from '../contract/call-row.ts'
import type { TraceRecord } from '../contract/trace.ts'

/** Characters of an error that a list has room for. */
const LONGEST_ERROR = 200

/** The row of a trace; `seq` and `arrived` are stored beside it. */
export function rowOf(trace: TraceRecord, { seq, arrived }: Pick<CallRow, 'seq' | 'arrived'>): CallRow {
  const { id, session, operation, name, model, stream, status, outcome, fixture, synthesized, inner, parent } = trace
  const { attempts, cost, error } = trace
  const thread = trace.thread?.id
  return {
    ...{ seq, id, session, arrived, operation, name, model, stream, status, outcome },
    ...{ fixture, synthesized, inner, parent, cost },
    started: Date.parse(trace.started_at),
    duration: trace.duration_ms,
    attempts: attempts.length,
    waited: attempts.reduce((sum, { wait_ms: wait }) => sum + wait, 0),
    faults: [...new Set([...attempts.flatMap(({ faults }) => faults), ...trace.faults])],
    cached: trace.cache?.status === 'hit',
    thread: typeof thread === 'string' ? thread : null,
    task: trace.task?.id ?? null,
    tokens: tokensOf(trace.usage),
    error: error === null ? null : error.message.slice(0, LONGEST_ERROR),
  }
}

function tokensOf(usage: TraceRecord['usage']): number | null {
  if (!usage) return null
  if (typeof usage.total_tokens === 'number') return usage.total_tokens
  const counts = [usage.prompt_tokens, usage.completion_tokens, usage.input_tokens, usage.output_tokens]
  const known = counts.filter((count) => typeof count === 'number')
  return known.length > 0 ? known.reduce((sum, count) => sum + count, 0) : null
}
