// Ids of traces and spans: functions of our trace ids, and so of the seed if the clock is virtual. A caller's trace is
// joined (W3C trace context).
import { parseTraceparent, parseTracestate } from '../lib/trace-context.ts'

/** The trace that a span is part of. */
export interface TraceContext {
  traceId: string
  /** The caller's `tracestate`, which every span of the trace has. */
  state?: string | undefined
}

/** The position of a call in its trace. */
export interface TracePosition extends TraceContext {
  parentId?: string | undefined
  /** Whether the parent is a span of the caller. */
  remote?: boolean
  sampled: boolean
}

/** Crockford's base 32, the encoding of ULIDs. */
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/

const hash = (text: string): string => Bun.hash(text).toString(16).padStart(16, '0')

/** The OpenTelemetry id of a trace: the 128 bits of its ULID as 32 hexadecimal digits. */
export function otelTraceId(trace: string): string {
  if (!ULID.test(trace)) return hash(trace) + hash(`${trace}:more`)
  let bits = 0n
  for (const digit of trace) bits = (bits << 5n) | BigInt(DIGITS.indexOf(digit))
  return bits.toString(16).padStart(32, '0')
}

/** The id of a call's span: the last 64 bits of its trace id, which are random. */
export const callSpanId = (trace: string): string => otelTraceId(trace).slice(16)

/** The id of the span of a part of a call. */
export const partSpanId = (trace: string, part: string): string => hash(`${trace}:${part}`)

/** The part of a call for an iteration of an agent: its model calls are children of it. */
export const iterationPart = (iteration: number): string => `iteration:${iteration}`

/** The position that a caller's headers give its call; undefined if they are missing or invalid. */
export function callerPosition(headers: Pick<Headers, 'get'>): TracePosition | undefined {
  const parent = parseTraceparent(headers.get('traceparent'))
  if (!parent) return undefined
  const { traceId, spanId: parentId, sampled } = parent
  return { traceId, parentId, remote: true, state: parseTracestate(headers.get('tracestate')), sampled }
}
