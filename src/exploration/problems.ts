// The problems of a program: cases that fail for the same cause are one problem, and the worst comes first.
import {
  type CaseResult,
  type ExploreProblem,
  type InjectionPoint,
  PROBLEM_KINDS,
  type ProblemKind,
  type ProblemSeverity,
} from '../contract/core/exploration.ts'
import { failureNature } from './failure-modes.ts'
import { pointParts } from './injection-points.ts'
import { LONG_TIMEOUT, TOOL_REPEATED } from './judge.ts'

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
const severityOf = (kind: ProblemKind): ProblemSeverity => (WARNINGS.includes(kind) ? 'warning' : 'error')

/** Whether a case fails the exploration. */
export function isError(cell: Judged): boolean {
  const kind = problemKindOf(cell)
  return kind !== undefined && severityOf(kind) === 'error'
}

interface BadCase {
  cell: CaseResult
  kind: ProblemKind
}

const rankOf = ({ kind }: BadCase): number => PROBLEM_KINDS.indexOf(kind)

/** The problems that some cases show, the worst first. */
export function exploreProblems(
  cells: readonly CaseResult[],
  points: readonly Pick<InjectionPoint, 'id' | 'label'>[],
): ExploreProblem[] {
  const labels = new Map(points.map(({ id, label }) => [id, label]))
  const bad = cells.flatMap((cell): BadCase[] => {
    const kind = problemKindOf(cell)
    return kind === undefined ? [] : [{ cell, kind }]
  })
  const byPlace = [...Map.groupBy(bad, ({ cell }) => causeKey(cell)).values()]
  // The same failures at several calls come from the code that the calls share.
  const byCause = Map.groupBy(byPlace, (some) => `${some[0] ? causeOf(some[0]) : ''}\n${modesOf(some).join()}`)
  return [...byCause.values()]
    .map((groups) => groups.flat().toSorted((one, other) => rankOf(one) - rankOf(other)))
    .toSorted(([one], [other]) => (one && other ? rankOf(one) - rankOf(other) : 0))
    .flatMap((some) => problemOf(some, labels))
}

/** What the cases of one problem at one call share; undefined for a case without a problem. */
export function causeKey(cell: CaseResult): string | undefined {
  const kind = problemKindOf(cell)
  return kind && `${causeOf({ kind, cell })}\n${placeOf({ kind, cell })}`
}

/** What tells causes apart, at one call. */
function causeOf({ kind, cell: { mistake } }: BadCase): string {
  if (mistake && (kind === 'misbehaved' || kind === 'duplicate-side-effect')) return `${mistake.kind} ${mistake.about}`
  return kind === 'lost-work' ? 'swallowed' : kind
}

/** The call whose code has the cause; empty if the mistake itself says what is wrong. */
function placeOf({ kind, cell: { point, mistake } }: BadCase): string {
  if (mistake && mistake.about !== '' && (kind === 'misbehaved' || kind === 'duplicate-side-effect')) return ''
  const { kind: place, session } = pointParts(lastPoint(point))
  return session === null ? place : place.slice(0, -session.length - 1)
}

/** The point of a case; of a pair, the second one. */
const lastPoint = (id: string): string => id.slice(id.indexOf('+') + 1)

/** The failure modes of some cases, in order of their names. */
const modesOf = (some: readonly BadCase[]): string[] => [...new Set(some.map(({ cell }) => cell.class))].toSorted()

function problemOf(some: readonly BadCase[], labels: ReadonlyMap<string, string>): ExploreProblem[] {
  const [first] = some
  if (!first) return []
  const { kind, cell } = first
  const labelOf = (point: string) => labels.get(point) ?? labels.get(lastPoint(point)) ?? point
  return [
    {
      ...{ kind, severity: severityOf(kind), why: cell.why },
      calls: [...new Set(some.map((one) => labelOf(one.cell.point)))],
      classes: [...new Set(some.map((one) => one.cell.class))],
      cases: some.map(({ cell: { point, class: name } }) => ({ point, class: name })),
    },
  ]
}
