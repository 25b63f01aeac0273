// --log json: one line of JSON per call and per message on standard error, for log collectors. It has metadata of
// calls, but no content. Lines that are not read in time are dropped and counted.
import type { TraceRecord } from '../../contract/core/trace.ts'
import type { Understudy } from '../../deps.ts'
import { realClock } from '../../lib/clock.ts'
import type { LineWriter } from './line-writer.ts'

/** Maximum length of a name: clients and scenarios choose them. */
const MAX_NAME_LENGTH = 200
const MAX_FAULTS = 20

/** Writes a line for each call that ends. */
export function logCallsAsJson({ observers, telemetry }: Pick<Understudy, 'observers' | 'telemetry'>, log: LineWriter) {
  observers.add((observation) => {
    if (observation.type !== 'trace-saved') return
    const { trace, seq } = observation
    const span = telemetry?.findSpan(trace.id)
    log.add(JSON.stringify({ ...lineOf(trace, seq), ...(span && { trace_id: span.traceId, span_id: span.spanId }) }))
  })
}

/** A line as JSON. */
export const jsonLine = (level: string, message: string, fields: Record<string, unknown> = {}): string =>
  JSON.stringify({ time: new Date(realClock.now()).toISOString(), level, message, ...fields })

const brief = (name: string | null) => name?.slice(0, MAX_NAME_LENGTH) ?? null

function lineOf(trace: TraceRecord, call: number) {
  const { id, session, operation, model, stream, status, outcome, duration_ms, attempts, scenario, fixture } = trace
  const faults = [...new Set([trace, ...attempts].flatMap((one) => one.faults))]
  return {
    time: new Date(realClock.now()).toISOString(),
    level: status >= 500 ? 'error' : outcome === 'succeeded' ? 'info' : 'warn',
    message: 'call',
    session: brief(session),
    trace: id,
    call,
    operation,
    ...(trace.internal && { parent: trace.parent }),
    ...(trace.call_site !== undefined && { point: brief(trace.call_site) }),
    model: brief(model),
    stream,
    status,
    outcome,
    error: brief(trace.error?.code ?? null),
    duration_ms,
    attempts: attempts.length,
    ...(scenario !== null && { scenario: brief(scenario) }),
    ...(faults.length > 0 && { faults: faults.slice(0, MAX_FAULTS).map(brief) }),
    ...(trace.cache && { cache: trace.cache.status }),
    fixture: brief(fixture),
  }
}

/** The line that reports the number of dropped lines. */
export const leftOut = (count: number) => jsonLine('warn', `${count} log lines dropped`)
