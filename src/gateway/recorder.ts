// The trace of a call, saved exactly once: when a whole answer is made, when a stream ends, or when the call is refused.
import { REQUEST_ID, TRACE_ID } from '../contract/answer-headers.ts'
import { ApiError, envelope } from '../contract/error.ts'
import type { OutcomeKind, TraceRecord } from '../contract/trace.ts'
import { realClock } from '../lib/clock.ts'
import { ulidOf } from '../lib/ids.ts'
import { costOf } from '../providers/catalogue.ts'
import { recordAttempt } from './attempt-record.ts'
import { errorOf, type Failure } from './outcome.ts'
import { retryAfter } from './retry.ts'
import type { Settings } from './settings.ts'
import type { AttemptAnswer, Call, CallResult, TraceRecorder } from './types.ts'

interface Saved extends Pick<TraceRecord, 'outcome' | 'status' | 'error'>, Partial<CallResult> {
  /** Of an answer that is none. */
  headers?: Record<string, string>
}

/** Begins the trace of a call: it gets its number and its id. */
export function startTrace({ operation, text, retained, session }: Call): TraceRecorder {
  const seq = session.nextCall()
  // What the call began with, whatever becomes of the session.
  const { clock, traces, keyValues } = session
  const started = clock.now()
  const arrived = realClock.now()
  const id = ulidOf(session.seed, started, `${session.name}:trace`, seq)
  const steps: Pick<TraceRecord, 'plan' | 'scenario' | 'faults' | 'attempts' | 'cache' | 'guardrails' | 'retrievals'> =
    {
      plan: [],
      scenario: null,
      faults: [],
      attempts: [],
      cache: null,
      guardrails: [],
      retrievals: [],
    }
  let request: { metadata?: TraceRecord['metadata'] } | undefined
  let settings: Settings | undefined
  let rendered: object | null = null
  let failure: Failure | undefined
  let current: AttemptAnswer | undefined
  let saved = false

  const stream = () => request !== undefined && operation.streams(request)
  const save = ({ outcome, status, error, answer, text: answered = 'null', usage, keep = [], headers = {} }: Saved) => {
    if (saved) return Promise.resolve()
    saved = true
    const model = answer?.model ?? steps.attempts.at(-1)?.target ?? (request ? operation.model(request) : null)
    const used = usage ?? answer?.from.usage ?? null
    const record: TraceRecord = {
      id,
      session: session.name,
      operation: operation.name,
      name: settings?.name ?? operation.name,
      model,
      stream: stream(),
      status,
      outcome,
      started_at: new Date(started).toISOString(),
      duration_ms: clock.now() - started,
      fixture: answer?.from.fixture ?? null,
      synthesized: answer?.from.synthesized ?? false,
      ...steps,
      retry_after_ms: retryAfter(headers, clock.now()) ?? null,
      usage: used,
      // An answer from the cache costs nothing.
      cost: used && model ? (answer?.attempt ? costOf(model, used) : 0) : null,
      attachments: request === undefined ? [] : [...(operation.attachments?.(request) ?? [])],
      metadata: request?.metadata ?? null,
      identity: settings?.identity ?? null,
      thread: settings?.thread ?? null,
      error,
    }
    const heard = { arrived, left: realClock.now() }
    const recorded = retained
      ? traces.record(seq, record, {
          ...heard,
          request: text,
          rendered: JSON.stringify(rendered),
          answer: answered,
        })
      : traces.record(seq, withoutContent(record), { ...heard, ...NOTHING_KEPT })
    if (keep.length === 0) return recorded
    // Written in the same turn, so in the same transaction: the answer and what it leaves stand or fall together.
    return Promise.all([recorded, ...keep.map(keyValues.put)]).then(() => {})
  }
  const headers = (): Record<string, string> => {
    const { attempts, cache } = steps
    const faults = [...new Set([...steps.faults, ...attempts.flatMap((attempt) => attempt.faults)])]
    const answer = current
    const model = answer?.model ?? attempts.at(-1)?.target ?? steps.plan[0]
    return {
      [REQUEST_ID]: id,
      [TRACE_ID]: id,
      'x-understudy-session': session.name,
      'x-understudy-attempts': String(attempts.length),
      'x-understudy-fallback': String(attempts.at(-1)?.position ?? 0),
      'x-understudy-cache': cache?.status ?? 'off',
      'x-understudy-faults': faults.join(', '),
      ...(model && { 'x-understudy-model': model }),
      ...(steps.scenario && { 'x-understudy-scenario': steps.scenario }),
      ...(answer?.attempt && {
        'x-understudy-fixture': answer.from.fixture ?? (answer.from.synthesized ? 'synthesized' : ''),
      }),
      ...(cache?.age_ms != null && { age: String(Math.floor(cache.age_ms / 1000)) }),
    }
  }
  return {
    id,
    seq,
    started,
    describe(parsed, known) {
      request = parsed
      settings = known
    },
    rendered(sent) {
      rendered = sent
    },
    plan(targets) {
      steps.plan = targets.map(({ model }) => model)
    },
    attempt(tried) {
      const { record, recording } = recordAttempt(tried, () => clock.now() - started)
      steps.attempts.push(record)
      return recording
    },
    cache(key, age) {
      steps.cache = { status: age === undefined ? 'miss' : 'hit', key, age_ms: age ?? null }
    },
    guardrail: (verdict) => void steps.guardrails.push(verdict),
    retrieval: (found) => void steps.retrievals.push(found),
    playing(scenario) {
      steps.scenario = scenario?.name ?? null
    },
    answered(answer) {
      current = answer
    },
    faults: steps.faults,
    heard({ status, headers: sent }) {
      if (saved) return Promise.resolve()
      const outcome = failure?.kind ?? (status < 400 ? 'answered' : 'refused')
      const message = failure?.message ?? `answered by a fault: ${steps.faults.join(', ')}`
      const error = outcome === 'answered' ? null : bodyOf(new ApiError(status, 'injected_fault', message))
      current?.attempt?.end()
      return save({ outcome, status, error, headers: sent, ...(current && { answer: current }) })
    },
    failed(last) {
      failure = last
    },
    headers,
    end(ending) {
      const { answer, failure: cut } = ending
      answer.attempt?.end(cut)
      return save({
        ...ending,
        outcome: cut?.kind ?? 'answered',
        status: 200,
        error: cut ? bodyOf(errorOf(cut)) : null,
      })
    },
    refuse(error) {
      const known = error instanceof ApiError ? error : new ApiError(500, 'internal_error', String(error))
      Object.assign(known.headers, headers())
      const outcome: OutcomeKind = failure?.kind ?? 'refused'
      return save({ outcome, status: known.status, error: bodyOf(known), headers: known.headers })
    },
  }
}

const bodyOf = (error: ApiError): TraceRecord['error'] => envelope(error).error

const NOT_KEPT = 'not kept'
const NOTHING_KEPT = { request: 'null', rendered: 'null', answer: 'null' }
/** A record without what quotes the request or the answer. */
const withoutContent = (record: TraceRecord): TraceRecord => ({
  ...record,
  attempts: record.attempts.map((attempt) => ({ ...attempt, error: attempt.error && NOT_KEPT })),
  guardrails: record.guardrails.map((verdict) => ({ ...verdict, reason: verdict.reason && NOT_KEPT })),
  retrievals: record.retrievals.map((search) => ({ ...search, query: NOT_KEPT, chunks: [] })),
  attachments: [],
  error: record.error && { ...record.error, message: NOT_KEPT },
})
