// Exports calls as OpenTelemetry traces, and the findings of verdicts. A call only leaves the data of its spans, which
// are built later.
import type { Finding } from '../contract/core/finding.ts'
import type { CallMaterial, Observation, Observers, SessionVerified, TraceSaved } from '../contract/core/observation.ts'
import { realClock } from '../lib/clock.ts'
import { monotonicMs } from '../lib/monotonic.ts'
import { newFindings } from '../observers/new-findings.ts'
import { callSpanId, endedCall, partSpanId, type Sampling, type TraceContext, trackCalls } from './calls.ts'
import { EVENTS, OWN } from './conventions.ts'
import { createSpanExporter, type ExportCounts, type ExportTarget } from './exporter.ts'
import { createSpan, type OtlpSpan, SPAN_KIND } from './span.ts'
import { buildSpans } from './spans.ts'

/** What is exported, and where to. */
export interface TelemetryOptions extends ExportTarget {
  /** Whether messages are exported, too. */
  content: boolean
  sampling: Sampling
}

/** An export in progress. */
export type Telemetry = ReturnType<typeof startTelemetry>

/** Starts to export the calls that `observers` report; `report` prints a line about the collector. */
export function startTelemetry(observers: Observers, options: TelemetryOptions, report: (line: string) => void) {
  const { content, sampling, shown } = options
  const exporter = createSpanExporter(options, report)
  const calls = trackCalls(sampling)
  const clockOffset = trackClockOffset()
  const selectNew = newFindings()
  const saved = (observation: TraceSaved, call: CallMaterial) => {
    const { id, attempts } = observation.trace
    const count = 1 + attempts.length
    const open = calls.saved(observation)
    if (!open) return exporter.drop(count)
    if (!open.position.sampled) return
    const added = exporter.add(count, () => {
      const ended = endedCall(open, observation, { call, offset: clockOffset(), content })
      const build = () => {
        calls.forget(id)
        return buildSpans(ended)
      }
      const { input, output } = ended.content ?? {}
      return { characters: (input?.json.length ?? 0) + (output?.json.length ?? 0), build }
    })
    if (!added) calls.forget(id)
  }
  const verified = ({ session, findings, at }: SessionVerified) => {
    for (const finding of selectNew(session, findings)) {
      const span = findingSpan(finding, { at, offset: clockOffset(), findContext: calls.findContext })
      exporter.add(1, () => ({ characters: 0, build: () => [span] }))
    }
  }
  const leave = observers.add((observation: Observation, call: CallMaterial = {}) => {
    switch (observation.type) {
      case 'call-begun':
        return calls.begin(observation, call)
      case 'attempt-ended':
        return calls.attemptEnded(observation, call)
      case 'task-changed':
        return calls.taskChanged(observation)
      case 'trace-saved':
        return saved(observation, call)
      case 'call-lost':
        return calls.forget(observation.trace)
      case 'session-verified':
        return verified(observation)
    }
  })
  return {
    counts: (): ExportCounts & { url: string } => ({ url: shown, ...exporter.counts() }),
    /** The OpenTelemetry ids of a call that has just ended; undefined if it is not exported. */
    findSpan(trace: string) {
      const position = calls.findPosition(trace)
      return position && { traceId: position.traceId, spanId: callSpanId(trace) }
    },
    /** Ends the export. What waits is sent within at most `ms` milliseconds. */
    stop(ms: number) {
      leave()
      return exporter.stop(ms)
    },
  }
}

/** The machine's clock was set if it moved by more than this, in milliseconds; it only shows whole ones. */
const JUMP_MS = 2

/**
 * Returns what must be added to times of observations to get milliseconds since the epoch: the same for all spans, so
 * that their order is right.
 */
function trackClockOffset(): () => number {
  let offset = Number.NaN
  return () => {
    const before = monotonicMs()
    const now = realClock.now() - before
    // If the process was interrupted between the two, the measurement is useless.
    const interrupted = monotonicMs() - before > JUMP_MS / 2
    if (Number.isNaN(offset) || (!interrupted && Math.abs(now - offset) > JUMP_MS)) offset = now
    return offset
  }
}

/**
 * A finding as an event in a span of its own, a child of the first call that is evidence: the span of that call was
 * sent long ago.
 */
function findingSpan(
  { kind, severity, accepted, message, count, traces }: Finding,
  { at, offset, findContext }: { at: number; offset: number; findContext: (trace: string) => TraceContext },
): OtlpSpan {
  const [first, ...others] = traces
  const shown = first ?? `${kind}:${message}`
  const attributes = { [OWN.finding]: kind, [OWN.severity]: severity, [OWN.accepted]: accepted }
  return createSpan({
    ...findContext(shown),
    spanId: partSpanId(shown, `finding:${kind}`),
    parentId: first === undefined ? undefined : callSpanId(first),
    name: `finding ${kind}`,
    kind: SPAN_KIND.internal,
    ...{ start: at, end: at, offset, attributes },
    events: [{ name: EVENTS.finding, at, attributes: { ...attributes, [OWN.message]: message, [OWN.count]: count } }],
    links: others.map((trace) => ({ traceId: findContext(trace).traceId, spanId: callSpanId(trace) })),
  })
}
