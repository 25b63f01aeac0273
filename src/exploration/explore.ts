// The exploration: baseline runs, then one run per case, and their results.
import type { CaseResult, InjectionPoint, RouteTable, SkippedCase } from '../contract/core/exploration.ts'
import { baselineOf } from './baseline.ts'
import { baselinePoints, madeSameCalls } from './injection-points.ts'
import { mergeRecoveryPaths, type RecoveryPathCounts } from './recovery-paths.ts'
import { type RunRoute, routeTable } from './routes.ts'
import { type ShownRun, shownRun } from './shown-run.ts'
import { createSpace, type SpaceOptions } from './space.ts'
import { type RunCommand, runCase } from './trial.ts'
import type { ObservedRun } from './types.ts'

/** The options of an exploration. */
export interface ExploreOptions extends SpaceOptions {
  run: RunCommand
  /** Runs the faults of providers on a call's routing; undefined if calls are forwarded. */
  runRoute?: RunRoute | undefined
  /** Number of parallel runs. */
  jobs: number
  /** Milliseconds after which a run hangs; default: derived from the baseline. */
  limitMs?: number | undefined
  /** Whether there is time left. */
  hasTime(): boolean
}

/** The result. */
export interface Exploration {
  /** The baseline run that failed, so that nothing was explored. */
  failedBaseline: ObservedRun | null
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
  quietMs: number
  limitMs: number
  /** The user requested the end. */
  stopped: boolean
  /** Recovery paths of all runs. */
  recoveryPaths: RecoveryPathCounts
  /** The outcomes of provider faults, by routing configuration. */
  routes: RouteTable[]
}

/**
 * A run may take three times as long as the baseline, and at least so much longer: a client's timeout needs its time.
 */
const HANGS_AFTER = 3
const MIN_EXTRA_MS = 10_000

/** Runs the command twice without faults, then once for each case. */
export async function explore(options: ExploreOptions): Promise<Exploration> {
  const begun = await runBaseline(options)
  if ('failedBaseline' in begun) return begun
  const { points, baseline, baselineRun, tables, steady } = begun
  const quietMs = baseline.tookMs
  const limitMs = options.limitMs ?? Math.max(HANGS_AFTER * quietMs, quietMs + MIN_EXTRA_MS)
  const space = createSpace(points, { ...options, steady })
  let runs = 0
  let { recoveryPaths } = begun
  const run: RunCommand = async (runOptions) => {
    runs++
    const observed = await options.run(runOptions)
    recoveryPaths = mergeRecoveryPaths([recoveryPaths, observed.recoveryPaths])
    return observed
  }
  const context = { run, baseline, limitMs, baselinePoints: points }
  let stopped = false
  const work = async () => {
    for (let nextCase = space.next(); nextCase; nextCase = space.next()) {
      if (stopped || !options.hasTime()) return space.giveBack(nextCase)
      const trial = await runCase(nextCase, context)
      if (trial) space.done(trial)
      else {
        stopped = true
        space.giveBack(nextCase)
      }
    }
  }
  await Promise.all(Array.from({ length: options.jobs }, work))
  return {
    ...space.state(),
    failedBaseline: null,
    baselineRun,
    dropped: baseline.dropped,
    runs,
    quietMs,
    limitMs,
    recoveryPaths,
    routes: tables.map(({ table }) => table),
    stopped,
  }
}

/** The results of two baseline runs; the runs themselves are not retained. */
async function runBaseline({ run, runRoute }: Pick<ExploreOptions, 'run' | 'runRoute'>) {
  const baselineRuns: ObservedRun[] = []
  for (let round = 0; round < 2; round++) {
    const observed = await run({ scenario: null, limitMs: null })
    if (observed.code !== 0 || observed.stopped)
      return { ...NOTHING, failedBaseline: observed, quietMs: observed.tookMs }
    baselineRuns.push(observed)
  }
  const [one, other] = baselineRuns as [ObservedRun, ObservedRun]
  const tables = runRoute ? await routeTables(baselineRuns, runRoute) : []
  return {
    points: baselinePoints(one, other),
    baseline: baselineOf(baselineRuns),
    baselineRun: shownRun(one),
    steady: madeSameCalls(one, other),
    tables,
    recoveryPaths: mergeRecoveryPaths([...baselineRuns, ...tables].map((found) => found.recoveryPaths)),
  }
}

const NOTHING = {
  ...{ points: [], cases: [], skipped: [], routes: [], recoveryPaths: {} },
  ...{ baselineRun: null, dropped: 0, runs: 0, saved: 0, limitMs: 0, stopped: false },
}

/** The tables of all distinct routing configurations. */
async function routeTables(baselineRuns: readonly ObservedRun[], play: RunRoute) {
  const routes = new Map(baselineRuns.flatMap((run) => run.routes.map((route) => [route.name, route])))
  const tables = []
  for (const route of routes.values()) tables.push(await routeTable(route, play))
  return tables
}
