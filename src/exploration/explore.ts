// The exploration: baseline runs, then one run per case, and their results.
import {
  type CaseResult,
  type CoverageNumbers,
  caseName,
  type InjectionPoint,
  type RouteTable,
  type SkippedCase,
} from '../contract/core/exploration.ts'
import { verdictOf } from '../verdict/inconclusive.ts'
import { limitsOf } from './baseline.ts'
import { failsByItself, runBaseline, type ShownRun } from './baseline-runs.ts'
import { causeKey, exploreProblems, isError } from './problems.ts'
import { mergeRecoveryPaths, type RecoveryPathCounts } from './recovery-paths.ts'
import type { RunRoute } from './routes.ts'
import { createRunSlots, RUNS_PER_JOB } from './run-slots.ts'
import { createSpace, type SpaceOptions } from './space.ts'
import { mayBeShortened, type RunCommand, runCase, shortestScenario, type Trial, type TrialContext } from './trial.ts'
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
  /** Whether there is time left, or so many milliseconds of it. */
  hasTime(ms?: number): boolean
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
  /** Why runs were not parallel, although they might have been; null if they were. */
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

/** Baseline runs after which a command whose results vary is not flaky, and those after each result that varies. */
const [MAX_BASELINES, BASELINES_AGAIN] = [10, 2]

/** Runs the command without faults, then once for each case. */
export async function explore(options: ExploreOptions): Promise<Exploration> {
  const { over, hasTime } = options
  const baselines = { runs: 0, failed: 0 }
  let slots = createRunSlots(Math.max(2, options.jobs))
  let stopped = false
  const baselineRun = async (cancels?: AbortSignal) => {
    baselines.runs++
    const observed = await slots.use((wait) => options.run({ scenario: null, limits: null, wait, cancels }))
    if (failsByItself(observed)) baselines.failed++
    stopped ||= observed.stopped
    return observed
  }
  const { runRoute } = options
  const begun = await runBaseline({ run: baselineRun, runRoute, parallel: options.jobs > 1, hasTime, over })
  const nothing = (failedBaseline: ObservedRun): Exploration => {
    return { ...NOTHING, failedBaseline, baselines, quietMs: failedBaseline.tookMs }
  }
  if (begun.failedBaseline) return nothing(begun.failedBaseline)
  const { points, baseline, tables, serialReason, leftProcesses } = begun
  const jobs = serialReason === null ? options.jobs : 1
  // One job means one run at a time: whether the command may run in parallel is not known.
  slots = jobs === 1 ? createRunSlots(1, 1) : createRunSlots(jobs)
  const limits = limitsOf(baseline, { silenceMs: options.limitMs, timeoutMs: options.timeoutMs })
  const space = createSpace(points, { ...options, steady: begun.steady })
  const confirmations = createConfirmations(
    [...options.before.values()].map(({ result }) => result),
    options.isKnown ?? (() => false),
  )
  let runs = 0
  let { recoveryPaths } = begun
  let flaky: ObservedRun | undefined
  const isOver = () => stopped || flaky !== undefined || over?.aborted === true
  const context: TrialContext = {
    ...{ baseline, baselinePoints: points },
    isNew: (result, mayBeFlaky) => confirmations.isNew(result) || (mayBeFlaky && baselines.runs < MAX_BASELINES),
    async run(scenario) {
      const observed = await slots.use(async (wait) => {
        if (isOver()) return undefined
        runs++
        return options.run({ scenario, limits, wait, cancels: over })
      })
      if (!observed) return undefined
      recoveryPaths = mergeRecoveryPaths([recoveryPaths, observed.recoveryPaths])
      stopped ||= observed.stopped
      return observed.stopped || observed.canceled ? undefined : observed
    },
  }
  const bad = new Map<string, BadCase>()
  const add = (trial: Trial) => {
    space.done(trial)
    if (mayBeShortened(trial.result)) bad.set(caseName(trial.result), { exploreCase: trial.cell, hits: trial.hits })
  }
  /** If the fault may not be the reason for a result, up to so many runs without it show whether the command is flaky. */
  const checkBaseline = async (times: number) => {
    for (let again = 0; again < times && baselines.runs < MAX_BASELINES && !isOver(); again++) {
      const observed = await baselineRun(over)
      if (failsByItself(observed)) flaky = observed
    }
  }
  const work = async () => {
    for (let nextCase = space.next(); nextCase; nextCase = space.next()) {
      if (isOver() || !hasTime()) return space.giveBack(nextCase)
      const trial = await runCase(nextCase, context)
      if (trial) add(trial)
      else space.giveBack(nextCase)
      if (trial?.steady === false) confirmations.vary()
      if (trial?.mayBeFlaky) await checkBaseline(MAX_BASELINES)
      else if (trial?.steady === false) await checkBaseline(BASELINES_AGAIN)
    }
  }
  const workAll = () => Promise.all(Array.from({ length: jobs * RUNS_PER_JOB }, work))
  await workAll()
  if (confirmations.varies) {
    space.distrust(confirmations.doubtful())
    await workAll()
  }
  if (flaky) return nothing(flaky)
  for (const one of firstCases(space.state().cases, points, bad)) {
    if (isOver() || !hasTime()) break
    const scenario = await shortestScenario(one.exploreCase, one, context)
    if (scenario) space.shorten(one.exploreCase, scenario)
  }
  return {
    ...space.state(),
    ...{ failedBaseline: null, baselines, baselineRun: begun.baselineRun, dropped: baseline.dropped },
    ...{ runs, serialReason, leftProcesses, recoveryPaths, stopped },
    quietMs: baseline.tookMs,
    limitMs: limits.silenceMs,
    routes: tables.map(({ table }) => table),
  }
}

