// Records a call and its attempts, and describes them in response headers.
import type { Redactor } from '../../cassettes/redact.ts'
import { FAULTS, INSTANCE, REQUEST_ID, TRACE_ID } from '../../contract/core/answer-headers.ts'
import type { HistoryRecord } from '../../contract/core/history.ts'
import type { EndedStep, Observers } from '../../contract/core/observation.ts'
import type { CallSequences } from '../../contract/core/sequence.ts'
import type { AttemptRecord, GuardrailRecord, RetrievalRecord, TraceRecord } from '../../contract/core/trace.ts'
import { realClock } from '../../lib/clock.ts'
import { ulidOf } from '../../lib/ids.ts'
import { monotonicMs } from '../../lib/monotonic.ts'
import { requestIdOf } from '../../providers/request-id.ts'
import type { Session } from '../../sessions/sessions.ts'
import type { Call } from '../call.ts'
import type { Failure } from '../outcome.ts'
import type { PassedRequest } from '../passing.ts'
import type { Settings } from '../settings.ts'
import {
  type AnswerRecord,
  type AttemptInfo,
  type AttemptRecorder,
  emptySteps,
  type SentResponse,
  type TraceSteps,
} from './recording.ts'

/** The trace id of a call: derived from its key, or from its number when it has no key. */
export function traceIdOf(
  { seed, name, traces }: Pick<Session, 'name' | 'seed' | 'traces'>,
  { started, seq, key }: { started: number; seq: number; key: string | undefined },
): string {
  const keyed = key === undefined ? undefined : ulidOf(seed, started, `${name}:trace:${key}`, 0)
  // The id exists already if a killed process made the same call at the same instant of a virtual clock.
  return keyed === undefined || traces.has(keyed) ? ulidOf(seed, started, `${name}:trace`, seq) : keyed
}

/** What recordings need. */
export interface RecorderParts {
  observers: Observers
  /** The redactor of a session, for what is stored of its calls; absent while no cassettes are recorded or replayed. */
  redactorOf?: ((session: string) => Redactor) | undefined
}

/** Begins the trace of a call and assigns its number and id. */
export function startTrace(call: Call, parts: RecorderParts): TraceRecorder {
  const { observers } = parts
  const recording = new TraceRecorder(call, parts)
  if (observers.active) {
    const { id: trace } = recording
    const { operation, session, inner } = call
    const parent = inner?.parent ?? null
    observers.notify({ type: 'call-begun', session: session.name, trace, operation: operation.name, parent }, call)
  }
  return recording
}

/** A call that is being recorded. A class, since every call creates one. */
export class TraceRecorder {
  readonly call: Call
  readonly observers: Observers
  /** The number of the call in its session. */
  readonly seq: number
  readonly id: string
  /** Start of the call by the clock of its session, in ms since the epoch. */
  readonly started: number
  /** Start of the call by the real clock, in ms since the epoch. */
  readonly arrived = realClock.now()
  /** The stores of the session when the call began; they stay the same when the session is reset. */
  readonly stores: Pick<Session, 'traces' | 'keyValues' | 'sequences'>
  readonly steps = emptySteps()
  /** When the steps other than attempts ended, for observers. */
  readonly endedSteps: EndedStep[] = []
  /** The rendered request as JSON; `null` when it equals the body. */
  rendered = 'null'
  /** Whether the call goes straight to its provider, without gateway features. */
  direct = false
  /** Whether the body matches our schema; a passed-on request may not. */
  isRead = true
  /** The parsed body. */
  request?: { metadata?: TraceRecord['metadata'] }
  settings?: Settings
  /** Progress through the reply sequences of fixtures; absent when none was used. */
  sequences?: CallSequences
  /** The client's own request, when it is passed on to its provider. */
  passed?: PassedRequest | undefined
  readonly #begun: number
  readonly #redactorOf: RecorderParts['redactorOf']
  /** The call site; absent until the body is read, and for internal calls. */
  point?: string | undefined
  /** The failure that the call ends with. */
  failure?: Failure
  answer?: AnswerRecord
  /** The response that its client was sent. */
  sent?: SentResponse

