// Coverage as three numbers, which are never added up: faults delivered, faults held, and ways taken.
import type { Exploration } from './explore.ts'
import type { CellResult } from './types.ts'
import type { WayCounts } from './ways.ts'

/** So many of so many. */
export interface Share {
  of: number
  all: number
}

/** The three numbers. */
export interface CoverageNumbers {
  /** Faults that acted, of those that can happen. */
  delivered: Share
  /** Those that the program held, of those that acted. */
  held: Share
  /** Ways through the gateway that calls took, of those that they configure. */
  ways: Share
}

/** The coverage of an exploration; `ways` are those of all its runs. */
export function coverageOf(
  cells: readonly CellResult[],
  { left }: Pick<Exploration, 'left'>,
  ways: WayCounts,
): CoverageNumbers {
  const delivered = cells.filter(({ verdict }) => verdict !== 'not-applied').length
  const held = cells.filter(({ verdict }) => verdict === 'held').length
  const all = Object.values(ways)
  return {
    delivered: { of: delivered, all: cells.length + left.length },
    held: { of: held, all: delivered },
    ways: { of: all.filter((taken) => taken > 0).length, all: all.length },
  }
}
