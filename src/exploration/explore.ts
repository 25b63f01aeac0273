// The exploration: baseline runs, then one run per case, and their results.
import {
  type CaseResult,
  caseName,
  type InjectionPoint,
  type RouteTable,
  type SkippedCase,
} from '../contract/core/exploration.ts'
import { type Baseline, baselineOf } from './baseline.ts'
import { baselinePoints, madeSameCalls } from './injection-points.ts'
import { causeKey, exploreProblems } from './problems.ts'
import { mergeRecoveryPaths, type RecoveryPathCounts } from './recovery-paths.ts'
import { type RunRoute, routeTable } from './routes.ts'
import { createRunSlots, RUNS_PER_JOB, type RunSlots } from './run-slots.ts'
import { type ShownRun, shownRun } from './shown-run.ts'
import { createSpace, type SpaceOptions } from './space.ts'
import {
  isBad,
  type RunCommand,
  type RunLimits,
  runCase,
  shortestScenario,
  type Trial,
  type TrialContext,
} from './trial.ts'
import type { ExploreCase, ObservedRun } from './types.ts'

/** The options of an exploration. */
export interface ExploreOptions extends SpaceOptions {
  run: RunCommand
  /** Runs the faults of providers on a call's routing; undefined if calls are forwarded. */
  runRoute?: RunRoute | undefined
  /** Number of runs that work at the same time. */
  jobs: number
  /** Milliseconds without activity of the client after which a run hangs; default: derived from the baseline. */
  limitMs?: number | undefined
  /** Milliseconds of the longest timeout of a client that is waited for. */
  timeoutMs?: number | undefined
  /** Whether a bad result is known and needs no confirmation. */
  isKnown?(result: CaseResult): boolean
  /** Whether there is time left for another case. */
  hasTime(): boolean
  /** Aborts when no more runs may start. */
  over?: AbortSignal | undefined
}

/** The result. */
export interface Exploration {
  /** The baseline run that failed, so that nothing was explored. */
  failedBaseline: ObservedRun | null
  /** Number of baseline runs, and how many of them failed. */
  baselines: { runs: number; failed: number }
  points: InjectionPoint[]
  cases: CaseResult[]
  /** Applicable cases that were not run. */
  skipped: SkippedCase[]
  /**
   * Calls of a baseline run whose traces were dropped or deleted: they are no injection points here, though they may
   * fail, too.
   */
  dropped: number
  /** The first baseline run; null if it failed. */
  baselineRun: ShownRun | null
  /** Number of runs with a fault, and of runs that pruning saved. */
  runs: number
  saved: number
  /** Number of parallel runs, and why it is lower than requested; null if it is not. */
  jobs: number
  serialReason: string | null
  /** Whether a baseline run left processes running. */
  leftProcesses: boolean
  quietMs: number
  /** Milliseconds without activity after which a run hangs. */
  limitMs: number
  /** The user requested the end. */
  stopped: boolean
  /** Recovery paths of all runs. */
  recoveryPaths: RecoveryPathCounts
  /** The outcomes of provider faults, by routing configuration. */
  routes: RouteTable[]
}

/**
 * A run hangs after five times the longest pause of the baseline, but not before 6 s: `httpx` gives up after 5 s without
 * declaring it.
 */
const PAUSES = 5
const MIN_SILENCE_MS = 6_000
/** The longest timeout that is waited for, in ms. */
export const MAX_TIMEOUT_MS = 120_000
/** How often a request may be repeated beyond the baseline. */
const MAX_REPEATS = 30
/** Baseline runs after which a command whose results vary is not flaky. */
const MAX_BASELINES = 10

