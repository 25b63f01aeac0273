// Calls in a loop: the first and the last are broken, and what both come to, those between them come to as well.
import type { CellResult, Point } from '../contract/exploration.ts'
import { cellId, nameOfCell, scenarioOf } from './cell-scenario.ts'
import { loopEnds } from './points.ts'
import type { Cell } from './types.ts'

/** Cells within loops, which wait until both ends are known. */
export interface LoopCells {
  has(cell: Cell): boolean
  /** Takes those whose ends are known: what they come to where both ends came to the same, and those to be tried. */
  known(results: ReadonlyMap<string, CellResult>): { same: CellResult[]; different: Cell[] }
  left(): Cell[]
}

/** Those of some cells that are within loops; what was tried before is known anyway. */
export function loopCells(
  cells: readonly Cell[],
  { quiet, before }: { quiet: readonly Point[]; before: ReadonlyMap<string, CellResult> },
): LoopCells {
  const ends = loopEnds(quiet)
  const waiting = new Set(
    cells.filter((cell) => ends.has(cell.point.id) && (before.get(nameOfCell(cell))?.derived ?? true)),
  )
  return {
    has: (cell) => waiting.has(cell),
    left: () => [...waiting],
    known(results) {
      const same: CellResult[] = []
      const different: Cell[] = []
      for (const cell of waiting) {
        const of = (point: Point | undefined) => point && results.get(nameOfCell({ ...cell, point }))
        const [first, last] = ends.get(cell.point.id) ?? []
        const [one, other] = [of(first), of(last)]
        if (!one || !other) continue
        waiting.delete(cell)
        if (one.verdict === other.verdict) same.push(resultWithin(cell, { first: one, last: other }))
        else different.push(cell)
      }
      return { same, different }
    },
  }
}

/** What both ends of a loop come to, a call between them comes to as well. */
const resultWithin = (cell: Cell, { first, last }: Record<'first' | 'last', CellResult>): CellResult => ({
  ...first,
  ...cellId(cell),
  why: `as at ${first.point} and ${last.point}, the first and the last of the loop: ${first.why}`,
  scenario: first.scenario && scenarioOf([cell]),
  derived: true,
})
