// The exploration itself: which cells are tried, in which order and together, and what their runs prove of others.
import { type CellResult, type ClassName, cellName, type Point, type RouteTable } from '../contract/exploration.ts'
import { baselineOf } from './baseline.ts'
import { cellId, scenarioOf } from './cell-scenario.ts'
import { outcomeClass, outcomeClasses } from './classes.ts'
import { newPoints, quietPoints, withoutLoops } from './points.ts'
import { type PlayRoute, routeTable } from './routes.ts'
import { type RunCommand, type Trial, tryTogether } from './trial.ts'
import type { Cell, ObservedRun } from './types.ts'
import { mergeWays, type WayCounts } from './ways.ts'

/** How far an exploration goes. */
export interface ExploreOptions {
  run: RunCommand
  /** Plays what providers can do to the routing of a call; undefined when calls are forwarded. */
  play?: PlayRoute | undefined
  /** The classes that are tried; all when there is none. */
  classes: readonly ClassName[]
  /** 1 breaks one call in a run, 2 pairs too. */
  depth: 1 | 2
  /** How many runs go on at once. */
  jobs: number
  /** Whether cells are left out whose outcome another one proves. */
  prune: boolean
  /** Milliseconds after which a run hangs; worked out from the quiet runs when left out. */
  limitMs?: number | undefined
  /** Whether there is time left. */
  hasTime(): boolean
  /** Cells that an earlier exploration has tried, by name. */
  before: ReadonlyMap<string, CellResult>
  /** Told of each cell that is done, and how many there are to do. */
  notify(progress: { result: CellResult; done: number; total: number }): void
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

/** What is to try, and what came of it. */
interface Space {
  /** Cells of different sessions, to be tried in one run; none when there are no more. */
  next(): Cell[]
  giveBack(cells: readonly Cell[]): void
  done(trial: Trial): void
  state(): Pick<Exploration, 'points' | 'cells' | 'left' | 'saved'>
}

function createSpace(quiet: readonly Point[], options: ExploreOptions): Space {
  const { prune, depth, classes, before, notify } = options
  const points = new Map(quiet.map((point) => [point.id, point]))
  const all = cellsOf(prune ? withoutLoops(quiet) : quiet, classes)
  let saved = cellsOf(quiet, classes).length - all.length
  const waiting = new Map(all.map((cell) => [nameOf(cell), cell]))
  const results = new Map<string, CellResult>()
  const add = (result: CellResult) => {
    waiting.delete(cellName(result))
    results.set(cellName(result), result)
    notify({ result, done: results.size, total: results.size + waiting.size })
  }
  for (const name of [...waiting.keys()]) {
    const known = before.get(name)
    if (known) add(known)
  }
  const addProven = (trial: Trial) => {
    for (const cell of [...waiting.values()]) {
      if (!proves(trial, cell)) continue
      saved++
      add(provenResult(trial, cell))
    }
  }
  return {
    next() {
      const batch = batchOf([...waiting.values()], prune)
      for (const cell of batch) waiting.delete(nameOf(cell))
      return batch
    },
    giveBack(cells) {
      for (const cell of cells) waiting.set(nameOf(cell), cell)
    },
    done(trial) {
      for (const point of newPoints(trial.run, new Set(points.keys()))) points.set(point.id, point)
      if (depth === 2 && trial.result.verdict !== 'not-applied')
        for (const pair of pairsAfter(trial, { quiet, prune, classes }))
          if (!results.has(nameOf(pair))) waiting.set(nameOf(pair), pair)
      add(trial.result)
      if (prune) addProven(trial)
    },
    state: () => ({
      points: [...points.values()],
      cells: [...results.values()],
      left: [...waiting.values()].map(cellId),
      saved,
    }),
  }
}

const nameOf = (cell: Cell): string => cellName(cellId(cell))

/** The next cells for one run: one of each session, since sessions do not see each other; pairs are tried alone. */
function batchOf(waiting: readonly Cell[], together: boolean): Cell[] {
  const [first] = waiting
  if (!first) return []
  if (first.after || !together) return [first]
  const bySession = Map.groupBy(
    waiting.filter(({ after }) => !after),
    ({ point }) => point.session,
  )
  return [...bySession.values()].flatMap(([one]) => (one ? [one] : []))
}

/** Whether a trial shows what becomes of another cell: a client that calls nothing again cannot tell once from for ever. */
const proves = ({ cell, judgement, result }: Trial, other: Cell): boolean =>
  !judgement.calledAgain &&
  result.verdict !== 'not-applied' &&
  !cell.after &&
  !other.after &&
  other.point.id === cell.point.id &&
  outcomeClass(other.class).once === cell.class

const provenResult = ({ cell, result }: Trial, other: Cell): CellResult => ({
  ...result,
  ...cellId(other),
  why: `as ${cell.class}: nothing was called again`,
  scenario: result.scenario && scenarioOf([other]),
  derived: true,
})

/** All cells of some points, those that tell most first. */
const cellsOf = (points: readonly Point[], classes: readonly ClassName[]): Cell[] =>
  outcomeClasses
    .filter(({ name }) => classes.length === 0 || classes.includes(name))
    .flatMap(({ name, excludes }) =>
      points.flatMap((point) => (excludes(point) === undefined ? [{ point, class: name }] : [])),
    )

/** Pairs with the cell of a trial that it coped with: the second break meets a call that follows the first, and with pruning one that only the first has brought about. */
function pairsAfter(
  { cell, run, result }: Trial,
  { quiet, prune, classes }: { quiet: readonly Point[] } & Pick<ExploreOptions, 'prune' | 'classes'>,
): Cell[] {
  if (cell.after || !['held', 'swallowed', 'misbehaved'].includes(result.verdict)) return []
  const known = new Set(quiet.map(({ id }) => id))
  const own = run.calls.filter(({ point }) => point.session === cell.point.session)
  const from = own.findIndex(({ point }) => point.id === cell.point.id)
  const following = own.slice(from + 1).filter(({ point }) => !(prune && known.has(point.id)))
  const points = following.map(({ point }) => ({ ...point, unstable: false, discovered: !known.has(point.id) }))
  return cellsOf(points, classes).map((second) => ({ ...second, after: { point: cell.point, class: cell.class } }))
}
