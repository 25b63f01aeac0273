// What a backend gives for an attempt. It stays a value until something needs its bytes.
import type { StreamEvent } from '../lib/sse.ts'

/** The body of a reply: a value, events that come in their own time, or the bytes of a provider as they came. */
export type ReplyBody =
  | { kind: 'value'; value: unknown }
  | { kind: 'events'; events: Iterable<StreamEvent> | AsyncIterable<StreamEvent> }
  | { kind: 'bytes'; contentType: string; bytes: ReadableStream<Uint8Array> | Uint8Array }

/** One answer of a backend. Whatever has a status is a reply, also a provider's error. */
export interface Reply {
  status: number
  headers: Record<string, string>
  /** Reading it fails when the connection breaks, or with the signal's reason once the call is aborted. */
  body: ReplyBody
  /** Counts that the body does not show; those of a stream are there once it has ended. */
  usage: Record<string, unknown> | null
  fixture: string | null
  synthesized: boolean
}

/** The connection to a provider was refused, reset or never made: there is no status. */
export class ConnectionFailure extends Error {}