/** Runs the command without faults, then once for each case. */
export async function explore(options: ExploreOptions): Promise<Exploration> {
  const counts = { runs: 0, failed: 0 }
  const baselineRun: BaselineRun = async (slots, cancels) => {
    counts.runs++
    const observed = await slots.use((wait) => options.run({ scenario: null, limits: null, wait, cancels }))
    if (fails(observed)) counts.failed++
    return observed
  }
  const begun = await runBaseline(options, baselineRun)
  if ('failedBaseline' in begun) return { ...begun, baselines: counts }
  const { points, baseline, baselineRun: shown, tables, steady, serialReason, leftProcesses } = begun
  const jobs = serialReason === null ? options.jobs : 1
  const slots = serialReason === null ? createRunSlots(jobs) : createRunSlots(1, 1)
  const limits = limitsOf(baseline, options)
  const space = createSpace(points, { ...options, steady })
  const causes = new Set([...options.before.values()].flatMap(({ result }) => causeKey(result) ?? []))
  let runs = 0
  let { recoveryPaths } = begun
  let stopped = false
  let flaky: ObservedRun | undefined
  const run: TrialContext['run'] = async (scenario) => {
    const observed = await slots.use(async (wait) => {
      if (stopped || flaky || options.over?.aborted) return undefined
      runs++
      return options.run({ scenario, limits, wait, cancels: options.over })
    })
    if (!observed) return undefined
    recoveryPaths = mergeRecoveryPaths([recoveryPaths, observed.recoveryPaths])
    stopped ||= observed.stopped
    return observed.stopped || observed.canceled ? undefined : observed
  }
  let varies = false
  const unconfirmed: CaseResult[] = []
  const context: TrialContext = {
    run,
    baseline,
    baselinePoints: points,
    isNew(result) {
      if (options.isKnown?.(result)) return false
      const cause = causeKey(result)
      // If results vary, no run confirms that of another case.
      if (cause === undefined || varies || !causes.has(cause)) {
        if (cause !== undefined) causes.add(cause)
        return true
      }
      unconfirmed.push(result)
      return false
    },
  }
  const bad = new Map<string, BadCase>()
  const take = async (trial: Trial) => {
    space.done(trial)
    if (isBad(trial.result)) bad.set(caseName(trial.result), { exploreCase: trial.cell, hits: trial.hits })
    if (trial.steady) return
    varies = true
    // The fault may not be the reason.
    for (
      let more = 0;
      more < 2 && counts.runs < MAX_BASELINES && !flaky && !stopped && !options.over?.aborted;
      more++
    ) {
      const observed = await baselineRun(slots, options.over)
      if (observed.stopped) stopped = true
      else if (fails(observed)) flaky = observed
    }
  }
  const work = async () => {
    for (let nextCase = space.next(); nextCase; nextCase = space.next()) {
      if (stopped || flaky || options.over?.aborted || !options.hasTime()) return space.giveBack(nextCase)
      const trial = await runCase(nextCase, context)
      if (trial) await take(trial)
      else space.giveBack(nextCase)
    }
  }
  const workAll = () => Promise.all(Array.from({ length: jobs * RUNS_PER_JOB }, work))
  await workAll()
  if (varies && !flaky) {
    space.distrust(unconfirmed)
    await workAll()
  }
  if (flaky) return { ...NOTHING, failedBaseline: flaky, baselines: counts, quietMs: baseline.tookMs, runs }
  for (const one of firstCases(space.state().cases, points, bad)) {
    if (stopped || options.over?.aborted || !options.hasTime()) break
    const scenario = await shortestScenario(one.exploreCase, one, context)
    if (scenario) space.shorten(one.exploreCase, scenario)
  }
  return {
    ...space.state(),
    failedBaseline: null,
    baselines: counts,
    baselineRun: shown,
    dropped: baseline.dropped,
    runs,
    ...{ jobs, serialReason, leftProcesses },
    quietMs: baseline.tookMs,
    limitMs: limits.silenceMs,
    recoveryPaths,
    routes: tables.map(({ table }) => table),
    stopped,
  }
}

const fails = ({ code, stopped, canceled }: ObservedRun): boolean => code !== 0 && !stopped && !canceled

function limitsOf(
  { longestPauseMs, tookMs, requests }: Baseline,
  { limitMs, timeoutMs = MAX_TIMEOUT_MS }: Pick<ExploreOptions, 'limitMs' | 'timeoutMs'>,
): RunLimits {
  return {
    silenceMs: limitMs ?? Math.max(MIN_SILENCE_MS, PAUSES * longestPauseMs),
    timeoutMs,
    totalMs: PAUSES * tookMs + timeoutMs,
    repeats: MAX_REPEATS + Math.max(0, ...[...requests.values()].map(({ made }) => made)),
  }
}

