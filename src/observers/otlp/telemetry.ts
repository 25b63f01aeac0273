// Makes spans of the calls that end, and of what is found out about their clients. Nothing of it happens inside a call: what
// has ended is noted, and written as spans some milliseconds later with whatever ended beside it.
import type { Finding } from '../../contract/finding.ts'
import type { CallMaterial, Observation, Observers, SessionVerified } from '../../contract/observation.ts'
import { newFindings } from '../new-findings.ts'
import { aboutSpans, wallOffset } from './call-queue.ts'
import { EVENTS, OWN } from './conventions.ts'
import { createSpanExporter, type ExportCounts, type ExportTarget } from './export.ts'
import {
  attributeList,
  booleanAttribute,
  intAttribute,
  SPAN_KIND,
  spanEvent,
  spanJson,
  spanLink,
  textAttribute,
} from './json.ts'
import { observedCalls, type Sampling } from './observed-calls.ts'
import { spanWriter } from './span-writer.ts'
import { callSpanId, partSpanId, type TraceContext } from './trace-context.ts'

/** What is exported, and where to. */
export interface TelemetryOptions extends ExportTarget {
  /** Whether requests and answers are exported too. */
  content: boolean
  sampling: Sampling
}

/** The export that is under way. */
export interface Telemetry {
  counts(): ExportCounts & { url: string }
  /** The trace and the span that a call is known by; undefined when it is not exported. */
  spanOf(trace: string): { traceId: string; spanId: string } | undefined
  /** Ends it; what waits is sent, for as long as that takes at most. */
  stop(ms: number): Promise<void>
}

/** Observes calls and exports them. */
export function startTelemetry(
  observers: Observers,
  options: TelemetryOptions,
  say: (line: string) => void,
): Telemetry {
  const exporter = createSpanExporter(options, say)
  const open = observedCalls(options.sampling, (saved) => exporter.lose(aboutSpans(saved)))
  const writer = spanWriter(options, { exporter, done: open.forget })
  const fresh = newFindings()
  const verified = ({ session, findings, at }: SessionVerified) => {
    const spans = fresh(session, findings).map((finding) =>
      findingSpan(finding, { at: at + wallOffset(), contextOf: open.contextOf }),
    )
    if (spans.length > 0) exporter.add(spans)
  }
  const leave = observers.add((observation: Observation, call: CallMaterial = {}) => {
    switch (observation.type) {
      case 'call-begun':
        return open.begin(observation, call)
      case 'attempt-ended':
        return open.attemptEnded(observation, call)
      case 'task-changed':
        return open.changed(observation)
      case 'trace-saved': {
        const known = open.saved(observation)
        if (known) writer.add({ open: known, saved: observation, call })
        return
      }
      case 'call-lost':
        return open.forget(observation.trace)
      case 'session-verified':
        return verified(observation)
    }
  })
  return {
    counts() {
      const { waiting, ...counts } = exporter.counts()
      return { url: options.shown, ...counts, waiting: waiting + writer.waiting() }
    },
    spanOf(trace) {
      const position = open.positionOf(trace)
      return position && { traceId: position.traceId, spanId: callSpanId(trace) }
    },
    async stop(ms) {
      leave()
      writer.writeAll()
      await exporter.stop(ms)
    },
  }
}

/** What was found out about a client, as an event in a span of its own under the first call that shows it: that has long gone out. */
function findingSpan(
  finding: Finding,
  { at, contextOf }: { at: number; contextOf: (trace: string) => TraceContext },
): string {
  const { kind, severity, accepted, message, count, traces } = finding
  const [first, ...others] = traces
  const shown = first ?? `${kind}:${message}`
  const attributes = attributeList(
    textAttribute(OWN.finding, kind),
    textAttribute(OWN.severity, severity),
    booleanAttribute(OWN.accepted, accepted),
  )
  return spanJson({
    ...contextOf(shown),
    spanId: partSpanId(shown, `finding:${kind}`),
    parentId: first === undefined ? undefined : callSpanId(first),
    name: `finding ${kind}`,
    kind: SPAN_KIND.internal,
    start: at,
    end: at,
    attributes,
    events: [
      spanEvent(
        EVENTS.finding,
        at,
        attributeList(attributes, textAttribute(OWN.message, message), intAttribute(OWN.count, count)),
      ),
    ],
    links: others.map((trace) => spanLink(contextOf(trace).traceId, callSpanId(trace))),
  })
}
