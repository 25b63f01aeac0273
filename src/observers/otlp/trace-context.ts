// Which trace a call belongs to, as OpenTelemetry names traces and spans: ids are functions of our own, which are functions of
// the seed where the clock is virtual; a caller that has a trace of its own is joined (W3C trace context).
import { remembering } from '../../lib/remember.ts'
import { parseTraceparent, parseTracestate } from '../../lib/trace-context.ts'

/** The trace that a span is part of. */
export interface TraceContext {
  traceId: string
  /** What callers have said of it (`tracestate`), which every span of it has. */
  state?: string | undefined
}

/** Where a call stands among spans. */
export interface TracePosition extends TraceContext {
  /** The span around it. */
  parentId?: string | undefined
  /** Whether the span around it is a caller's. */
  remote?: boolean
  sampled: boolean
}

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const VALUES = new Uint8Array(128)
for (let value = 0; value < DIGITS.length; value++) VALUES[DIGITS.charCodeAt(value)] = value
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/

const hashed = (text: string): string => Bun.hash(text).toString(16).padStart(16, '0')

/** Some digits of a ULID in hexadecimal, with one before them that keeps their noughts. */
function hexOf(ulid: string, from: number, to: number): string {
  let value = 1
  for (let index = from; index < to; index++) value = (value << 5) | (VALUES[ulid.charCodeAt(index)] ?? 0)
  return value.toString(16)
}

/** The trace id of a trace of ours: the same 128 bits as its ULID has. */
export const otelTraceId = remembering((trace: string): string => {
  if (!ULID.test(trace)) return hashed(trace) + hashed(`${trace}:more`)
  // Of the 130 bits of 26 digits the first two are none; four digits are five of hexadecimal.
  let id = hexOf(trace, 0, 2).slice(-2)
  for (let index = 2; index < trace.length; index += 4) id += hexOf(trace, index, index + 4).slice(1)
  return id
})

/** The id of the span of a call: the last 64 bits of its trace, which are as good as drawn. */
export const callSpanId = (trace: string): string => otelTraceId(trace).slice(16)

/** The id of the span of a part of a call. */
export const partSpanId = (trace: string, part: string): string => hashed(`${trace}:${part}`)

/** Where a caller says that its call stands; undefined when it does not say, or nothing that is valid. */
export function callerPosition(headers: Pick<Headers, 'get'>): TracePosition | undefined {
  const parent = parseTraceparent(headers.get('traceparent'))
  if (!parent) return undefined
  const { traceId, spanId: parentId, sampled } = parent
  return { traceId, parentId, remote: true, state: parseTracestate(headers.get('tracestate')), sampled }
}