  constructor(call: Call, { observers, redactorOf }: RecorderParts) {
    const { session } = call
    this.call = call
    this.observers = observers
    this.#redactorOf = redactorOf
    this.seq = session.nextCall()
    session.underWay.add(this.seq)
    this.started = session.clock.now()
    this.#begun = session.clock.passed()
    this.id = traceIdOf(session, { started: this.started, seq: this.seq, key: call.inner?.key })
    this.stores = { traces: session.traces, keyValues: session.keyValues, sequences: session.sequences }
  }

  /** Milliseconds since the call began, by the clock of its session. */
  elapsed(): number {
    return this.call.session.clock.passed() - this.#begun
  }

  attempt(tried: AttemptInfo): AttemptRecorder {
    const attempt = new AttemptRecording(tried, this)
    this.steps.attempts.push(attempt.record)
    return attempt
  }

  /** Notifies observers; `httpStatus` is null when no reply arrived. */
  attemptEnded(attempt: AttemptRecord, httpStatus: number | null): void {
    const { call, id: trace, observers } = this
    if (!observers.active) return
    const session = call.session.name
    const error = attempt.error && (this.#redactorOf?.(session).text(attempt.error) ?? attempt.error)
    const shown = error === attempt.error ? attempt : { ...attempt, error }
    observers.notify({ type: 'attempt-ended', session, trace, attempt: shown }, { httpStatus })
  }

  /** Records a cache lookup; `age` is the age of the entry in ms, undefined for a miss. */
  cache(key: string, age: number | undefined): void {
    this.#ended('cache')
    const status = age === undefined ? 'miss' : 'hit'
    this.steps.cache = { status, key, age_ms: age ?? null, started_ms: this.elapsed() }
  }

  guardrail(verdict: GuardrailRecord): void {
    this.#ended('guardrail')
    this.steps.guardrails.push(verdict)
  }

  retrieval(found: RetrievalRecord): void {
    this.#ended('retrieval')
    this.steps.retrievals.push(found)
  }

  #ended(kind: EndedStep['kind']): void {
    this.endedSteps.push({ kind, at: monotonicMs() })
  }
}

/** An attempt that is being recorded. */
class AttemptRecording implements AttemptRecorder {
  readonly record: AttemptRecord
  readonly #call: TraceRecorder
  #ended = false
  /** Status of the reply; null before it arrives. */
  #httpStatus: number | null = null

  constructor({ target, number, why, waited }: AttemptInfo, call: TraceRecorder) {
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

/** Response headers that identify the trace and describe the call so far. */
export const headersOf = (recording: TraceRecorder): Record<string, string> =>
  withDescription({ [REQUEST_ID]: recording.id }, recording)

/** The headers, with those that describe the call so far. */
export function withDescription(
  headers: Record<string, string>,
  { id, call, steps, point, answer: record }: TraceRecorder,
): Record<string, string> {
  const { attempts, cache, plan, scenario } = steps
  const answer = record?.answer
  const last = attempts.at(-1)
  headers[TRACE_ID] = id
  headers[INSTANCE] = call.session.slot.instance.name
  headers['x-understudy-session'] = call.session.name
  headers['x-understudy-attempts'] = String(attempts.length)
  headers['x-understudy-fallback'] = String(last?.position ?? 0)
  headers['x-understudy-cache'] = cache?.status ?? 'off'
  headers[FAULTS] = faultsOf(steps).join(', ')
  const model = answer?.model ?? last?.target ?? plan[0]
  if (model) headers['x-understudy-model'] = model
  if (call.assumed) headers['x-understudy-assumed'] = Object.values(call.assumed).join(', ')
  if (point) headers['x-understudy-call-site'] = point
  if (scenario) headers['x-understudy-scenario'] = scenario
  if (answer?.attempt)
    headers['x-understudy-fixture'] = answer.from.fixture ?? (answer.from.generated ? 'generated' : '')
  else if (!answer && last?.fixture !== undefined) headers['x-understudy-fixture'] = last.fixture
  if (cache?.age_ms != null) headers.age = String(Math.floor(cache.age_ms / 1000))
  return headers
}

const hasNoFaults = (attempt: AttemptRecord) => attempt.faults.length === 0

/** The names of the rules that were triggered, each once. */
function faultsOf({ faults, attempts }: TraceSteps): readonly string[] {
  if (faults.length === 0 && attempts.every(hasNoFaults)) return faults
  return [...new Set([...faults, ...attempts.flatMap((attempt) => attempt.faults)])]
}
