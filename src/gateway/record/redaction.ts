// What is stored and shown of a call while cassettes are recorded or replayed: its texts with placeholders for secrets.
import type { Redactor } from '../../cassettes/redact.ts'
import type { BodyChunk } from '../stream/sent-body.ts'

/** Redacts what is stored of the calls of a session. */
export interface TraceRedaction {
  text(text: string): string
  /** A JSON value, in the form in which its redacted text is. */
  value<Value>(value: Value): Value
  /** The pieces of a body: a secret may be split among them. */
  pieces(pieces: readonly BodyChunk[]): readonly BodyChunk[]
}

/** The redaction of a session's calls. */
export function traceRedaction(redactor: Redactor): TraceRedaction {
  const text = (original: string) => redactor.text(original)
  return {
    text,
    value(value) {
      const original = JSON.stringify(value)
      if (original === undefined) return value
      const redacted = text(original)
      return redacted === original ? value : JSON.parse(redacted)
    },
    pieces(pieces) {
      const bytes = pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece))
      return redactor.pieces(bytes)
    },
  }
}
