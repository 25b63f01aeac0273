// The record of one call, as it is stored and shown.

/** How a call ended. */
export type OutcomeKind = 'answered' | 'refused' | 'timed out' | 'disconnected' | 'unreadable' | 'cancelled'

/** One try of one target. */
export interface AttemptRecord {
  target: string
  number: number
  outcome: OutcomeKind
  status: number
  /** Milliseconds from the start of the attempt to the first content; null when there was none. */
  first_content_ms: number | null
  duration_ms: number
}

/** Everything about a call but its request and answer, which are kept as the texts they were on the wire. */
export interface TraceRecord {
  id: string
  session: string
  operation: string
  /** Display name given by the call, else the operation's. */
  name: string
  model: string
  stream: boolean
  status: number
  outcome: OutcomeKind
  started_at: string
  duration_ms: number
  /** The fixture that answered; null when the answer was synthesized or there was none. */
  fixture: string | null
  synthesized: boolean
  attempts: AttemptRecord[]
  usage: object | null
  metadata: object | null
  identity: object | null
  thread: object | null
  error: { message: string; type: string; param: string | null; code: string } | null
}

/** A trace with what is stored beside it. */
export interface StoredTrace extends TraceRecord {
  request: unknown
  answer: unknown
}
