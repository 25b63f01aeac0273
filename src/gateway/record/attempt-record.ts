// What the trace says of one attempt, written down while it goes on.
import type { HistoryRecord } from '../../contract/core/history.ts'
import type { AttemptRecord } from '../../contract/core/trace.ts'
import { requestIdOf } from '../../providers/request-id.ts'
import type { Failure } from '../outcome.ts'
import type { AttemptInfo, AttemptRecorder } from './recording.ts'

/** One attempt of a call that is being recorded. */
export class AttemptRecording implements AttemptRecorder {
  readonly record: AttemptRecord
  readonly #call: AttemptedCall
  #over = false
  /** That of the reply, as far as one came. */
  #httpStatus: number | null = null

  constructor({ target, number, why, waited }: AttemptInfo, call: AttemptedCall) {
    this.#call = call
    this.record = {
      target: target.model,
      position: target.position,
      number,
      reason: why,
      faults: [],
      wait_ms: waited,
      started_ms: call.elapsed(),
      first_content_ms: null,
      duration_ms: 0,
      outcome: 'succeeded',
      status: 200,
      request_id: null,
      error: null,
    }
  }

  get faults(): string[] {
    return this.record.faults
  }

  contentBegan(): void {
    this.record.first_content_ms ??= this.#call.elapsed()
  }

  replied({ status, headers, verbatim, fixture }: Parameters<AttemptRecorder['replied']>[0]): void {
    this.#httpStatus = status
    this.record.request_id = requestIdOf(headers) ?? null
    if (verbatim && fixture !== null) this.record.fixture = fixture
  }

  judged(history: HistoryRecord): void {
    this.record.history = history
  }

  end(failure?: Failure, httpStatus: number | null = this.#httpStatus): void {
    if (this.#over) return
    this.#over = true
    const { record } = this
    record.duration_ms = Math.max(0, this.#call.elapsed() - record.started_ms)
    if (failure) {
      record.request_id ??= requestIdOf(failure.headers) ?? null
      Object.assign(record, { outcome: failure.kind, status: failure.status, error: failure.message })
    }
    // Of a reply that broke before its first byte there is no head.
    this.#call.attemptEnded(record, failure?.status === 0 ? null : httpStatus)
  }
}

/** The call that an attempt is part of. */
interface AttemptedCall {
  /** Milliseconds since it began. */
  elapsed(): number
  /** `httpStatus` is null where no reply came. */
  attemptEnded(record: AttemptRecord, httpStatus: number | null): void
}
