// Coverage as three numbers, which are never added up: faults injected, faults tolerated, and recovery paths exercised.
import type { CaseResult, CoverageNumbers } from '../contract/core/exploration.ts'
import type { Exploration } from './explore.ts'
import type { RecoveryPathCounts } from './recovery-paths.ts'

/** The coverage of an exploration; `recoveryPaths` are those of all its runs. */
export function coverageOf(
  cells: readonly CaseResult[],
  { skipped }: Pick<Exploration, 'skipped'>,
  recoveryPaths: RecoveryPathCounts,
): CoverageNumbers {
  const delivered = cells.filter(({ verdict }) => verdict !== 'not-applied').length
  const tolerated = cells.filter(({ verdict }) => verdict === 'tolerated').length
  const all = Object.values(recoveryPaths)
  return {
    delivered: { of: delivered, all: cells.length + skipped.length },
    tolerated: { of: tolerated, all: delivered },
    recoveryPaths: { of: all.filter((taken) => taken > 0).length, all: all.length },
  }
}
