// The trace of a call, saved exactly once: when a whole answer is made, when a stream ends, or when the call is refused.
import { ApiError, envelope } from '../contract/error.ts'
import type { Reply } from '../contract/reply.ts'
import type { OutcomeKind, TraceRecord } from '../contract/trace.ts'
import { ulidOf } from '../lib/ids.ts'
import type { Call } from './handle.ts'

/** A call being recorded. */
export interface Recording {
  readonly id: string
  /** Notes that content has begun to reach the client. */
  contentBegan(): void
  /** Saves the trace; resolves when it is committed. */
  end(how: { outcome: OutcomeKind; status: number; reply: Reply; answer: string }): Promise<void>
  /** Saves the trace of a call that was refused with an error. */
  refuse(error: unknown): Promise<void>
}

type Fields = Record<string, unknown>
/** What any operation's body may say for the trace, at top level or in the service options. */
interface TraceFields {
  name?: string | null
  metadata?: Fields | null
  svc?: { name?: string; identity?: Fields; thread?: Fields } | null
  identity?: Fields | null
  thread?: Fields | null
}

/** Begins the trace of a call: it gets its number and its id. */
export function startRecording({ operation, request, text, session }: Call): Recording {
  const seq = session.nextCall()
  const started = session.clock.now()
  const id = ulidOf(session.seed, started, `${session.name}:trace`, seq)
  const model = operation.model(request)
  const fields = request as TraceFields
  let firstContent: number | null = null
  let saved = false

  const save = (
    outcome: OutcomeKind,
    status: number,
    reply: Reply | undefined,
    error: TraceRecord['error'],
    answer: string,
  ): Promise<void> => {
    if (saved) return Promise.resolve()
    saved = true
    const duration = session.clock.now() - started
    const record: TraceRecord = {
      id,
      session: session.name,
      operation: operation.name,
      name: fields.name ?? fields.svc?.name ?? operation.name,
      model,
      stream: operation.streams(request),
      status,
      outcome,
      started_at: new Date(started).toISOString(),
      duration_ms: duration,
      fixture: reply?.fixture ?? null,
      synthesized: reply?.synthesized ?? false,
      attempts: reply
        ? [{ target: model, number: 1, outcome, status, first_content_ms: firstContent, duration_ms: duration }]
        : [],
      usage: reply?.usage ?? null,
      metadata: fields.metadata ?? null,
      identity: fields.identity ?? fields.svc?.identity ?? null,
      thread: fields.thread ?? fields.svc?.thread ?? null,
      error,
    }
    return session.traces.record(seq, record, text, answer)
  }
  return {
    id,
    contentBegan: () => {
      firstContent ??= session.clock.now() - started
    },
    end: ({ outcome, status, reply, answer }) => save(outcome, status, reply, null, answer),
    refuse: (error) => {
      const known = error instanceof ApiError ? error : new ApiError(500, 'internal_error', String(error))
      const outcome = (error as { name?: string }).name === 'AbortError' ? 'cancelled' : 'refused'
      return save(outcome, known.status, undefined, envelope(known).error, 'null')
    },
  }
}
