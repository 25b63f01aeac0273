// What is wrong in a case, and how bad it is.
import type { CaseResult, ProblemKind, ProblemSeverity } from '../contract/core/exploration.ts'
import { failureNature } from './failure-modes.ts'
import { LONG_TIMEOUT, TOOL_REPEATED } from './mistakes.ts'

type Judged = Pick<CaseResult, 'verdict' | 'class' | 'mistake'>

/** What is wrong in a case; undefined if the program handled the failure, or could not have handled it better. */
export function problemKindOf({ verdict, class: name, mistake }: Judged): ProblemKind | undefined {
  if (verdict === 'tolerated' || verdict === 'not-applied' || verdict === 'accepted') return undefined
  if (mistake?.kind === TOOL_REPEATED) return 'duplicate-side-effect'
  if (verdict === 'hung' && mistake?.kind === LONG_TIMEOUT) return 'long-timeout'
  if (verdict === 'hung' || verdict === 'crashed') return verdict
  if (mistake) return 'misbehaved'
  const nature = failureNature(name)
  if (verdict === 'swallowed') return nature === 'recoverable' ? 'lost-work' : 'swallowed'
  if (verdict === 'failed' && nature === 'recoverable') return 'failed'
  if (verdict === 'failed') return 'silent-failure'
  return nature === 'content' ? 'not-tolerated' : undefined
}

const WARNINGS: readonly ProblemKind[] = ['long-timeout', 'silent-failure', 'not-tolerated']

/** How bad a kind of problem is: a warning makes no exploration fail. */
export const severityOf = (kind: ProblemKind): ProblemSeverity => (WARNINGS.includes(kind) ? 'warning' : 'error')

/** Whether a case fails the exploration. */
export function isError(cell: Judged): boolean {
  const kind = problemKindOf(cell)
  return kind !== undefined && severityOf(kind) === 'error'
}
