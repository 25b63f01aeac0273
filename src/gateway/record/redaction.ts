// What is stored and shown of a call while cassettes are recorded or replayed: its texts with placeholders for secrets.
import type { Redactor } from '../../cassettes/redact.ts'
import type { TraceRecord } from '../../contract/core/trace.ts'
import { MAX_REDACTED_AT_ONCE, redactText } from '../../workers/redaction.ts'
import type { BodyChunk } from '../stream/sent-body.ts'

/** Redacts what is stored of one call. */
export interface TraceRedaction {
  /**
   * Redacts the large ones of some texts in a worker, so that the other functions find them done. One that takes too long is not kept.
   * Undefined if none is large.
   */
  prepare(texts: readonly string[]): Promise<unknown> | undefined
  text(text: string): string
  /** A JSON value, in the form in which its redacted text is. */
  value<Value>(value: Value): Value
  /** A trace: the fields with texts of the client, the provider or the workspace. */
  record(record: TraceRecord): TraceRecord
  /** The pieces of a body: a secret may be split among them. */
  pieces(pieces: readonly BodyChunk[]): readonly BodyChunk[]
}

/** Longer texts are not kept: redacting them takes longer than the end of a call may wait. */
const MAX_TEXT = 2 ** 20
const NOT_KEPT = 'null'

/** The redaction of a call. A text that it contains several times, such as its response, is searched once. */
export function traceRedaction(redactor: Redactor): TraceRedaction {
  const known = new Map<string, string>()
  const text = (original: string) =>
    original.length > MAX_TEXT ? NOT_KEPT : known.getOrInsertComputed(original, () => redactor.text(original))
  const value = <Value>(original: Value): Value => {
    const before = JSON.stringify(original)
    if (before === undefined) return original
    const redacted = text(before)
    return redacted === before ? original : JSON.parse(redacted)
  }
  return {
    prepare(texts) {
      const large = new Set(texts.filter(({ length }) => length > MAX_REDACTED_AT_ONCE && length <= MAX_TEXT))
      if (large.size === 0) return undefined
      const redacted = [...large].map(async (original) => {
        known.set(original, await redactText(redactor, original).catch(() => NOT_KEPT))
      })
      return Promise.all(redacted)
    },
    text,
    value,
    record(record) {
      const { name, operation, attempts, guardrails, retrievals, attachments, metadata, identity, error } = record
      // Most calls have the name of their operation.
      const named = name === operation ? {} : { name }
      const texts = { ...named, thread: record.thread, metadata, identity, error, guardrails, retrievals }
      const failed = attempts.some((attempt) => attempt.error !== null || attempt.history !== undefined)
      return {
        ...record,
        ...(Object.values(texts).some(isPresent) && value(texts)),
        ...(failed && { attempts: value(attempts) }),
        ...(attachments.length > 0 && { attachments: value(attachments) }),
      }
    },
    pieces(pieces) {
      if (pieces.reduce((sum, { length }) => sum + length, 0) > MAX_REDACTED_AT_ONCE) return []
      const bytes = () => pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece))
      const isText = pieces.every((piece) => typeof piece === 'string')
      const whole = isText ? pieces.join('') : Buffer.concat(bytes()).toString('utf8')
      return text(whole) === whole ? pieces : redactor.pieces(bytes())
    },
  }
}

const isPresent = (value: unknown): boolean =>
  value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0)
