// The exploration: baseline runs, then one run per case, and their results.
import type { CaseResult, InjectionPoint, RouteTable, SkippedCase } from '../contract/core/exploration.ts'
import { baselineOf } from './baseline.ts'
import { baselinePoints, madeSameCalls } from './injection-points.ts'
import { mergeRecoveryPaths, type RecoveryPathCounts } from './recovery-paths.ts'
import { type RunRoute, routeTable } from './routes.ts'
import { createSpace, type SpaceOptions } from './space.ts'
import { type RunCommand, runCase } from './trial.ts'
import type { ObservedRun } from './types.ts'

/** The options of an exploration. */
export interface ExploreOptions extends SpaceOptions {
  run: RunCommand
  /** Runs the faults of providers on a call's routing; undefined if calls are forwarded. */
  play?: RunRoute | undefined
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
  red: ObservedRun | null
  points: InjectionPoint[]
  cells: CaseResult[]
  /** Applicable cases that were not run. */
  left: SkippedCase[]
  /**
   * Calls of a baseline run whose traces were dropped or deleted: they are no injection points here, though they may
   * fail, too.
   */
  dropped: number
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
const MIN_PATIENCE_MS = 10_000

/** Runs the command twice without faults, then once for each case. */
export async function explore(options: ExploreOptions): Promise<Exploration> {
  const begun = await beginQuietly(options)
  if ('red' in begun) return begun
  const { points, baseline, tables, steady } = begun
  const quietMs = baseline.tookMs
  const limitMs = options.limitMs ?? Math.max(HANGS_AFTER * quietMs, quietMs + MIN_PATIENCE_MS)
  const space = createSpace(points, { ...options, steady })
  let runs = 0
  let { recoveryPaths } = begun
  const run: RunCommand = async (asked) => {
    runs++
    const observed = await options.run(asked)
    recoveryPaths = mergeRecoveryPaths([recoveryPaths, observed.recoveryPaths])
    return observed
  }
  const context = { run, baseline, limitMs, quiet: points }
  let stopped = false
  const work = async () => {
    for (let cell = space.next(); cell; cell = space.next()) {
      if (stopped || !options.hasTime()) return space.giveBack(cell)
      const trial = await runCase(cell, context)
      if (trial) space.done(trial)
      else {
        stopped = true
        space.giveBack(cell)
      }
    }
  }
  await Promise.all(Array.from({ length: options.jobs }, work))
  return {
    ...space.state(),
    red: null,
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
async function beginQuietly({ run, play }: Pick<ExploreOptions, 'run' | 'play'>) {
  const quiet: ObservedRun[] = []
  for (let round = 0; round < 2; round++) {
    const observed = await run({ scenario: null, limitMs: null })
    if (observed.code !== 0 || observed.stopped) return { ...NOTHING, red: observed, quietMs: observed.tookMs }
    quiet.push(observed)
  }
  const [one, other] = quiet as [ObservedRun, ObservedRun]
  const tables = play ? await routeTables(quiet, play) : []
  return {
    points: baselinePoints(one, other),
    baseline: baselineOf(quiet),
    steady: madeSameCalls(one, other),
    tables,
    recoveryPaths: mergeRecoveryPaths([...quiet, ...tables].map((found) => found.recoveryPaths)),
  }
}

const NOTHING = {
  ...{ points: [], cells: [], left: [], routes: [], recoveryPaths: {} },
  ...{ dropped: 0, runs: 0, saved: 0, limitMs: 0, stopped: false },
}

/** The tables of all distinct routing configurations. */
async function routeTables(quiet: readonly ObservedRun[], play: RunRoute) {
  const routes = new Map(quiet.flatMap((run) => run.routes.map((route) => [route.name, route])))
  const tables = []
  for (const route of routes.values()) tables.push(await routeTable(route, play))
  return tables
}
