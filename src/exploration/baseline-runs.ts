// The runs without faults: one alone, then others as the runs of cases will be, to see whether they may be parallel.
import { baselineOf } from './baseline.ts'
import { baselinePoints, madeSameCalls } from './injection-points.ts'
import { mergeRecoveryPaths } from './recovery-paths.ts'
import { type RunRoute, routeTable } from './routes.ts'
import type { ObservedRun } from './types.ts'

/** Runs the command without a fault; `cancels` ends it early. */
type BaselineRun = (cancels?: AbortSignal) => Promise<ObservedRun>

/** A run as a report shows it. */
export type ShownRun = ReturnType<typeof shownRun>

/** A run without the facts of its calls, of which there may be very many. */
const shownRun = ({ code, tookMs, output, calls, kept, dropped }: ObservedRun) => ({
  ...{ code, tookMs, output },
  /** Its stored calls, in order of arrival. */
  calls: calls.flatMap(({ trace: { id }, point: { session } }) => (kept.has(id) ? [{ id, session }] : [])),
  /** Whether all of its calls are stored. */
  whole: dropped === 0 && kept.size >= calls.length,
})

/** How the baseline is found. */
interface BaselineOptions {
  run: BaselineRun
  /** Runs the faults of providers on a call's routing; undefined if calls are forwarded. */
  runRoute: RunRoute | undefined
  /** Whether runs are to be parallel. */
  parallel: boolean
  /** Whether there are so many milliseconds left. */
  hasTime(ms: number): boolean
  /** Aborts when no more runs may start. */
  over: AbortSignal | undefined
}

/** Whether a run failed by itself. */
export const failsByItself = ({ code, stopped, canceled }: ObservedRun): boolean => code !== 0 && !stopped && !canceled
const isEnd = (run: ObservedRun): boolean => failsByItself(run) || run.stopped

/** What the baseline runs showed; the runs themselves are not retained. */
export async function runBaseline(options: BaselineOptions) {
  // Without it there is nothing to report, so it may take all of the time.
  const first = await options.run()
  if (isEnd(first)) return { failedBaseline: first }
  const others = await otherRuns(first, options)
  if ('failedBaseline' in others) return others
  const { serialReason } = others
  const runs = [first, ...others.runs]
  const tables = options.runRoute ? await routeTables(runs, options.runRoute) : []
  return {
    points: baselinePoints(first, runs.slice(1)),
    baseline: baselineOf(runs),
    baselineRun: shownRun(first),
    /** Whether they made the same calls in the same order. */
    steady: runs.length > 1 && runs.every((one) => madeSameCalls(first, one)),
    tables,
    serialReason,
    leftProcesses: runs.some(({ leftProcesses }) => leftProcesses),
    recoveryPaths: mergeRecoveryPaths([...runs, ...tables].map((found) => found.recoveryPaths)),
  }
}

/** The runs after the first one, and why runs cannot be parallel; null if they can. */
type OtherRuns = { runs: ObservedRun[]; serialReason: string | null } | { failedBaseline: ObservedRun }

async function otherRuns(first: ObservedRun, options: BaselineOptions): Promise<OtherRuns> {
  const { run, parallel, over } = options
  // Otherwise the time is better spent on cases.
  const mayRun = () => options.hasTime(MIN_RUNS_LEFT * first.tookMs) && !over?.aborted
  const runsOf = async (count: number) => {
    const runs = mayRun() ? await Promise.all(Array.from({ length: count }, () => run(over))) : []
    return runs.filter(({ canceled, stopped }) => !canceled || stopped)
  }
  const others = await runsOf(parallel ? 2 : 1)
  const stopped = others.find((one) => one.stopped || (!parallel && failsByItself(one)))
  if (stopped) return { failedBaseline: stopped }
  const broken = others.find(failsByItself)
  if (!parallel || (!broken && others.every((other) => madeSameCalls(first, other))))
    return { runs: others, serialReason: null }
  const [alone] = await runsOf(1)
  if (alone && isEnd(alone)) return { failedBaseline: alone }
  if (broken) {
    // A command that fails now and then fails alone as well.
    const again = await runsOf(2)
    const stoppedAgain = again.find((one) => one.stopped)
    if (stoppedAgain) return { failedBaseline: stoppedAgain }
    if (again.length > 0 && !again.some(failsByItself)) return { failedBaseline: broken }
    return { runs: alone ? [alone] : [], serialReason: `${AT_ONCE} it fails (exit code ${broken.code})` }
  }
  // A command whose calls vary by themselves may run in parallel.
  if (!alone || !madeSameCalls(first, alone)) return { runs: others, serialReason: null }
  return { runs: [alone], serialReason: `${AT_ONCE} it makes other calls than alone` }
}
/** Runs for which there must be time left before another baseline run. */
const MIN_RUNS_LEFT = 3
const AT_ONCE = 'when it runs twice at the same time,'

/** The tables of all distinct routing configurations. */
async function routeTables(baselineRuns: readonly ObservedRun[], play: RunRoute) {
  const routes = new Map(baselineRuns.flatMap((run) => run.routes.map((route) => [route.name, route])))
  const tables = []
  for (const route of routes.values()) tables.push(await routeTable(route, play))
  return tables
}
