// The reply of a backend to an attempt. It stays a value until something needs its bytes.
import type { EventStream } from '../../lib/sse.ts'

/** A reply of a backend: whole, as events that arrive over time, or as a provider's bytes. */
export interface Reply {
  status: number
  /** Headers that callers act on, such as `retry-after`. Names are in lower case. */
  headers: Record<string, string>
  body: ValueBody | EventsBody | BytesBody
  /** The real provider that sent the reply. An error in it then names the provider. */
  provider?: string
  /** Counts that the body need not contain; those of a stream are known once it has ended. */
  usage: Record<string, unknown> | null
  /** Whether an error in it reaches the client unchanged, with its type and all its headers. */
  verbatim?: boolean
  /** Whether it is a provider's reply to the client, with all of its headers: nothing in it is changed. */
  raw?: true
  /** Its cookies: the one header that may be repeated, and cannot be joined. */
  cookies?: readonly string[]
  /** Removes from a text what must not be stored, such as a provider's key that is repeated in pieces. */
  redact?: (text: string) => string
  /** The stop sequence that ended the text, if known. */
  stoppedBy?: string | undefined
  fixture: string | null
  generated: boolean
}
/** A whole response of this API. */
export interface ValueBody {
  kind: 'value'
  value: unknown
  /** The value as JSON: as received, so that nothing changes on its way, or as already serialized. */
  text?: string
}
/** A stream of this API that is complete when it ends. */
export interface EventsBody {
  kind: 'events'
  events: EventStream
  /** The client's whole response after the last of them, if known without parsing them again. */
  whole?: (() => object) | undefined
  /** Whether the end mark is among them. */
  marked?: boolean
}
/** Bytes on the wire, which the gateway has to parse: JSON, server-sent events or an error of the provider. */
export interface BytesBody {
  kind: 'bytes'
  contentType: string
  bytes: Uint8Array | AsyncIterable<Uint8Array>
  /** The declared length, if fewer bytes follow. */
  announced?: number
  /**
   * For a stream of events: whether an event is not part of the response, by its data. Called once for each, in order.
   */
  hides?: (data: string) => boolean
}

const NOT_COUNTED = { usage: null, fixture: null, generated: false }

/**
 * A reply of status 200 with a value, as the workspace or a tool returns it.
 * @example
 * valueReply({ id: 1 }).status // => 200
 * valueReply({ id: 1 }).body // => { kind: 'value', value: { id: 1 } }
 */
export const valueReply = (value: unknown): Reply => ({
  status: 200,
  headers: {},
  body: { kind: 'value', value },
  ...NOT_COUNTED,
})

/** A provider's reply in JSON. */
export const jsonReply = (status: number, value: unknown, headers: Record<string, string> = {}): Reply => ({
  status,
  headers,
  body: { kind: 'bytes', contentType: 'application/json', bytes: new TextEncoder().encode(JSON.stringify(value)) },
  ...NOT_COUNTED,
})

/**
 * There is no reply, or no more of it; the message has the reason.
 * @example
 * new ConnectionFailure('the connection was closed', 'closed').how // => 'closed'
 */
export class ConnectionFailure extends Error {
  /** How a client would see it on its connection; `garbled` is an invalid chunk size, and then the end. */
  readonly how: 'reset' | 'closed' | 'garbled'
  constructor(message: string, how: ConnectionFailure['how'] = 'reset') {
    super(message)
    this.how = how
  }
}

/** The reply is not a response of this API: empty, truncated, or of another form. */
export class Unreadable extends Error {}

/**
 * An attempt exceeded its time limit.
 * @example
 * new TimedOut(5, 'a/b did not respond').message // => 'a/b did not respond within the call_timeout of 5 ms'
 */
export class TimedOut extends Error {
  constructor(ms: number, what: string) {
    super(`${what} within the call_timeout of ${ms} ms`)
  }
}
