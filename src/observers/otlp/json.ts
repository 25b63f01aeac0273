// Spans in OTLP's JSON, written as text at once: an object for each piece takes several times as long.

/** Characters of a value; who wants content is given more of it. */
const LONGEST_VALUE = 1_000
/** Characters of a value that is content. */
export const LONGEST_CONTENT = 64_000

/** Texts that are in JSON as they are, which nearly all are. */
const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/
const quoted = (value: string, longest = LONGEST_VALUE): string => {
  const text = value.length > longest ? value.slice(0, longest) : value
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text.toWellFormed())
}

/** An attribute, as the text of an element of a list. */
export const textAttribute = (name: string, value: string, longest?: number): string =>
  `{"key":"${name}","value":{"stringValue":${quoted(value, longest)}}}`
export const intAttribute = (name: string, value: number): string =>
  Number.isSafeInteger(value) ? `{"key":"${name}","value":{"intValue":"${value}"}}` : doubleAttribute(name, value)
export const doubleAttribute = (name: string, value: number): string =>
  `{"key":"${name}","value":{"doubleValue":${Number.isFinite(value) ? value : 0}}}`
export const booleanAttribute = (name: string, value: boolean): string =>
  `{"key":"${name}","value":{"boolValue":${value}}}`
export const textsAttribute = (name: string, values: readonly string[]): string =>
  `{"key":"${name}","value":{"arrayValue":{"values":[${values.map((value) => `{"stringValue":${quoted(value)}}`).join(',')}]}}}`

/** Kinds of spans by their number. */
export const SPAN_KIND = { internal: 1, server: 2, client: 3 } as const

const SAMPLED = 1
const KNOWS_REMOTE = 0x100
const IS_REMOTE = 0x200
const ERROR = 2

/** One span. */
export interface SpanParts {
  traceId: string
  spanId: string
  parentId?: string | undefined
  /** Whether its parent is of another program, and what that says of the trace beside. */
  remote?: { state: string } | undefined
  name: string
  kind: (typeof SPAN_KIND)[keyof typeof SPAN_KIND]
  /** Milliseconds since the epoch, with their fractions. */
  start: number
  end: number
  /** Attributes, events and links as they are written here. */
  attributes: readonly string[]
  events?: readonly string[]
  links?: readonly string[]
  /** What went wrong, in a word. */
  error?: string | undefined
}

/** Nanoseconds since the epoch, which no number can hold. */
const nanos = (ms: number): string => {
  const whole = Math.floor(ms)
  return `${whole}${String(Math.min(999_999, Math.round((ms - whole) * 1e6))).padStart(6, '0')}`
}

/** An event of a span. */
export const spanEvent = (name: string, at: number, attributes: readonly string[]): string =>
  `{"timeUnixNano":"${nanos(at)}","name":"${name}","attributes":[${attributes.join(',')}]}`

/** A link to another span. */
export const spanLink = (traceId: string, spanId: string): string => `{"traceId":"${traceId}","spanId":"${spanId}"}`

/** A span as the text of an element of a list. */
export function spanJson(span: SpanParts): string {
  const { traceId, spanId, parentId, remote, name, kind, start, end, attributes, events, links, error } = span
  const flags = SAMPLED | KNOWS_REMOTE | (remote ? IS_REMOTE : 0)
  return [
    `{"traceId":"${traceId}","spanId":"${spanId}"`,
    parentId === undefined ? '' : `,"parentSpanId":"${parentId}"`,
    remote?.state ? `,"traceState":${quoted(remote.state)}` : '',
    `,"flags":${flags},"name":${quoted(name)},"kind":${kind}`,
    `,"startTimeUnixNano":"${nanos(start)}","endTimeUnixNano":"${nanos(Math.max(start, end))}"`,
    `,"attributes":[${attributes.join(',')}]`,
    events && events.length > 0 ? `,"events":[${events.join(',')}]` : '',
    links && links.length > 0 ? `,"links":[${links.join(',')}]` : '',
    `,"status":{${error === undefined ? '' : `"code":${ERROR},"message":${quoted(error)}`}}}`,
  ].join('')
}
