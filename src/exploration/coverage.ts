// Coverage as three numbers, which are never added up: faults delivered, faults held, and ways taken.
import type { CellResult, CoverageNumbers } from '../contract/core/exploration.ts'
import type { Exploration } from './explore.ts'
import type { WayCounts } from './ways.ts'

/** The coverage of an exploration; `ways` are those of all its runs. */
export function coverageOf(
  cells: readonly CellResult[],
  { left }: Pick<Exploration, 'left'>,
  ways: WayCounts,
): CoverageNumbers {
  const delivered = cells.filter(({ verdict }) => verdict !== 'not-applied').length
  const held = cells.filter(({ verdict }) => verdict === 'tolerated').length
  const all = Object.values(ways)
  return {
    delivered: { of: delivered, all: cells.length + left.length },
    held: { of: held, all: delivered },
    ways: { of: all.filter((taken) => taken > 0).length, all: all.length },
  }
}
