// What a backend gives for an attempt. It stays a value until something needs its bytes.
import type { EventStream } from '../../lib/sse.ts'

/** One answer of a backend: whole, as events that come in their own time, or as the bytes a provider sent. */
export interface Reply {
  status: number
  /** Of a provider: those that its callers act on, such as `retry-after`. Names in lower case. */
  headers: Record<string, string>
  body: ValueBody | EventsBody | BytesBody
  /** The real provider whose words these are; an error in them then names it. */
  provider?: string
  /** Counts that the body need not show; those of a stream are known once it has ended. */
  usage: Record<string, unknown> | null
  /** Whether an error in it reaches the client as it is written, with its type and all its headers. */
  verbatim?: boolean
  /** Whether it is what a provider sent to the client, with all of its headers: nothing in it is changed. */
  raw?: true
  /** Its cookies: the one header that may come more than once, and cannot be joined. */
  cookies?: readonly string[]
  /** Takes what must not be kept out of a text, such as the key of a provider that repeats it in pieces. */
  redact?: (text: string) => string
  /** The stop sequence that ended the text, when that is known. */
  stoppedBy?: string | undefined
  fixture: string | null
  generated: boolean
}
/** A whole answer of this API. */
export interface ValueBody {
  kind: 'value'
  value: unknown
  /** The value as JSON, as it came, so that nothing changes on its way through, or as it was made already. */
  text?: string
}
/** A stream of this API, known to be complete when it ends. */
export interface EventsBody {
  kind: 'events'
  events: EventStream
  /** The whole answer that a client has after the last of them, when that is known without reading them again. */
  whole?: (() => object) | undefined
  /** Whether the end mark is among them. */
  marked?: boolean
}
/** Bytes as they are on the wire, which the gateway has to read: JSON, server-sent events or an error of the provider. */
export interface BytesBody {
  kind: 'bytes'
  contentType: string
  bytes: Uint8Array | AsyncIterable<Uint8Array>
  /** The length that is promised, when fewer bytes than that come. */
  announced?: number
  /** Of a stream of events, whether one is no part of the answer, by its data: asked once of each, in their order. */
  hides?: (data: string) => boolean
}

/**
 * A value that is answered as it is, with status 200: what the workspace or a tool gives.
 * @example
 * valueReply({ id: 1 }).status // => 200
 * valueReply({ id: 1 }).body // => { kind: 'value', value: { id: 1 } }
 */
export const valueReply = (value: unknown): Reply => ({
  status: 200,
  headers: {},
  body: { kind: 'value', value },
  usage: null,
  fixture: null,
  generated: false,
})

/** A reply of a provider that is JSON text. */
export const jsonReply = (status: number, value: unknown, headers: Record<string, string> = {}): Reply => ({
  status,
  headers,
  body: { kind: 'bytes', contentType: 'application/json', bytes: new TextEncoder().encode(JSON.stringify(value)) },
  usage: null,
  fixture: null,
  generated: false,
})

/**
 * There is no answer, or no more of it; the message says what happened.
 * @example
 * new ConnectionFailure('the connection was closed', 'closed').how // => 'closed'
 */
export class ConnectionFailure extends Error {
  /** How a client would see it on its own connection; `garbled` is what cannot be the size of the next chunk, and then the end. */
  readonly how: 'reset' | 'closed' | 'garbled'
  constructor(message: string, how: ConnectionFailure['how'] = 'reset') {
    super(message)
    this.how = how
  }
}

/** What came is not an answer of this API: empty, cut off, or not what was asked for. */
export class Unreadable extends Error {}
