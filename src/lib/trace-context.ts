// W3C trace context (https://www.w3.org/TR/trace-context/): what a caller says of the trace that its call belongs to.

const TRACEPARENT = /^(?!ff)[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-.*)?$/
const ZERO = /^0+$/

/** Where a caller stands in its trace. */
interface TraceParent {
  traceId: string
  /** The span that makes the call. */
  spanId: string
  sampled: boolean
}

/** What a header `traceparent` says; undefined where it is missing or invalid. */
export function parseTraceparent(header: string | null): TraceParent | undefined {
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(header?.trim() ?? '') ?? []
  if (traceId === '' || ZERO.test(traceId) || ZERO.test(spanId)) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** Section 3.3.1: a list of at most 32 members; who cuts it keeps 512 characters, and leaves out those above 128 first. */
const MAX_MEMBERS = 32
const MAX_STATE = 512
const LONG_MEMBER = 128
const MEMBER =
  /^[a-z\d](?:[a-z\d_*/-]{0,255}|[a-z\d_*/-]{0,240}@[a-z][a-z\d_*/-]{0,13})=[ -+\--<>-~]{0,255}[!-+\--<>-~]$/

/**
 * A header `tracestate` as it is handed on: its members in their order, of a long one as much as must be. Empty where it is missing or, as
 * section 4.3 has it, where one of its members is invalid.
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

/** The headers by which a call is handed on in the trace of its caller, as they came; none where the caller names no trace. */
export function traceHeaders(headers: Pick<Headers, 'get'> | undefined): Record<string, string> | undefined {
  const traceparent = headers?.get('traceparent') ?? null
  if (!headers || !parseTraceparent(traceparent) || traceparent === null) return undefined
  const tracestate = parseTracestate(headers.get('tracestate'))
  return { traceparent: traceparent.trim(), ...(tracestate !== '' && { tracestate }) }
}
