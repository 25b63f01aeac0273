// W3C trace context (https://www.w3.org/TR/trace-context/): the trace that a call belongs to.

const TRACEPARENT = /^(?!ff)[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-.*)?$/
const ZERO = /^0+$/

/** A caller's position in its trace. */
interface TraceParent {
  traceId: string
  /** The span of the call. */
  spanId: string
  sampled: boolean
}

/** The content of a `traceparent` header; undefined if it is missing or invalid. */
export function parseTraceparent(header: string | null): TraceParent | undefined {
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(header?.trim() ?? '') ?? []
  if (traceId === '' || ZERO.test(traceId) || ZERO.test(spanId)) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/**
 * Section 3.3.1: a list has at most 32 members. When shortened, 512 characters remain, and members above 128 are
 * dropped first.
 */
const MAX_MEMBERS = 32
const MAX_STATE = 512
const LONG_MEMBER = 128
const MEMBER =
  /^[a-z\d](?:[a-z\d_*/-]{0,255}|[a-z\d_*/-]{0,240}@[a-z][a-z\d_*/-]{0,13})=[ -+\--<>-~]{0,255}[!-+\--<>-~]$/

/**
 * A `tracestate` header for propagation: its members in order, shortened if necessary. Empty if it is missing or if one
 * of its members is invalid (section 4.3).
 */
export function parseTracestate(header: string | null): string {
  const members = (header ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
  const keys = new Set(members.map((one) => one.slice(0, one.indexOf('='))))
  if (members.length > MAX_MEMBERS || keys.size < members.length || !members.every((one) => MEMBER.test(one))) return ''
  const length = () => members.reduce((sum, one) => sum + one.length + 1, -1)
  for (let index = members.length - 1; index >= 0 && length() > MAX_STATE; index--)
    if ((members[index]?.length ?? 0) > LONG_MEMBER) members.splice(index, 1)
  while (length() > MAX_STATE) members.pop()
  return members.join(',')
}

/** The headers that propagate the trace of a caller, unchanged; none if the caller names no trace. */
export function traceHeaders(headers: Pick<Headers, 'get'> | undefined): Record<string, string> | undefined {
  const traceparent = headers?.get('traceparent') ?? null
  if (!headers || !parseTraceparent(traceparent) || traceparent === null) return undefined
  const tracestate = parseTracestate(headers.get('tracestate'))
  return { traceparent: traceparent.trim(), ...(tracestate !== '' && { tracestate }) }
}
