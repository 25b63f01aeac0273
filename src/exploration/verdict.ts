// The verdict on an exploration, and its coverage: problems make it fail, and it is inconclusive if it proves less than it
// seems to.
import type { CaseResult, CoverageNumbers } from '../contract/core/exploration.ts'
import { verdictOf } from '../verdict/inconclusive.ts'
import type { Exploration } from './explore.ts'
import { isError } from './problems.ts'
import type { RecoveryPathCounts } from './recovery-paths.ts'

/** The verdict, and why it is inconclusive; empty if it is conclusive. */
export type ExplorationVerdict = ReturnType<typeof explorationVerdict>

/** What the verdict depends on. */
type Explored = Pick<Exploration, 'cases' | 'leftProcesses'> & {
  points: readonly unknown[]
  coverage: Pick<CoverageNumbers, 'delivered'>
}

const NO_CALL =
  'no call to a model or an agent was received: the program should call the address in OPENAI_BASE_URL (http://127.0.0.1:PORT/v1, with another port in each run)'
const LEFT =
  'no call to a model or an agent was received before the command ended and left processes running: explore a command that waits for them'

/**
 * The verdict on an exploration.
 * @param untested why calls could not be tested, one reason per API
 */
export function explorationVerdict(
  { cases, points, coverage, leftProcesses }: Explored,
  untested: readonly string[] = [],
) {
  const nothing =
    points.length === 0
      ? [leftProcesses ? LEFT : NO_CALL]
      : coverage.delivered.of === 0
        ? ['no fault was injected']
        : []
  const inconclusive = [...nothing, ...untested]
  return { verdict: verdictOf(cases.some(isError), inconclusive), inconclusive }
}

/** The coverage of an exploration: three numbers, which are never added up; `recoveryPaths` are those of all its runs. */
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
