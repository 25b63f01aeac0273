// Spans in OTLP's JSON encoding (opentelemetry-proto, trace.proto): enums are numbers, 64-bit integers are strings.

import { cutWhole } from '../lib/well-formed.ts'

/** A value of an attribute. */
type AnyValue =
  | { stringValue: string }
  | { intValue: string }
  | { doubleValue: number }
  | { boolValue: boolean }
  | { arrayValue: { values: AnyValue[] } }

/** An attribute in the protocol. */
interface Attribute {
  key: string
  value: AnyValue
}

/** A span in the protocol; times are nanoseconds since the epoch. */
export interface OtlpSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  traceState?: string
  flags: number
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: Attribute[]
  events?: { timeUnixNano: string; name: string; attributes: Attribute[] }[]
  links?: readonly { traceId: string; spanId: string }[]
  status: { code?: number; message?: string }
}

/**
 * Attributes by name. A whole number is an integer, any other a double; values of `asDouble` and `asContent` are
 * exported unchanged. Null and undefined are omitted.
 */
export type AttributeValues = Readonly<
  Record<string, string | number | boolean | readonly string[] | AnyValue | null | undefined>
>

/** An event of a span; `at` is in milliseconds, like the times of its span. */
export interface EventParts {
  name: string
  at: number
  attributes: AttributeValues
}

/** The inputs of a span. */
export interface SpanParts {
  traceId: string
  spanId: string
  parentId?: string | undefined
  /** Whether the parent belongs to another program. */
  remote?: boolean | undefined
  /** The caller's `tracestate`. */
  state?: string | undefined
  name: string
  kind: (typeof SPAN_KIND)[keyof typeof SPAN_KIND]
  /** Milliseconds of the clock of observations, with fractions. */
  start: number
  end: number
  /** What must be added to these times to get milliseconds since the epoch. */
  offset: number
  attributes: AttributeValues
  events?: readonly EventParts[]
  links?: OtlpSpan['links']
  /** The error type if it failed. */
  error?: string | undefined
}

/** Span kinds by number. */
export const SPAN_KIND = { internal: 1, server: 2, client: 3 } as const

/** Maximum length of an attribute's value, in characters; only content may be longer. */
const MAX_VALUE = 1_000
/** Maximum length of content, in characters. */
export const MAX_CONTENT = 64_000
const SAMPLED = 1
const KNOWS_REMOTE = 0x100
const IS_REMOTE = 0x200
const ERROR = 2

const limited = (text: string, max = MAX_VALUE): string => cutWhole(text.toWellFormed(), max)

/** A double, even if the number is whole. */
export const asDouble = (value: number): AnyValue => ({ doubleValue: Number.isFinite(value) ? value : 0 })

/** A text of at most `MAX_CONTENT` characters. */
export const asContent = (text: string): AnyValue => ({ stringValue: limited(text, MAX_CONTENT) })

function anyValue(value: string | number | boolean | readonly string[] | AnyValue): AnyValue {
  if (typeof value === 'string') return { stringValue: limited(value) }
  if (typeof value === 'number') return Number.isSafeInteger(value) ? { intValue: String(value) } : asDouble(value)
  if (typeof value === 'boolean') return { boolValue: value }
  if ('length' in value) return { arrayValue: { values: value.map(anyValue) } }
  return value
}

/** Attributes in the protocol, in the order of `values`. */
export function attributeList(values: AttributeValues): Attribute[] {
  const list: Attribute[] = []
  for (const key in values) {
    const value = values[key]
    if (value != null) list.push({ key, value: anyValue(value) })
  }
  return list
}

/** Nanoseconds since the epoch, which exceed the precision of a number. */
function nanoseconds(ms: number): string {
  const whole = Math.floor(ms)
  const fraction = Math.min(999_999, Math.round((ms - whole) * 1e6))
  return `${whole}${String(fraction).padStart(6, '0')}`
}

/** Creates a span. */
export function createSpan(parts: SpanParts): OtlpSpan {
  const { traceId, spanId, parentId, remote, state, name, kind, start, end, offset, events, links, error } = parts
  return {
    traceId,
    spanId,
    ...(parentId !== undefined && { parentSpanId: parentId }),
    ...(state && { traceState: limited(state) }),
    flags: SAMPLED | KNOWS_REMOTE | (remote ? IS_REMOTE : 0),
    name: limited(name),
    kind,
    startTimeUnixNano: nanoseconds(start + offset),
    endTimeUnixNano: nanoseconds(Math.max(start, end) + offset),
    attributes: attributeList(parts.attributes),
    ...(events &&
      events.length > 0 && {
        events: events.map(({ name, at, attributes }) => ({
          timeUnixNano: nanoseconds(at + offset),
          name,
          attributes: attributeList(attributes),
        })),
      }),
    ...(links && links.length > 0 && { links }),
    status: error === undefined ? {} : { code: ERROR, message: limited(error) },
  }
}
