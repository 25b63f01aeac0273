// Which trace a call belongs to, as OpenTelemetry names traces and spans: ids are functions of our own, which are functions of
// the seed where the clock is virtual; a caller that has a trace of its own is joined (W3C trace context).

/** Where a call stands among spans. */
export interface TracePosition {
  traceId: string
  /** The span around it. */
  parentId?: string | undefined
  /** What the caller says of the trace, where the span around it is the caller's. */
  remote?: { state: string } | undefined
  sampled: boolean
}

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const VALUES = new Uint8Array(128)
for (let value = 0; value < DIGITS.length; value++) VALUES[DIGITS.charCodeAt(value)] = value
const HEX = '0123456789abcdef'
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/

const hashed = (text: string): string => Bun.hash(text).toString(16).padStart(16, '0')
const NONE = /^0+$/

/** The trace id of a trace of ours: the same 128 bits as its ULID has. */
export function otelTraceId(trace: string): string {
  if (!ULID.test(trace)) return hashed(trace) + hashed(`${trace}:more`)
  let id = ''
  // Of the 130 bits of 26 digits the first two are none.
  let bits = -2
  let held = 0
  for (let index = 0; index < trace.length; index++) {
    held = (held << 5) | (VALUES[trace.charCodeAt(index)] ?? 0)
    bits += 5
    while (bits >= 4) {
      bits -= 4
      id += HEX[(held >> bits) & 15]
    }
    held &= (1 << bits) - 1
  }
  return id
}

/** The id of the span of a call, or of a part of it. */
export const otelSpanId = (trace: string, part = ''): string => hashed(`${trace}:${part}`)

const TRACEPARENT = /^(?!ff)[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-.*)?$/
const LONGEST_STATE = 512

/** Where a caller says that its call stands; undefined when it does not say, or nothing that is valid. */
export function callerPosition(headers: Pick<Headers, 'get'>): TracePosition | undefined {
  const header = headers.get('traceparent')
  if (header === null) return undefined
  const [, traceId = '', parentId = '', flags = ''] = TRACEPARENT.exec(header.trim()) ?? []
  if (traceId === '' || NONE.test(traceId) || NONE.test(parentId)) return undefined
  const state = headers.get('tracestate') ?? ''
  const sampled = (Number.parseInt(flags, 16) & 1) === 1
  return { traceId, parentId, remote: { state: state.length > LONGEST_STATE ? '' : state }, sampled }
}
