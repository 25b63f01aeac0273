// The trace of a call, saved exactly once: when a whole answer is made, when a stream ends, or when the call is refused.
import { ApiError, envelope } from '../contract/error.ts'
import type { Keep } from '../contract/kept.ts'
import type { Reply } from '../contract/reply.ts'
import type { OutcomeKind, TraceRecord } from '../contract/trace.ts'
import { ulidOf } from '../lib/ids.ts'
import { costOf } from '../providers/catalogue.ts'
import type { Call } from './handle.ts'

/** How a call that was answered, at least in part, has ended. */
export interface Ending {
  outcome: OutcomeKind
  status: number
  reply: Reply
  /** The answer as JSON text. */
  answer: string
  /** What it leaves for later calls; only a complete answer leaves anything. */
  keep?: readonly Keep[]
  /** Why a stream broke off. */
  error?: ApiError
}

/** A call being recorded. */
export interface Recording {
  readonly id: string
  /** Milliseconds since the epoch at which the call began. */
  readonly started: number
  /** Notes what the body says, once it is parsed. */
  describe(request: unknown): void
  /** Notes that content has begun to reach the client. */
  contentBegan(): void
  /** Saves the trace; resolves when it, and what the answer leaves, is committed. */
  end(ending: Ending): Promise<void>
  /** Saves the trace of a call that was refused with an error, whose answer then names the trace. */
  refuse(error: unknown): Promise<void>
}

type Fields = Record<string, unknown>
/** What any operation's body may say for the trace, at top level or in the service options. */
interface TraceFields {
  name?: string | null
  metadata?: Fields | null
  svc?: { name?: string | null; identity?: Fields | null; contact?: Fields | null; thread?: Fields | null } | null
  identity?: Fields | null
  thread?: Fields | null
}

/** Begins the trace of a call: it gets its number and its id. */
export function startRecording({ operation, text, session }: Call): Recording {
  const seq = session.nextCall()
  const started = session.clock.now()
  const id = ulidOf(session.seed, started, `${session.name}:trace`, seq)
  let request: unknown
  let firstContent: number | null = null
  let saved = false

  const save = (ended: Partial<Ending> & Pick<Ending, 'outcome' | 'status'>, error: TraceRecord['error']) => {
    if (saved) return Promise.resolve()
    saved = true
    const { outcome, status, reply, answer = 'null', keep = [] } = ended
    const duration = session.clock.now() - started
    const model = request === undefined ? null : operation.model(request)
    const fields = (request ?? {}) as TraceFields
    const { svc } = fields
    const record: TraceRecord = {
      id,
      session: session.name,
      operation: operation.name,
      name: fields.name ?? svc?.name ?? operation.name,
      model,
      stream: request !== undefined && operation.streams(request),
      status,
      outcome,
      started_at: new Date(started).toISOString(),
      duration_ms: duration,
      fixture: reply?.fixture ?? null,
      synthesized: reply?.synthesized ?? false,
      attempts:
        reply && model
          ? [{ target: model, number: 1, outcome, status, first_content_ms: firstContent, duration_ms: duration }]
          : [],
      usage: reply?.usage ?? null,
      cost: reply?.usage && model ? costOf(model, reply.usage) : null,
      attachments: request === undefined ? [] : [...(operation.attachments?.(request) ?? [])],
      metadata: fields.metadata ?? null,
      identity: fields.identity ?? svc?.identity ?? svc?.contact ?? null,
      thread: fields.thread ?? svc?.thread ?? null,
      error,
    }
    const recorded = session.traces.record(seq, record, text, answer)
    if (keep.length === 0) return recorded
    // Written in the same turn, so in the same transaction: the answer and what it leaves stand or fall together.
    return Promise.all([recorded, ...keep.map(session.kept.put)]).then(() => {})
  }
  return {
    id,
    started,
    describe(parsed) {
      request = parsed
    },
    contentBegan() {
      firstContent ??= session.clock.now() - started
    },
    end: (ending) => save(ending, ending.error ? envelope(ending.error).error : null),
    refuse(error) {
      const known = error instanceof ApiError ? error : new ApiError(500, 'internal_error', String(error))
      known.headers['x-understudy-trace'] = id
      const outcome = (error as { name?: string }).name === 'AbortError' ? 'cancelled' : 'refused'
      return save({ outcome, status: known.status }, envelope(known).error)
    },
  }
}
