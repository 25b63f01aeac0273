// A trace as a few lines of text.
import type { TraceRecord } from '../contract/trace.ts'

/** The call and its attempts, one a line, in the order of time. */
export function traceTable({
  operation,
  model,
  stream,
  outcome,
  status,
  duration_ms,
  attempts,
  cache,
  faults,
}: TraceRecord): string[] {
  const how = [`${operation}${stream ? ' stream' : ''}`, model ?? '-', `${outcome} ${status}`, `${duration_ms} ms`]
  const more = [...(cache ? [`cache ${cache.status}`] : []), ...faults]
  return [
    [...how, ...more].join('  '),
    ...attempts.map(({ started_ms, duration_ms: length, why, target, outcome: end, status: code, faults: rules }) =>
      [
        `  ${String(started_ms).padStart(8)} ms`,
        why.padEnd(8),
        target.padEnd(28),
        `${end} ${code}`.padEnd(18),
        `${length} ms`.padStart(9),
        rules.join(', '),
      ]
        .join('  ')
        .trimEnd(),
    ),
  ]
}
