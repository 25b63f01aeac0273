// Begins the recording of a call, and describes it in response headers.
import { FAULTS, INSTANCE, REQUEST_ID, TRACE_ID } from '../../contract/core/answer-headers.ts'
import type { ActiveScenario } from '../../contract/core/fault.ts'
import type { EndedStep, Observers } from '../../contract/core/observation.ts'
import type { CallSequences } from '../../contract/core/sequence.ts'
import type { AttemptRecord, GuardrailRecord, RetrievalRecord } from '../../contract/core/trace.ts'
import { realClock } from '../../lib/clock.ts'
import { ulidOf } from '../../lib/ids.ts'
import { monotonicMs } from '../../lib/monotonic.ts'
import type { Session } from '../../sessions/sessions.ts'
import type { Call } from '../call.ts'
import type { Failure } from '../outcome.ts'
import type { Target } from '../plan.ts'
import type { Settings } from '../settings.ts'
import type { GatewayParts } from '../types.ts'
import { AttemptRecording } from './attempt-record.ts'
import {
  type AnswerRecord,
  type AttemptInfo,
  type AttemptRecorder,
  emptySteps,
  type SentResponse,
  type TraceRecorder,
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

/** Begins the trace of a call and assigns its number and id. */
export function startTrace(call: Call, parts: Pick<GatewayParts, 'observers' | 'redactorOf'>): TraceRecorder {
  const { observers } = parts
  const recording = new CallRecording(call, parts)
  if (observers.active) {
    const { id: trace } = recording
    const { operation, session, inner } = call
    const parent = inner?.parent ?? null
    observers.notify({ type: 'call-begun', session: session.name, trace, operation: operation.name, parent }, call)
  }
  return recording
}

/** A class, since every call creates one. */
class CallRecording implements TraceRecorder {
  readonly call: Call
  readonly observers: Observers
  readonly seq: number
  readonly id: string
  readonly started: number
  readonly arrived = realClock.now()
  readonly stores: TraceRecorder['stores']
  readonly steps = emptySteps()
  readonly endedSteps: EndedStep[] = []
  rendered = 'null'
  direct = false
  isRead = true
  request?: TraceRecorder['request']
  settings?: Settings
  sequences?: CallSequences
  passed?: TraceRecorder['passed']
  readonly #begun: number
  readonly #redactorOf: GatewayParts['redactorOf']
  point?: string | undefined
  failure?: Failure
  answer?: AnswerRecord
  sent?: SentResponse

  constructor(call: Call, { observers, redactorOf }: Pick<GatewayParts, 'observers' | 'redactorOf'>) {
    const { session } = call
    this.call = call
    this.observers = observers
    this.#redactorOf = redactorOf
    this.seq = session.nextCall()
    session.underWay.add(this.seq)
    this.started = session.clock.now()
    this.#begun = session.clock.passed()
    this.id = traceIdOf(session, { started: this.started, seq: this.seq, key: call.inner?.key })
    // A session that is reset gets new stores.
    this.stores = { traces: session.traces, keyValues: session.keyValues, sequences: session.sequences }
  }

  elapsed(): number {
    return this.call.session.clock.passed() - this.#begun
  }

  plan(targets: readonly Target[]): void {
    const { plan } = this.steps
    for (const { model } of targets) plan.push(model)
  }

  attempt(tried: AttemptInfo): AttemptRecorder {
    const attempt = new AttemptRecording(tried, this)
    this.steps.attempts.push(attempt.record)
    return attempt
  }

  attemptEnded(attempt: AttemptRecord, httpStatus: number | null): void {
    const { call, id: trace, observers } = this
    if (!observers.active) return
    const session = call.session.name
    const error = attempt.error && (this.#redactorOf?.(session).text(attempt.error) ?? attempt.error)
    const shown = error === attempt.error ? attempt : { ...attempt, error }
    observers.notify({ type: 'attempt-ended', session, trace, attempt: shown }, { httpStatus })
  }

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

  scenario(active: ActiveScenario | undefined): void {
    this.steps.scenario = active?.name ?? null
  }

  #ended(kind: EndedStep['kind']): void {
    this.endedSteps.push({ kind, at: monotonicMs() })
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
