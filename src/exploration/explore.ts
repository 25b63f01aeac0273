// The exploration itself: quiet runs, then one for each cell that is to be tried, and what came of them all.
import type { CellResult, Point, RouteTable } from '../contract/exploration.ts'
import { baselineOf } from './baseline.ts'
import { quietPoints } from './points.ts'
import { type PlayRoute, routeTable } from './routes.ts'
import { createSpace, type SpaceOptions } from './space.ts'
import { type RunCommand, tryTogether } from './trial.ts'
import type { ObservedRun } from './types.ts'
import { mergeWays, type WayCounts } from './ways.ts'

/** How far an exploration goes. */
export interface ExploreOptions extends SpaceOptions {
  run: RunCommand
  /** Plays what providers can do to the routing of a call; undefined when calls are forwarded. */
  play?: PlayRoute | undefined
  /** How many runs go on at once. */
  jobs: number
  /** Milliseconds after which a run hangs; worked out from the quiet runs when left out. */
  limitMs?: number | undefined
  /** Whether there is time left. */
  hasTime(): boolean
}

/** What came of it. */
export interface Exploration {
  /** The quiet run that failed: nothing was explored. */
  red: ObservedRun | null
  points: Point[]
  cells: CellResult[]
  /** Cells that can happen and were not tried, because the time was up or somebody asked for the end. */
  left: { point: string; class: string }[]
  /** How often the command was run under a fault, and how many runs pruning has saved. */
  runs: number
  saved: number
  quietMs: number
  limitMs: number
  /** Somebody has asked for the end. */
  stopped: boolean
  /** Ways through the gateway, of all runs. */
  ways: WayCounts
  /** What becomes of the faults of providers, by routing configuration. */
  routes: RouteTable[]
}

/** A run may take three times as long as a quiet one, and never less than so much longer: a client's timeout needs its time. */
const HANGS_AFTER = 3
const LEAST_PATIENCE_MS = 10_000

/** Runs the command quietly twice, then once for each cell. */
export async function explore(options: ExploreOptions): Promise<Exploration> {
  const quiet: ObservedRun[] = []
  const nothing = {
    points: [],
    cells: [],
    left: [],
    runs: 0,
    saved: 0,
    limitMs: 0,
    ways: {},
    routes: [],
    stopped: false,
  }
  for (let round = 0; round < 2; round++) {
    const run = await options.run({ scenario: null, limitMs: null })
    if (run.code !== 0 || run.stopped) return { ...nothing, red: run, quietMs: run.tookMs }
    quiet.push(run)
  }
  const [one, other] = quiet as [ObservedRun, ObservedRun]
  const baseline = baselineOf(quiet)
  const quietMs = baseline.tookMs
  const limitMs = options.limitMs ?? Math.max(HANGS_AFTER * quietMs, quietMs + LEAST_PATIENCE_MS)
  const space = createSpace(quietPoints(one, other), options)
  let runs = 0
  let ways = mergeWays(quiet.map((run) => run.ways))
  const counted: RunCommand = async (asked) => {
    runs++
    const run = await options.run(asked)
    ways = mergeWays([ways, run.ways])
    return run
  }
  const context = { run: counted, baseline, limitMs }
  let stopped = false
  const work = async () => {
    for (let cells = space.next(); cells.length > 0; cells = space.next()) {
      if (stopped || !options.hasTime()) return space.giveBack(cells)
      const trials = await tryTogether(cells, context)
      stopped ||= trials.length < cells.length
      space.giveBack(cells.slice(trials.length))
      for (const trial of trials) space.done(trial)
    }
  }
  const tables = options.play ? await routeTables(quiet, options.play) : []
  await Promise.all(Array.from({ length: options.jobs }, work))
  ways = mergeWays([ways, ...tables.map((one) => one.ways)])
  return {
    ...space.state(),
    red: null,
    runs,
    quietMs,
    limitMs,
    ways,
    routes: tables.map(({ table }) => table),
    stopped,
  }
}

/** The tables of all routing configurations, each once. */
async function routeTables(quiet: readonly ObservedRun[], play: PlayRoute) {
  const routes = new Map(quiet.flatMap((run) => run.routes.map((route) => [route.name, route])))
  const tables = []
  for (const route of routes.values()) tables.push(await routeTable(route, play))
  return tables
}
