// Calls of unknown paths: counted by session and path, with the path that was probably intended.
import { type ApiError, envelope } from '../contract/core/error.ts'
import { NO_OPERATION } from '../contract/core/operation.ts'
import type { TraceRecord } from '../contract/core/trace.ts'
import type { UnknownPath } from '../contract/core/verification.ts'
import { emptySteps } from '../gateway/record/recording.ts'
import { sessionPart } from '../gateway/record/trace-record.ts'
import { realClock } from '../lib/clock.ts'
import { ulidOf } from '../lib/ids.ts'
import { likelyPath } from '../lib/likely-name.ts'
import type { Session } from '../sessions/sessions.ts'

/** Maximum number of sessions with counts. */
const MAX_SESSIONS = 1000
const MAX_PATHS = 50
/** Maximum length of a stored path. */
export const MAX_PATH_LENGTH = 200
/** Maximum number of traces, so that a persistent client does not fill the database. */
const MAX_TRACED = 100

/** Notes calls of unknown paths. */
export type UnknownPathLog = ReturnType<typeof createUnknownPathLog>

/** A call of an unknown path. */
interface UnknownCall {
  session: string
  method: string
  path: string
}

/** A log without calls. */
export function createUnknownPathLog() {
  const sessions = new Map<string, Map<string, UnknownPath>>()
  let total = 0
  const pathsOf = (session: string) =>
    sessions.size < MAX_SESSIONS ? sessions.getOrInsertComputed(session, () => new Map()) : sessions.get(session)
  return {
    /**
     * Notes a call. Returns the path that was probably intended, and whether the call is one of the first of its session.
     * @param known the paths that may have been intended, parameters as `:name`
     */
    note({ session, method, path }: UnknownCall, known: () => readonly string[]) {
      total++
      const paths = pathsOf(session)
      const first = paths !== undefined && [...paths.values()].reduce((sum, { count }) => sum + count, 0) < MAX_TRACED
      const key = `${method} ${path.slice(0, MAX_PATH_LENGTH)}`
      const existing = paths?.get(key)
      if (existing) {
        existing.count++
        return { likely: existing.suggestion, first }
      }
      const likely = likelyPath(path, known())
      if (paths && paths.size < MAX_PATHS) {
        const at = new Date(realClock.now()).toISOString()
        paths.set(key, { method, path: path.slice(0, MAX_PATH_LENGTH), count: 1, at, suggestion: likely })
      }
      return { likely, first }
    },
    of: (session: string) => [...(sessions.get(session)?.values() ?? [])],
    count: () => total,
  }
}

/** Traces a call of an unknown path. */
export function traceUnknownPath(
  session: Session,
  { method, path, error }: { method: string; path: string; error: ApiError },
): void {
  const seq = session.nextCall()
  const now = session.clock.now()
  const arrived = realClock.now()
  const record: TraceRecord = {
    id: ulidOf(session.seed, now, `${session.name}:trace`, seq),
    ...sessionPart(session, seq),
    operation: NO_OPERATION,
    parent: null,
    internal: false,
    name: `${method} ${path.slice(0, MAX_PATH_LENGTH)}`,
    model: null,
    stream: false,
    status: error.status,
    outcome: 'http_error',
    started_at: new Date(now).toISOString(),
    duration_ms: 0,
    fixture: null,
    generated: false,
    route: 'gateway',
    ...emptySteps(),
    retry_after_ms: null,
    usage: null,
    cost: null,
    attachments: [],
    metadata: null,
    identity: null,
    thread: null,
    error: envelope(error).error,
  }
  const texts = { request: 'null', rendered: 'null', answer: 'null' }
  // The response does not depend on it.
  session.traces.record(seq, record, { arrived, left: arrived, ...texts }).catch(() => {})
}