const NOTHING = {
  ...{ points: [], cases: [], skipped: [], routes: [], recoveryPaths: {}, baselineRun: null, stopped: false },
  ...{ dropped: 0, runs: 0, saved: 0, serialReason: null, leftProcesses: false, limitMs: 0 },
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

/**
 * Which results a second run confirms: those of new causes, and all of them once results vary between runs.
 * @param before results that are confirmed
 * @param isKnown whether a result is a known failure, which needs no confirmation
 */
function createConfirmations(before: Iterable<CaseResult>, isKnown: (result: CaseResult) => boolean) {
  const causes = new Set<string | undefined>()
  for (const result of before) causes.add(causeKey(result))
  const unconfirmed: CaseResult[] = []
  let varies = false
  return {
    /** Whether a result must be confirmed. */
    isNew(result: CaseResult): boolean {
      if (isKnown(result)) return false
      const cause = causeKey(result)
      // A case without a problem has no cause that another one could have.
      if (cause === undefined || varies || !causes.has(cause)) {
        causes.add(cause)
        return true
      }
      unconfirmed.push(result)
      return false
    },
    /** Notes that the runs of a case differed: no run confirms another case any more. */
    vary() {
      varies = true
    },
    /** If results vary: those that only the cause of another case confirms. Empty otherwise. */
    doubtful: (): readonly CaseResult[] => (varies ? unconfirmed : []),
    get varies() {
      return varies
    },
  }
}

// The verdict on an exploration, and its coverage: problems make it fail, and it is inconclusive if it proves less than it
// seems to.

/** The verdict, and why it is inconclusive; empty if it is conclusive. */
export type ExplorationVerdict = ReturnType<typeof explorationVerdict>

/** What the verdict depends on. */
type Explored = Pick<Exploration, 'cases' | 'leftProcesses'> & {
  points: readonly unknown[]
  coverage: Pick<CoverageNumbers, 'delivered'>
}

const NO_CALL =
  'no call to a model or an agent was received: the program should call the address in OPENAI_BASE_URL (http://127.0.0.1:PORT/v1, with another port in each run)'
const LEFT =
  'no call to a model or an agent was received before the command ended and left processes running: explore a command that waits for them'

/**
 * The verdict on an exploration.
 * @param untested why calls could not be tested, one reason per API
 */
export function explorationVerdict(
  { cases, points, coverage, leftProcesses }: Explored,
  untested: readonly string[] = [],
) {
  const nothing =
    points.length === 0
      ? [leftProcesses ? LEFT : NO_CALL]
      : coverage.delivered.of === 0
        ? ['no fault was injected']
        : []
  const inconclusive = [...nothing, ...untested]
  return { verdict: verdictOf(cases.some(isError), inconclusive), inconclusive }
}

/** The coverage of an exploration: three numbers, which are never added up; `recoveryPaths` are those of all its runs. */
export function coverageOf(
  cells: readonly CaseResult[],
  { skipped }: Pick<Exploration, 'skipped'>,
  recoveryPaths: RecoveryPathCounts,
): CoverageNumbers {
  const delivered = cells.filter(({ verdict }) => verdict !== 'not-applied').length
  const tolerated = cells.filter(({ verdict }) => verdict === 'tolerated').length
  const all = Object.values(recoveryPaths)
  return {
    delivered: { of: delivered, all: cells.length + skipped.length },
    tolerated: { of: tolerated, all: delivered },
    recoveryPaths: { of: all.filter((taken) => taken > 0).length, all: all.length },
  }
}
