// Makes spans of the calls that end, and of what is found out about their clients. Nothing of it happens inside a call: what
// has ended is noted, and written as spans some milliseconds later with whatever ended beside it.
import type { Finding } from '../../contract/finding.ts'
import type {
  CallBegun,
  CallMaterial,
  Observation,
  Observers,
  SessionVerified,
  TraceSaved,
} from '../../contract/observation.ts'
import { newFindings } from '../new-findings.ts'
import { EVENTS, OWN } from './conventions.ts'
import { createSpanExporter, type ExportCounts, type ExportTarget } from './export.ts'
import { booleanAttribute, intAttribute, SPAN_KIND, spanEvent, spanJson, spanLink, textAttribute } from './json.ts'
import { type OpenCall, spanWriter, wallOffset } from './span-writer.ts'
import { iterationSpanId } from './step-spans.ts'
import { callerPosition, otelSpanId, otelTraceId, type TracePosition } from './trace-context.ts'

/** What is exported, and where to. */
export interface TelemetryOptions extends ExportTarget {
  /** Whether requests and answers are exported too. */
  content: boolean
  /** Of the traces that are none of a caller's, or of all, the part that is exported, from 0 to 1. */
  sampling: { ratio: number; ofAll: boolean }
}

/** The export that is under way. */
export interface Telemetry {
  counts(): ExportCounts & { url: string }
  /** The trace and the span that a call is known by; undefined when it is not exported. */
  spanOf(trace: string): { traceId: string; spanId: string } | undefined
  /** Ends it; what waits is sent, for as long as that takes at most. */
  stop(ms: number): Promise<void>
}

/** Calls under way that are known, and calls that were part of a caller's trace: of twice as many the oldest are forgotten. */
const MOST_KNOWN = 10_000

/** Observes calls and exports them. */
export function startTelemetry(
  observers: Observers,
  options: TelemetryOptions,
  say: (line: string) => void,
): Telemetry {
  const exporter = createSpanExporter(options, say)
  const known = new Map<string, OpenCall>()
  const writer = spanWriter(options, { exporter, done: (trace) => void known.delete(trace) })
  const joined = new Map<string, string>()
  const fresh = newFindings()
  const saved = (observation: TraceSaved, call: CallMaterial) => {
    const { id } = observation.trace
    const open = known.get(id) ?? unseen(observation)
    if (open.position.remote && open.position.sampled) remember(joined, id, open.position.traceId)
    // Those that are written are known until then, for whoever writes of the same call.
    if (open.position.sampled) writer.add({ open, saved: observation, call })
    else known.delete(id)
  }
  const verified = ({ session, findings, at }: SessionVerified) => {
    const spans = fresh(session, findings).map((finding) => findingSpan(finding, { at: at + wallOffset(), joined }))
    if (spans.length > 0) exporter.add(spans)
  }
  const leave = observers.add((observation: Observation, call: CallMaterial = {}) => {
    switch (observation.type) {
      case 'call-begun': {
        const { trace, parent, at } = observation
        const outer = parent === null ? undefined : known.get(parent)?.position
        const position = positionOf(observation, { call, outer, sampling: options.sampling })
        return remember(known, trace, { position, at, attemptEnds: [], url: call.url })
      }
      case 'attempt-ended':
        return void known.get(observation.trace)?.attemptEnds.push(observation.at)
      case 'trace-saved':
        return saved(observation, call)
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
      const position = known.get(trace)?.position
      return position && { traceId: position.traceId, spanId: otelSpanId(trace) }
    },
    async stop(ms) {
      leave()
      writer.writeAll()
      await exporter.stop(ms)
    },
  }
}

/** Where a call stands: in the trace of its caller, in that of the call that made it, or in one of its own. */
function positionOf(
  { trace, parent }: CallBegun,
  {
    call,
    outer,
    sampling,
  }: { call: CallMaterial; outer: TracePosition | undefined; sampling: TelemetryOptions['sampling'] },
): TracePosition {
  if (parent !== null) return innerPosition(parent, outer, call)
  const caller = call.headers && callerPosition(call.headers)
  if (caller && !sampling.ofAll) return caller
  const traceId = caller?.traceId ?? otelTraceId(trace)
  return { ...caller, traceId, sampled: isSampled(traceId, sampling.ratio) }
}

function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value)
  if (map.size <= 2 * MOST_KNOWN) return
  // Many at once: to find the oldest one, a map goes over the places of all that went before it.
  let left = MOST_KNOWN
  for (const oldest of map.keys()) {
    if (left-- === 0) break
    map.delete(oldest)
  }
}

/** Of the same trace everybody makes the same of it: by its last 56 bits, which are as good as drawn. */
const isSampled = (traceId: string, ratio: number): boolean =>
  ratio >= 1 || Number.parseInt(traceId.slice(-14), 16) < ratio * 2 ** 56

/** Where a call from inside stands: under the call that made it, or under the iteration of the agent that did. */
function innerPosition(parent: string, outer: TracePosition | undefined, call: CallMaterial): TracePosition {
  const iteration = call.inner?.agent?.iteration
  return {
    traceId: outer?.traceId ?? otelTraceId(parent),
    parentId: iteration === undefined ? otelSpanId(parent) : iterationSpanId(parent, iteration),
    sampled: outer?.sampled ?? true,
  }
}

/** A call whose beginning was not seen, such as the turn of a task that an earlier process has begun. */
function unseen({ trace: { id, parent, duration_ms }, at }: TraceSaved): OpenCall {
  const position = parent === null ? { traceId: otelTraceId(id), sampled: true } : innerPosition(parent, undefined, {})
  return { position, at: at - duration_ms, attemptEnds: [], url: undefined }
}

/** What was found out about a client, as an event in a span of its own under the first call that shows it: that has long gone out. */
function findingSpan(finding: Finding, { at, joined }: { at: number; joined: ReadonlyMap<string, string> }): string {
  const { kind, severity, accepted, message, count, traces } = finding
  const [first, ...others] = traces
  const traceIdOfCall = (trace: string) => joined.get(trace) ?? otelTraceId(trace)
  const shown = first ?? `${kind}:${message}`
  const attributes = [
    textAttribute(OWN.finding, kind),
    textAttribute(OWN.severity, severity),
    booleanAttribute(OWN.accepted, accepted),
  ]
  return spanJson({
    traceId: traceIdOfCall(shown),
    spanId: otelSpanId(shown, `finding:${kind}`),
    parentId: first === undefined ? undefined : otelSpanId(first),
    name: `finding ${kind}`,
    kind: SPAN_KIND.internal,
    start: at,
    end: at,
    attributes,
    events: [
      spanEvent(EVENTS.finding, at, [
        ...attributes,
        textAttribute(OWN.message, message),
        intAttribute(OWN.count, count),
      ]),
    ],
    links: others.map((trace) => spanLink(traceIdOfCall(trace), otelSpanId(trace))),
  })
}
