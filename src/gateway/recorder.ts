// Begins the record of a call, and says in headers what is known of it.
import { INSTANCE, REQUEST_ID, TRACE_ID } from '../contract/answer-headers.ts'
import type { EndedStep, Observers } from '../contract/observation.ts'
import { realClock } from '../lib/clock.ts'
import { ulidOf } from '../lib/ids.ts'
import { monotonicMs } from '../lib/monotonic.ts'
import type { Session } from '../sessions/sessions.ts'
import { recordAttempt } from './attempt-record.ts'
import type { Call } from './call.ts'
import { emptySteps, type TraceRecorder, type TraceSteps } from './recording.ts'

/** The id of the trace of a call: a function of its key, or of its number when it has none. */
export function traceIdOf(
  { seed, name, traces }: Pick<Session, 'name' | 'seed' | 'traces'>,
  { started, seq, key }: { started: number; seq: number; key: string | undefined },
): string {
  const keyed = key === undefined ? undefined : ulidOf(seed, started, `${name}:trace:${key}`, 0)
  // It is there already when a killed process made the same call at the same instant of a virtual clock.
  return keyed === undefined || traces.has(keyed) ? ulidOf(seed, started, `${name}:trace`, seq) : keyed
}

/** Begins the trace of a call: it gets its number and its id. */
export function startTrace(call: Call, observers: Observers): TraceRecorder {
  const { operation, session } = call
  const { clock, traces, keyValues } = session
  const seq = session.nextCall()
  const started = clock.now()
  const id = traceIdOf(session, { started, seq, key: call.inner?.key })
  const elapsed = () => clock.now() - started
  const steps = emptySteps()
  const about = { session: session.name, trace: id }
  const endedSteps: EndedStep[] = []
  const ended = (kind: EndedStep['kind']) => void endedSteps.push({ kind, at: monotonicMs() })
  if (observers.active) {
    const parent = call.inner?.parent ?? null
    observers.notify({ type: 'call-begun', ...about, operation: operation.name, parent }, call)
  }
  return {
    call,
    id,
    seq,
    started,
    arrived: realClock.now(),
    stores: { traces, keyValues },
    observers,
    steps,
    endedSteps,
    rendered: 'null',
    elapsed,
    plan(targets) {
      steps.plan = targets.map(({ model }) => model)
    },
    attempt(tried) {
      const { record, recording } = recordAttempt(tried, elapsed, (attempt) => {
        if (observers.active) observers.notify({ type: 'attempt-ended', ...about, attempt })
      })
      steps.attempts.push(record)
      return recording
    },
    cache(key, age) {
      ended('cache')
      steps.cache = { status: age === undefined ? 'miss' : 'hit', key, age_ms: age ?? null, started_ms: elapsed() }
    },
    guardrail(verdict) {
      ended('guardrail')
      steps.guardrails.push(verdict)
    },
    retrieval(found) {
      ended('retrieval')
      steps.retrievals.push(found)
    },
    playing(scenario) {
      steps.scenario = scenario?.name ?? null
    },
  }
}

/** Headers by which a client finds the trace, and sees what happened so far. */
export function headersOf({ id, call, steps, point, answer: record }: TraceRecorder): Record<string, string> {
  const { attempts, cache, plan, scenario } = steps
  const answer = record?.answer
  const last = attempts.at(-1)
  const headers: Record<string, string> = {
    [REQUEST_ID]: id,
    [TRACE_ID]: id,
    [INSTANCE]: call.session.slot.instance.name,
    'x-understudy-session': call.session.name,
    'x-understudy-attempts': String(attempts.length),
    'x-understudy-fallback': String(last?.position ?? 0),
    'x-understudy-cache': cache?.status ?? 'off',
    'x-understudy-faults': faultsOf(steps).join(', '),
  }
  const model = answer?.model ?? last?.target ?? plan[0]
  if (model) headers['x-understudy-model'] = model
  if (call.assumed) headers['x-understudy-assumed'] = Object.values(call.assumed).join(', ')
  if (point) headers['x-understudy-point'] = point
  if (scenario) headers['x-understudy-scenario'] = scenario
  if (answer?.attempt)
    headers['x-understudy-fixture'] = answer.from.fixture ?? (answer.from.synthesized ? 'synthesized' : '')
  else if (!answer && last?.fixture !== undefined) headers['x-understudy-fixture'] = last.fixture
  if (cache?.age_ms != null) headers.age = String(Math.floor(cache.age_ms / 1000))
  return headers
}

/** The rules of the scenario that have acted, each once. */
function faultsOf({ faults, attempts }: TraceSteps): readonly string[] {
  if (faults.length === 0 && attempts.every((attempt) => attempt.faults.length === 0)) return faults
  return [...new Set([...faults, ...attempts.flatMap((attempt) => attempt.faults)])]
}
