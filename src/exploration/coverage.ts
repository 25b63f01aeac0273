// Coverage as three numbers, which are never added up: faults delivered, faults held, and ways taken.
import type { CaseResult, CoverageNumbers } from '../contract/core/exploration.ts'
import type { Exploration } from './explore.ts'
import type { RecoveryPathCounts } from './recovery-paths.ts'

/** The coverage of an exploration; `ways` are those of all its runs. */
export function coverageOf(
  cells: readonly CaseResult[],
  { left }: Pick<Exploration, 'left'>,
  ways: RecoveryPathCounts,
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
