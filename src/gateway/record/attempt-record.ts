// Records one attempt for the trace.
import type { HistoryRecord } from '../../contract/core/history.ts'
import type { AttemptRecord } from '../../contract/core/trace.ts'
import { requestIdOf } from '../../providers/request-id.ts'
import type { Failure } from '../outcome.ts'
import type { AttemptInfo, AttemptRecorder } from './recording.ts'

/** An attempt that is being recorded. */
export class AttemptRecording implements AttemptRecorder {
  readonly record: AttemptRecord
  readonly #call: AttemptedCall
  #ended = false
  /** Status of the reply; null before it arrives. */
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
    if (this.#ended) return
    this.#ended = true
    const { record } = this
    record.duration_ms = Math.max(0, this.#call.elapsed() - record.started_ms)
    if (failure) {
      record.request_id ??= requestIdOf(failure.headers) ?? null
      Object.assign(record, { outcome: failure.kind, status: failure.status, error: failure.message })
    }
    // A reply that broke before its first byte has no status.
    this.#call.attemptEnded(record, failure?.status === 0 ? null : httpStatus)
  }
}

/** The call of an attempt. */
interface AttemptedCall {
  /** Milliseconds since the call began. */
  elapsed(): number
  /** `httpStatus` is null when no reply arrived. */
  attemptEnded(record: AttemptRecord, httpStatus: number | null): void
}
