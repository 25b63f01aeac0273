// Says what really happened in a session, from its traces: counts, order, waits, and whether expectations are met.
import type { AttemptRecord, TraceRecord } from '../contract/trace.ts'
import type { Paths, Verification } from '../contract/verification.ts'
import type { TraceEvidence } from '../db/trace-store.ts'
import type { ScenarioRun } from './engine.ts'
import { type AttemptEvidence, judge } from './expectations.ts'
import type { Expectation } from './schema.ts'

/** What is looked at. */
export interface SessionEvidence {
  session: string
  /** The scenario of the session, if it has one, and those that single calls have named. */
  runs: readonly ScenarioRun[]
  scenario: string | null
  /** The calls, in the order in which they began. */
  calls: readonly TraceEvidence[]
  /** Names of the fixtures that are expected to answer. */
  fixtures: readonly string[]
  expect: readonly Expectation[]
}

const MOST_STEPS = 1000
/** Timers of clients and ours round differently. */
const ROUNDING_MS = 10

/** The report on a session. */
export function verify({ session, scenario, runs, calls, fixtures, expect }: SessionEvidence): Verification {
  const all = calls.map(({ trace }) => trace)
  // Calls from inside reach providers like others, but no client made them.
  const ofClients = calls.filter(({ trace }) => !trace.inner)
  const traces = ofClients.map(({ trace }) => trace)
  const tried = triedIn(all)
  const repeats = repeatsIn(ofClients)
  const waits = waitsIn(repeats, traces)
  const answered = new Set(all.map(({ fixture }) => fixture))
  const expectations = expect.map((one) => judge(one, { traces, tried, brokenWaits: waits.broken.length }))
  return {
    session,
    scenario,
    ok: expectations.every(({ met }) => met),
    calls: traces.length,
    attempts: tried.length,
    counts: countsOf(traces, tried),
    paths: pathsOf(traces, tried, repeats),
    order: tried.slice(0, MOST_STEPS).map(({ trace, attempt: { target, why, outcome, status, faults } }) => ({
      trace: trace.id,
      target,
      why,
      outcome,
      status,
      faults,
    })),
    waits,
    cancelled: traces.filter(({ outcome }) => outcome === 'cancelled').map(cancelledOf),
    fixtures: { unused: fixtures.filter((name) => !answered.has(name)), unmatched: all.flatMap(unmatchedOf) },
    rules: runs.flatMap((run) => run.rules().map((rule) => ({ scenario: run.name, ...rule }))),
    expectations,
  }
}

const triedIn = (traces: readonly TraceRecord[]): AttemptEvidence[] =>
  traces
    .flatMap((trace) =>
      trace.attempts.map((attempt) => ({ trace, attempt, began: Date.parse(trace.started_at) + attempt.started_ms })),
    )
    .sort((one, other) => one.began - other.began)

const providerOf = (model: string) => model.slice(0, Math.max(0, model.indexOf('/')))

function countsOf(traces: readonly TraceRecord[], tried: readonly AttemptEvidence[]): Verification['counts'] {
  const counts = new Map<string, Verification['counts'][number]>()
  const add = (at: 'provider' | 'gateway', operation: string, model: string, outcome: TraceRecord['outcome']) => {
    const key = [at, operation, model, outcome].join(' ')
    const found = counts.get(key) ?? { at, operation, provider: providerOf(model), model, outcome, count: 0 }
    counts.set(key, { ...found, count: found.count + 1 })
  }
  for (const { operation, model, outcome } of traces) add('gateway', operation, model ?? '', outcome)
  for (const { trace, attempt } of tried) add('provider', trace.operation, attempt.target, attempt.outcome)
  return [...counts.keys()].sort().flatMap((key) => counts.get(key) ?? [])
}

/** A call, and the next one with an equal request. */
interface Repeat {
  first: TraceEvidence
  again: TraceEvidence
}
function repeatsIn(calls: readonly TraceEvidence[]): Repeat[] {
  const last = new Map<string, TraceEvidence>()
  return calls.flatMap((again) => {
    const key = `${again.trace.operation} ${again.request}`
    const first = last.get(key)
    last.set(key, again)
    return first ? [{ first, again }] : []
  })
}

const failed = ({ outcome }: Pick<TraceRecord, 'outcome'>) => outcome !== 'answered'
/** Whether a stream began and broke off. */
const brokeOff = ({ stream, outcome, status }: TraceRecord) => stream && outcome !== 'answered' && status === 200

function pathsOf(traces: readonly TraceRecord[], tried: readonly AttemptEvidence[], repeats: readonly Repeat[]): Paths {
  const attempts = (wanted: (attempt: AttemptRecord) => boolean) =>
    tried.filter(({ attempt }) => wanted(attempt)).length
  const again = (wanted: (first: TraceRecord, second: TraceRecord) => boolean) =>
    repeats.filter(({ first, again: second }) => wanted(first.trace, second.trace)).length
  const recovered = traces.filter(
    (trace) => trace.stream && !failed(trace) && trace.attempts.some((one) => failed(one) && one.outcome !== 'refused'),
  ).length
  return {
    retry: attempts(({ why }) => why === 'retry'),
    fallback: attempts(({ why }) => why === 'fallback'),
    timeout: attempts(({ outcome }) => outcome === 'timed out'),
    cache: traces.filter(({ cache }) => cache?.status === 'hit').length,
    'stream recovery': recovered + again((first, second) => brokeOff(first) && !failed(second)),
    'client retry': again(failed),
  }
}

function waitsIn(repeats: readonly Repeat[], traces: readonly TraceRecord[]): Verification['waits'] {
  const judged = repeats.flatMap(({ first, again }) => {
    const { retry_after_ms } = first.trace
    if (retry_after_ms === null) return []
    const called_again_after_ms = waited(first, again)
    const kept = called_again_after_ms >= retry_after_ms - ROUNDING_MS
    return [{ kept, trace: first.trace.id, retry_after_ms, called_again_after_ms, by: again.trace.id }]
  })
  return {
    told: traces.filter(({ retry_after_ms }) => retry_after_ms !== null).length,
    kept: judged.filter(({ kept }) => kept).length,
    broken: judged.filter(({ kept }) => !kept).map(({ kept: _, ...wait }) => wait),
  }
}

/** Milliseconds between an answer and the next call: a client waits on its own clock, or moves that of its session. */
function waited(first: TraceEvidence, again: TraceEvidence): number {
  const end = Date.parse(first.trace.started_at) + first.trace.duration_ms
  const passed = Date.parse(again.trace.started_at) - end
  return first.heard && again.heard ? Math.max(passed, again.heard.arrived - first.heard.left) : passed
}

function cancelledOf({ id, duration_ms, attempts }: TraceRecord): Verification['cancelled'][number] {
  const last = attempts.at(-1)
  return { trace: id, after_ms: duration_ms, provider_stopped: last === undefined || failed(last) }
}

const unmatchedOf = ({ id, operation, model, synthesized, error }: TraceRecord) =>
  synthesized || error?.code === 'fixture_not_found' ? [{ trace: id, operation, model }] : []
