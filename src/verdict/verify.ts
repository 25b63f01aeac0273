// Reports on a session from its traces: counts, order, waits, expectations, findings, and the verdict.
import { MISS_CODE } from '../contract/core/cassette-modes.ts'
import type { FindingKind } from '../contract/core/finding.ts'
import { NO_OPERATION } from '../contract/core/operation.ts'
import type { AttemptRecord, TraceRecord } from '../contract/core/trace.ts'
import type {
  ExpectationReport,
  Paths,
  SessionVerdict,
  UnknownPath,
  Verification,
} from '../contract/core/verification.ts'
import type { TraceEvidence } from '../db/trace-evidence.ts'
import type { ScenarioRun } from '../scenarios/engine.ts'
import type { Expectation } from '../scenarios/schema.ts'
import {
  brokeOff,
  clientCalls,
  honorsWait,
  isBound,
  isFallback,
  type Pair,
  pauseBetween,
  workspaceClientCalls,
} from './client-call.ts'
import { type AttemptEvidence, judge } from './expectations.ts'
import { failsVerdict, judgeClient } from './findings.ts'
import { nothingInjected, notSentIn, notSentTexts, unmetNeeds, verdictOf } from './inconclusive.ts'
import type { ClientEnd } from './kinds/define.ts'
import { type InstanceGap, verdictNotices, type WorkspaceEvidence } from './notices.ts'
import type { Pairing } from './pairing.ts'
import { recoveriesIn } from './recoveries.ts'
import { countTasks, tasksIn, type UnreadTask } from './tasks.ts'

/** The input of a verification. */
interface SessionEvidence {
  session: string
  /** The active scenario of the session and those that single calls named. */
  runs: readonly ScenarioRun[]
  /** The active scenario of the session. */
  run: ScenarioRun | undefined
  /** The calls, in order of their start. */
  calls: readonly TraceEvidence[]
  /** Workspace calls. */
  workspace: WorkspaceEvidence
  /** Turns whose final status the client has not read. */
  unread: readonly UnreadTask[]
  /** The numbers of the calls in progress. */
  underWay: ReadonlySet<number>
  /** Number of dropped traces. */
  dropped: number
  /** Why another instance may have handled calls of the session. Undefined if none did. */
  gap: InstanceGap | undefined
  unknownPaths: UnknownPath[]
  /** Descriptions of the calls that reached no session. */
  refused: readonly string[]
  /** Names of the fixtures that should be used. */
  fixtures: readonly string[]
  /** Expectations in addition to those of the scenario. */
  expect: readonly Expectation[]
  /** How the client ended. */
  end: ClientEnd
  /** Whether warnings make the verdict fail. */
  strict: boolean
}

const MAX_STEPS = 1000

/** Creates the report on a session. */
export function verify(evidence: SessionEvidence): SessionVerdict {
  const { session, run, runs, underWay, dropped, gap, unknownPaths, unread, fixtures, end, workspace } = evidence
  const recognized = evidence.calls.filter(({ trace }) => trace.operation !== NO_OPERATION)
  const all = recognized.map(({ trace }) => trace)
  // Internal calls reach providers too, but no client made them.
  const calls = recognized.filter(({ trace }) => !trace.internal)
  const traces = calls.map(({ trace }) => trace)
  const missed = traces.filter(({ error }) => error?.code === MISS_CODE).length
  const not_sent = notSentIn(traces)
  const tried = triedIn(all)
  const { accept, max_attempts: maxAttempts } = run?.scenario ?? {}
  const pending = [...underWay].filter((seq) => seq > (run?.calls ?? 0)).length
  const judged = judgeClient(clientCalls(calls), { accept, maxAttempts, unknownPaths, unread, end })
  const work = judgeClient(workspaceClientCalls(workspace.calls), { accept, maxAttempts, end })
  const findings = [
    ...judged.findings.filter(({ kind }) => isSettled(kind, pending)),
    ...work.findings.filter(({ kind }) => isSettled(kind, workspace.underWay)),
  ]
  const recoveries = recoveriesIn(judged.pairing)
  const waits = waitsIn(judged.pairing, recoveries, traces)
  const agentTasks = tasksIn(all)
  const tasks = countTasks(agentTasks)
  const brokenWaits = waits.not_honored.length + work.pairing.early.length
  const found = { traces, all, tried, tasks: agentTasks, brokenWaits }
  const expected = [run?.expect ?? [], evidence.expect].map((some) => some.map((one) => judge(one, found)))
  const rules = runs.flatMap((one) => one.rules().map((rule) => ({ scenario: one.name, ...rule })))
  return {
    session,
    scenario: run?.name ?? null,
    ...resultOf(evidence, { traces, missed, not_sent, rules, pending, expected, findings }),
    complete: gap === undefined && dropped === 0,
    calls: traces.length,
    direct: traces.filter(({ route }) => route === 'direct').length,
    workspace_calls: workspace.count,
    attempts: tried.length,
    counts: countsOf(traces, tried),
    recovery_paths: pathsOf(traces, tried, {
      recoveries: [...recoveries, ...recoveriesIn(work.pairing)],
      continued: judged.pairing.settled.continued,
    }),
    tasks,
    order: tried.slice(0, MAX_STEPS).map(({ trace, attempt: { target, reason, outcome, status, faults } }) => ({
      trace: trace.id,
      target,
      reason,
      outcome,
      status,
      faults,
    })),
    retry_after: waits,
    canceled: traces.filter(({ outcome }) => outcome === 'canceled').map(canceledOf),
    fixtures: { unused: unusedIn(fixtures, all), unmatched: all.flatMap(unmatchedOf) },
    not_sent,
    rules,
    expectations: expected.flat(),
    findings,
    unknown_paths: [...unknownPaths],
    notices: verdictNotices(
      {
        session,
        calls: traces.length,
        missed,
        workspace,
        rules,
        pending,
        dropped,
        gap,
        unknown_paths: unknownPaths,
        refused: evidence.refused,
        tasks,
      },
      end,
    ),
    pending,
    dropped,
  }
}