/** A case whose scenario may be shortened. */
interface BadCase {
  exploreCase: ExploreCase
  hits: number
}

/** The case of each problem that is printed: the first one. */
function firstCases(
  cases: readonly CaseResult[],
  points: readonly InjectionPoint[],
  bad: ReadonlyMap<string, BadCase>,
): (BadCase & Pick<CaseResult, 'verdict'>)[] {
  const results = new Map(cases.map((result) => [caseName(result), result]))
  return exploreProblems(cases, points).flatMap(({ cases: [first] }) => {
    const name = first === undefined ? '' : caseName(first)
    const [found, result] = [bad.get(name), results.get(name)]
    return found && result ? [{ ...found, verdict: result.verdict }] : []
  })
}

/** Runs the command without a fault. */
type BaselineRun = (slots: RunSlots, cancels?: AbortSignal) => Promise<ObservedRun>

/** The results of the baseline runs; the runs themselves are not retained. */
async function runBaseline(
  { runRoute, jobs, hasTime, over }: Pick<ExploreOptions, 'runRoute' | 'jobs' | 'hasTime' | 'over'>,
  run: BaselineRun,
) {
  const alone = createRunSlots(1)
  // Without it there is nothing to report, so it may take all of the time.
  const first = await run(alone)
  const failed = (observed: ObservedRun) => ({ ...NOTHING, failedBaseline: observed, quietMs: observed.tookMs })
  const isEnd = (observed: ObservedRun) => fails(observed) || observed.stopped
  if (isEnd(first) || first.canceled) return failed(first)
  const mayRun = () => hasTime() && !over?.aborted
  const together = createRunSlots(2)
  const others = mayRun() ? await Promise.all(Array.from({ length: jobs > 1 ? 2 : 1 }, () => run(together, over))) : []
  const stoppedRun = others.find(({ stopped }) => stopped) ?? (jobs > 1 ? undefined : others.find(isEnd))
  if (stoppedRun) return failed(stoppedRun)
  let baselineRuns = [first, ...others.filter(({ canceled }) => !canceled)]
  let serialReason: string | null = null
  if (jobs > 1 && baselineRuns.length > 2 && mayRun()) {
    const broken = others.find(fails)
    const differs = broken !== undefined || others.some((other) => !madeSameCalls(first, other))
    if (differs) {
      const again = await run(alone, over)
      if (isEnd(again)) return failed(again)
      // A program whose calls vary anyway may run in parallel.
      if (broken) serialReason = `it fails (exit code ${broken.code}) when it runs twice at the same time`
      else if (madeSameCalls(first, again)) serialReason = 'it makes other calls when it runs twice at the same time'
      if (serialReason !== null) baselineRuns = [first, ...(again.canceled ? [] : [again])]
    }
  }
  const other = baselineRuns[1] ?? first
  const tables = runRoute ? await routeTables(baselineRuns, runRoute) : []
  return {
    points: baselinePoints(first, other),
    baseline: baselineOf(baselineRuns),
    baselineRun: shownRun(first),
    steady: baselineRuns.length > 1 && baselineRuns.every((one) => madeSameCalls(first, one)),
    tables,
    serialReason,
    leftProcesses: baselineRuns.some(({ leftProcesses }) => leftProcesses),
    recoveryPaths: mergeRecoveryPaths([...baselineRuns, ...tables].map((found) => found.recoveryPaths)),
  }
}

const NOTHING = {
  ...{ points: [], cases: [], skipped: [], routes: [], recoveryPaths: {} },
  ...{
    baselineRun: null,
    dropped: 0,
    runs: 0,
    saved: 0,
    jobs: 0,
    serialReason: null,
    leftProcesses: false,
    limitMs: 0,
    stopped: false,
  },
}

/** The tables of all distinct routing configurations. */
async function routeTables(baselineRuns: readonly ObservedRun[], play: RunRoute) {
  const routes = new Map(baselineRuns.flatMap((run) => run.routes.map((route) => [route.name, route])))
  const tables = []
  for (const route of routes.values()) tables.push(await routeTable(route, play))
  return tables
}
