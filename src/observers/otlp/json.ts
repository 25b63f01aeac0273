// Spans in OTLP's JSON, written as text at once: an object for each piece takes several times as long.
import { rememberingAll } from '../../lib/remember.ts'
import { endWithin } from './content-limit.ts'

/** Characters of a value; who wants content is given more of it. */
const LONGEST_VALUE = 1_000
/** Characters of a value that is content. */
export const LONGEST_CONTENT = 64_000

/** Texts that are in JSON as they are, which nearly all are. */
const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/
const quoted = (value: string, longest = LONGEST_VALUE): string => {
  const text = value.length > longest ? value.slice(0, endWithin(value, longest)) : value
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

/** Attributes of what may be absent. */
export const optionalText = (name: string, value: string | null | undefined): string | undefined =>
  value == null ? undefined : textAttribute(name, value)
export const optionalInt = (name: string, value: number | null | undefined): string | undefined =>
  value == null ? undefined : intAttribute(name, value)

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
  /** Whether its parent is of another program. */
  remote?: boolean | undefined
  /** What that says of the trace beside (`tracestate`). */
  state?: string | undefined
  name: string
  kind: (typeof SPAN_KIND)[keyof typeof SPAN_KIND]
  /** Milliseconds since the epoch, with their fractions. */
  start: number
  end: number
  /** As `attributeList` joins them. */
  attributes: string
  /** Events and links as they are written here. */
  events?: readonly string[]
  links?: readonly string[]
  /** What went wrong, in a word. */
  error?: string | undefined
}

/** Attributes after one another, without those that are absent. */
export function attributeList(...attributes: readonly (string | undefined)[]): string {
  let list = ''
  for (const attribute of attributes) {
    if (attribute === undefined || attribute === '') continue
    list = list === '' ? attribute : `${list},${attribute}`
  }
  return list
}

/** Nanoseconds since the epoch, which no number can hold. */
const nanos = (ms: number): string => {
  const whole = Math.floor(ms)
  // The seventh digit keeps the noughts before the others.
  return `${whole}${String(1e6 + Math.min(999_999, Math.round((ms - whole) * 1e6))).slice(1)}`
}

/** An event of a span. */
export const spanEvent = (name: string, at: number, attributes: string): string =>
  `{"timeUnixNano":"${nanos(at)}","name":"${name}","attributes":[${attributes}]}`

/** A link to another span. */
export const spanLink = (traceId: string, spanId: string): string => `{"traceId":"${traceId}","spanId":"${spanId}"}`

const headOf = rememberingAll(
  (flags: number, name: string, kind: number) =>
    `,"flags":${flags},"name":${quoted(name)},"kind":${kind},"startTimeUnixNano":"`,
)
const statusOf = (error: string | undefined) =>
  error === undefined ? ',"status":{}}' : `,"status":{"code":${ERROR},"message":${quoted(error)}}}`
const listed = (name: string, texts: readonly string[] | undefined) =>
  texts && texts.length > 0 ? `,"${name}":[${texts.join(',')}]` : ''

/** A span as the text of an element of a list. */
export function spanJson(span: SpanParts): string {
  const { traceId, spanId, parentId, remote, state, name, kind, start, end, attributes, events, links, error } = span
  const parent = parentId === undefined ? '' : `,"parentSpanId":"${parentId}"`
  const stated = state ? `,"traceState":${quoted(state)}` : ''
  const head = headOf(SAMPLED | KNOWS_REMOTE | (remote ? IS_REMOTE : 0), name, kind)
  const times = `${nanos(start)}","endTimeUnixNano":"${nanos(Math.max(start, end))}`
  return `{"traceId":"${traceId}","spanId":"${spanId}"${parent}${stated}${head}${times}","attributes":[${attributes}]${listed('events', events)}${listed('links', links)}${statusOf(error)}`
}