/** Whether a finding is final. A client with a call in progress may still retry. */
const isSettled = (kind: FindingKind, underWay: number): boolean =>
  underWay === 0 || (kind !== 'gave-up' && kind !== 'swallowed')

interface JudgedParts extends Pick<Verification, 'not_sent' | 'rules' | 'pending' | 'findings'> {
  traces: readonly TraceRecord[]
  /** Number of calls for which a replay has no response. */
  missed: number
  /** The expectations of the scenario, and the additional ones. */
  expected: readonly (readonly ExpectationReport[])[]
}

/** The verdict with its reasons. */
function resultOf(
  { run, gap, strict }: SessionEvidence,
  { traces, missed, not_sent, rules, pending, expected, findings }: JudgedParts,
): Pick<Verification, 'verdict' | 'inconclusive' | 'ok'> {
  const needs = run ? unmetNeeds(run.scenario, { traces, started: run.started }) : []
  // Without what it needs, the expectations of a scenario cannot be met.
  const binding = (needs.length > 0 ? expected.slice(1) : expected).flat()
  const fails =
    missed > 0 || binding.some(({ met }) => !met) || findings.some((finding) => failsVerdict(finding, strict))
  const idle = run && nothingInjected(run.scenario, { rules, pending })
  const inconclusive = [
    ...needs,
    ...(idle === undefined ? [] : [idle]),
    ...notSentTexts(not_sent),
    ...(gap === undefined ? [] : ['calls at another instance may be missing']),
  ]
  return { verdict: verdictOf(fails, inconclusive), inconclusive, ok: !fails && gap === undefined }
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

function waitsIn(
  { early }: Pairing,
  recoveries: readonly Pair[],
  traces: readonly TraceRecord[],
): Verification['retry_after'] {
  const broken = early.map(({ first, again }) => ({
    trace: first.trace ?? '',
    retry_after_ms: first.wait ?? 0,
    retried_after_ms: pauseBetween(first, again),
    retry_trace: again.trace ?? '',
  }))
  return {
    sent: traces.filter(({ retry_after_ms }) => retry_after_ms !== null).length,
    honored: recoveries.filter(
      ({ first, again }) => first.wait !== null && isBound(first, again) && honorsWait(first, again),
    ).length,
    not_honored: broken,
  }
}

function canceledOf({ id, duration_ms, attempts }: TraceRecord): Verification['canceled'][number] {
  const last = attempts.at(-1)
  return { trace: id, after_ms: duration_ms, provider_stopped: last === undefined || last.outcome !== 'succeeded' }
}

/** The fixtures that were not used. */
function unusedIn(fixtures: readonly string[], traces: readonly TraceRecord[]): string[] {
  const used = new Set(
    traces.flatMap(({ fixture, attempts, task }) => [
      fixture,
      ...[...attempts, ...(task?.steps ?? [])].map((one) => one.fixture),
    ]),
  )
  return fixtures.filter((name) => !used.has(name))
}

const unmatchedOf = ({ id, operation, model, generated, error }: TraceRecord) =>
  generated || error?.code === 'fixture_not_found' ? [{ trace: id, operation, model }] : []

const failed = ({ outcome }: Pick<TraceRecord, 'outcome'>) => outcome !== 'succeeded'
/** How often each recovery path was exercised. */
function pathsOf(
  traces: readonly TraceRecord[],
  tried: readonly AttemptEvidence[],
  { recoveries, continued }: { recoveries: readonly Pair[]; continued: readonly Pair[] },
): Paths {
  const attempts = (test: (attempt: AttemptRecord) => boolean) => tried.filter(({ attempt }) => test(attempt)).length
  const recovered = traces.filter(
    (trace) =>
      trace.stream && !failed(trace) && trace.attempts.some((one) => failed(one) && one.outcome !== 'http_error'),
  ).length
  return {
    retry: attempts(({ reason }) => reason === 'retry'),
    fallback: attempts(({ reason }) => reason === 'fallback'),
    timeout: attempts(({ outcome }) => outcome === 'timed_out'),
    cache: traces.filter(({ cache }) => cache?.status === 'hit').length,
    stream_recovery:
      recovered + [...recoveries, ...continued].filter(({ first, again }) => brokeOff(first) && !failed(again)).length,
    client_retry: recoveries.filter(({ first, again }) => !isFallback(first, again)).length,
    client_fallback: recoveries.filter(({ first, again }) => isFallback(first, again)).length,
  }
}
