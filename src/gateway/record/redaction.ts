// What is stored and shown of a call while cassettes are recorded or replayed: its texts with placeholders for secrets.
import { type Redactor, USUAL_TYPE } from '../../cassettes/redact.ts'
import type { AttemptRecord, TraceRecord } from '../../contract/core/trace.ts'
import { MASK } from '../../lib/secrets.ts'
import { type JobOwner, runJob } from '../../workers/pool.ts'
import type { BodyChunk } from '../stream/sent-body.ts'

/** Characters up to which a text is redacted at once, which takes at most some 20 ms; others would hold up calls. */
const MAX_REDACTED_AT_ONCE = 64 * 1024
/** The end of a call waits for its trace. */
const OWNER: JobOwner = { signal: new AbortController().signal }
/** Longer texts are not kept: redacting them takes longer than the end of a call may wait. */
const MAX_TEXT = 2 ** 20
const NOT_KEPT = 'null'

/** Redacts what is stored of one call. What has no secrets is returned as it is: most calls have none. */
export class TraceRedaction {
  readonly #redactor: Redactor
  /** Redacted texts: a call contains its response several times. */
  #known: Map<string, string> | undefined

  constructor(redactor: Redactor) {
    this.#redactor = redactor
  }

  /**
   * Redacts the large ones of some texts in a worker, so that the other functions find them done. One that takes too long is not kept.
   * Undefined if none is large.
   */
  prepare(texts: readonly string[]): Promise<unknown> | undefined {
    if (!texts.some(isPrepared)) return undefined
    return Promise.all(
      [...new Set(texts)].filter(isPrepared).map(async (original) => {
        this.#keep(original, await this.#apart(original).catch(() => NOT_KEPT))
      }),
    )
  }

  text(original: string): string {
    if (original.length > MAX_TEXT) return NOT_KEPT
    const known = this.#known?.get(original)
    if (known !== undefined) return known
    const redacted = this.#redactor.text(original)
    if (redacted !== original) this.#keep(original, redacted)
    return redacted
  }

  /** A JSON value, in the form in which its redacted text is. */
  value<Value>(original: Value): Value {
    const before = JSON.stringify(original)
    if (before === undefined) return original
    const redacted = this.text(before)
    return redacted === before ? original : JSON.parse(redacted)
  }

  /** Headers as they are shown, among them masked ones. */
  headers(headers: Record<string, string>): Record<string, string> {
    const isSearched = ([, value]: readonly [string, string]) => !MASKED.test(value) && !USUAL_TYPE.test(value)
    const searched = Object.fromEntries(Object.entries(headers).filter(isSearched))
    return this.value(searched) === searched ? headers : this.value(headers)
  }

  /** Changes a trace: the fields with texts of the client, the provider or the workspace. */
  record(record: TraceRecord): void {
    const { name, operation, attempts, attachments, thread, metadata, identity, error, guardrails, retrievals } = record
    // Most calls have the name of their operation.
    const isNamed = name !== operation
    const hasTexts = thread !== null || metadata !== null || identity !== null || error !== null
    if (isNamed || hasTexts || guardrails.length > 0 || retrievals.length > 0) {
      const named = isNamed ? { name } : {}
      Object.assign(record, this.value({ ...named, thread, metadata, identity, error, guardrails, retrievals }))
    }
    if (attempts.some(hasText)) record.attempts = this.value(attempts)
    for (const attempt of record.attempts) attempt.request_id &&= this.text(attempt.request_id)
    if (attachments.length > 0) record.attachments = this.value(attachments)
  }

  /** The pieces of a body: a secret may be split among them. */
  pieces(pieces: readonly BodyChunk[]): readonly BodyChunk[] {
    if (pieces.reduce((sum, { length }) => sum + length, 0) > MAX_REDACTED_AT_ONCE) return []
    const bytes = () => pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece))
    const isText = pieces.every((piece) => typeof piece === 'string')
    const whole = isText ? pieces.join('') : Buffer.concat(bytes()).toString('utf8')
    return this.text(whole) === whole ? pieces : this.#redactor.pieces(bytes())
  }

  /** In a worker: other calls would wait for seconds. */
  async #apart(text: string): Promise<string> {
    return this.#redactor.applied(text, await runJob('redactText', { redactor: this.#redactor.portable, text }, OWNER))
  }

  #keep(original: string, redacted: string): void {
    this.#known ??= new Map()
    this.#known.set(original, redacted)
  }
}

/** A masked header, which looks like a key: searching the headers of a call with one takes 12 us instead of 2. */
const MASKED = new RegExp(`^(?:[A-Za-z]+ +)?${RegExp.escape(MASK)}$`)
const isPrepared = ({ length }: string): boolean => length > MAX_REDACTED_AT_ONCE && length <= MAX_TEXT
const hasText = ({ error, history }: AttemptRecord): boolean => error !== null || history !== undefined
