// What the run of one cell proves of another: a fault for ever is the same as once, where nothing came that it could have met later.
import { type ClassName, cellName } from '../contract/core/exploration.ts'
import { cellId, nameOfCell, scenarioOf } from './cell-scenario.ts'
import { outcomeClass, outcomeClasses } from './classes.ts'
import type { Trial, TriedCell } from './trial.ts'
import type { Cell } from './types.ts'

/** Where a cell breaks a run. */
type Place = NonNullable<Cell['after']>

/** The class that breaks all calls of which another breaks the first. */
const FOR_EVER = new Map(outcomeClasses.flatMap(({ name, once }) => (once ? [[once, name] as const] : [])))

/** Each way to break a place that may come to the same as a given one; the given one is first. */
const waysTo = (place: Place, other: (name: ClassName) => ClassName | undefined): Place[] => {
  const name = other(place.class)
  return name === undefined ? [place] : [place, { ...place, class: name }]
}

function variants({ point, class: name, after }: Cell, other: (name: ClassName) => ClassName | undefined): Cell[] {
  const seconds = waysTo({ point, class: name }, other)
  const firsts = after ? waysTo(after, other) : [undefined]
  return firsts.flatMap((first) => seconds.map((second) => ({ ...second, ...(first && { after: first }) }))).slice(1)
}

/** Names of the cells whose runs may prove what becomes of this one. */
export const proversOf = (cell: Cell): string[] => variants(cell, (name) => outcomeClass(name).once).map(nameOfCell)

/** The cells of which a trial proves what becomes of them. */
export function provenBy({ cell, last, steady, result }: Trial): Cell[] {
  if (!steady || result.verdict === 'not-applied') return []
  // A call of the kind that came later would have been broken as well.
  const isLast = ({ point }: Place) => (last.get(point.kind) ?? 0) <= point.nth
  const changes = (one: Place, other: Place | undefined) => other !== undefined && one.class !== other.class
  return variants(cell, (name) => FOR_EVER.get(name)).filter(
    (other) =>
      (!changes(cell, other) || isLast(cell)) &&
      (!cell.after || !changes(cell.after, other.after) || isLast(cell.after)),
  )
}

/** What becomes of a cell of which a trial is the proof. */
export const provenCell = ({ cell, result, following, discovered }: Trial, other: Cell): TriedCell => ({
  following,
  discovered,
  result: {
    ...result,
    ...cellId(other),
    why: `same as ${cellName(cellId(cell))}, since no later call would have received this fault: ${result.why}`,
    scenario: result.scenario && scenarioOf(other),
    derived: true,
  },
})
