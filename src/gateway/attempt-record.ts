// What the trace says of one attempt, written down while it goes on.
import type { Reply } from '../contract/reply.ts'
import type { AttemptRecord } from '../contract/trace.ts'
import { requestIdOf } from '../providers/request-id.ts'
import type { Try } from './attempt.ts'
import type { Failure } from './outcome.ts'

/** An attempt being recorded. */
export interface AttemptRecording {
  contentBegan(): void
  /** Notes the reply's id of the provider. */
  replied(reply: Pick<Reply, 'headers'>): void
  /** Rules of the scenario that are applied to it. */
  readonly faults: string[]
  /** Notes how it ended; an answer when there is no failure. */
  end(failure?: Failure): void
}

/** Begins the record of an attempt; `elapsed` is the time in ms since the call began. */
export function recordAttempt(
  { target, number, why, waited }: Try,
  elapsed: () => number,
): { record: AttemptRecord; recording: AttemptRecording } {
  const started = elapsed()
  const record: AttemptRecord = {
    target: target.model,
    position: target.position,
    number,
    why,
    faults: [],
    wait_ms: waited,
    started_ms: started,
    first_content_ms: null,
    duration_ms: 0,
    outcome: 'answered',
    status: 200,
    request_id: null,
    error: null,
  }
  let over = false
  const recording: AttemptRecording = {
    contentBegan() {
      record.first_content_ms ??= elapsed()
    },
    replied(reply) {
      record.request_id = requestIdOf(reply.headers) ?? null
    },
    faults: record.faults,
    end(failure) {
      if (over) return
      over = true
      record.duration_ms = elapsed() - started
      if (!failure) return
      record.request_id ??= requestIdOf(failure.headers) ?? null
      Object.assign(record, { outcome: failure.kind, status: failure.status, error: failure.message })
    },
  }
  return { record, recording }
}
