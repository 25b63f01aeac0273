// What the trace says of one attempt, written down while it goes on.
import type { AttemptRecord } from '../contract/trace.ts'
import { requestIdOf } from '../providers/request-id.ts'
import type { AttemptInfo, AttemptRecorder } from './recording.ts'

/** Begins the record of an attempt; `elapsed` is the time in ms since the call began, `onEnd` is called at its end. */
export function recordAttempt(
  { target, number, why, waited }: AttemptInfo,
  elapsed: () => number,
  onEnd: (record: AttemptRecord) => void,
): { record: AttemptRecord; recording: AttemptRecorder } {
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
  const recording: AttemptRecorder = {
    contentBegan() {
      record.first_content_ms ??= elapsed()
    },
    replied(reply) {
      record.request_id = requestIdOf(reply.headers) ?? null
      if (reply.verbatim && reply.fixture !== null) record.fixture = reply.fixture
    },
    faults: record.faults,
    end(failure) {
      if (over) return
      over = true
      record.duration_ms = elapsed() - started
      if (failure) {
        record.request_id ??= requestIdOf(failure.headers) ?? null
        Object.assign(record, { outcome: failure.kind, status: failure.status, error: failure.message })
      }
      onEnd(record)
    },
  }
  return { record, recording }
}
