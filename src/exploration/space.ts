// The cells of an exploration: which are to try, together and in which order, and what the runs of some prove of others.
import { type CellResult, type ClassName, cellName, type Point } from '../contract/exploration.ts'
import { cellId, nameOfCell, scenarioOf } from './cell-scenario.ts'
import { outcomeClass, outcomeClasses } from './classes.ts'
import { loopCells } from './loops.ts'
import { newPoints } from './points.ts'
import type { Trial } from './trial.ts'
import type { Cell } from './types.ts'

/** What is to be tried. */
export interface SpaceOptions {
  /** The classes that are tried; all when there is none. */
  classes: readonly ClassName[]
  /** 1 breaks one call in a run, 2 pairs too. */
  depth: 1 | 2
  /** Whether cells are left out whose outcome another one proves. */
  prune: boolean
  /** Cells that an earlier exploration has tried, by name. */
  before: ReadonlyMap<string, CellResult>
  /** Told of each cell that is done, and how many there are to do. */
  notify(progress: { result: CellResult; done: number; total: number }): void
}

/** What is to try, and what came of it. */
export interface Space {
  /** Cells of different sessions, to be tried in one run; none when there are no more. */
  next(): Cell[]
  giveBack(cells: readonly Cell[]): void
  done(trial: Trial): void
  state(): {
    points: Point[]
    cells: CellResult[]
    left: { point: string; class: string }[]
    saved: number
  }
}

export function createSpace(quiet: readonly Point[], options: SpaceOptions): Space {
  const { prune, depth, classes, before, notify } = options
  const points = new Map(quiet.map((point) => [point.id, point]))
  const cells = cellsOf(quiet, classes)
  const loops = loopCells(prune ? cells : [], { quiet, before })
  let saved = 0
  const queue = cellQueue(
    cells.filter((cell) => !loops.has(cell)),
    prune,
  )
  const results = new Map<string, CellResult>()
  const add = (result: CellResult) => {
    queue.remove(cellName(result))
    results.set(cellName(result), result)
    notify({ result, done: results.size, total: results.size + queue.waiting().length + loops.left().length })
  }
  for (const cell of queue.waiting()) {
    const known = before.get(nameOfCell(cell))
    if (known) add(known)
  }
  const addWithinLoops = () => {
    const { same, different } = loops.known(results)
    for (const cell of different) queue.add(cell)
    for (const result of same) add(result)
    saved += same.length
  }
  addWithinLoops()
  return {
    next: queue.next,
    giveBack: queue.giveBack,
    done(trial) {
      for (const point of newPoints(trial.run, new Set(points.keys()))) points.set(point.id, point)
      if (depth === 2 && trial.result.verdict !== 'not-applied')
        for (const pair of pairsAfter(trial, { quiet, prune, classes }))
          if (!results.has(nameOfCell(pair))) queue.add(pair)
      add(trial.result)
      for (const cell of prune ? queue.waiting() : []) {
        if (!proves(trial, cell)) continue
        saved++
        add(provenResult(trial, cell))
      }
      addWithinLoops()
    },
    state: () => ({
      points: [...quiet, ...discoveredOf(points)],
      cells: inOrder([...results.values()], cells),
      left: [...queue.waiting(), ...loops.left()].map(cellId),
      saved,
    }),
  }
}

/** Cells that wait for their runs. */
function cellQueue(cells: readonly Cell[], prune: boolean) {
  const waiting = new Map(cells.map((cell) => [nameOfCell(cell), cell]))
  const underWay = new Set<string>()
  return {
    waiting: () => [...waiting.values()],
    add: (cell: Cell) => void waiting.set(nameOfCell(cell), cell),
    /** What is done, or need not be. */
    remove(name: string) {
      waiting.delete(name)
      underWay.delete(name)
    },
    next(): Cell[] {
      // What a cell under way may prove waits for it, so that two explorations do not differ by who was faster.
      const free = [...waiting.values()].filter((cell) => !(prune && underWay.has(onceOf(cell))))
      const batch = batchOf(free, prune)
      for (const name of batch.map(nameOfCell)) {
        waiting.delete(name)
        underWay.add(name)
      }
      return batch
    },
    giveBack(given: readonly Cell[]) {
      for (const cell of given) {
        underWay.delete(nameOfCell(cell))
        waiting.set(nameOfCell(cell), cell)
      }
    },
  }
}

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

/** The name of the cell that may prove what becomes of this one; its own where none does. */
const onceOf = (cell: Cell): string => nameOfCell({ ...cell, class: outcomeClass(cell.class).once ?? cell.class })

/** Points that came under faults, in an order that does not depend on which fault was tried first. */
const discoveredOf = (points: ReadonlyMap<string, Point>): Point[] =>
  [...points.values()]
    .filter(({ discovered }) => discovered)
    .sort((one, other) => (one.kind === other.kind ? one.nth - other.nth : one.kind < other.kind ? -1 : 1))

/** Results in the order in which their cells were to be tried, pairs behind them by name. */
function inOrder(results: readonly CellResult[], cells: readonly Cell[]): CellResult[] {
  const places = new Map(cells.map((cell, index) => [nameOfCell(cell), index]))
  const placeOf = (result: CellResult) => places.get(cellName(result)) ?? cells.length
  return results.toSorted((one, other) => placeOf(one) - placeOf(other) || (cellName(one) < cellName(other) ? -1 : 1))
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
  { quiet, prune, classes }: { quiet: readonly Point[] } & Pick<SpaceOptions, 'prune' | 'classes'>,
): Cell[] {
  if (cell.after || !['held', 'swallowed', 'misbehaved'].includes(result.verdict)) return []
  const known = new Set(quiet.map(({ id }) => id))
  const own = run.calls.filter(({ point }) => point.session === cell.point.session)
  const from = own.findIndex(({ point }) => point.id === cell.point.id)
  const following = own.slice(from + 1).filter(({ point }) => !(prune && known.has(point.id)))
  const points = following.map(({ point }) => ({ ...point, unstable: false, discovered: !known.has(point.id) }))
  return cellsOf(points, classes).map((second) => ({ ...second, after: { point: cell.point, class: cell.class } }))
}
