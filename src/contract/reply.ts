// What a backend gives for an attempt. It stays a value until something needs its bytes.
import type { StreamEvent } from '../lib/sse.ts'

/** One answer of a backend: whole, or as events that come in their own time. */
export interface Reply {
  status: number
  headers: Record<string, string>
  body:
    | { kind: 'value'; value: unknown }
    | { kind: 'events'; events: Iterable<StreamEvent> | AsyncIterable<StreamEvent> }
  usage: Record<string, unknown> | null
  fixture: string | null
  synthesized: boolean
}
