// What problems of explored programs are called, and how the results of cases look, on a terminal and on the page.
import type { CaseResult, CaseVerdict, ExploreProblem, ProblemKind } from '../contract/core/exploration.ts'
import { counted } from '../lib/units.ts'

/** The title of each kind of problem. */
export const PROBLEM_TITLES: Readonly<Record<ProblemKind, string>> = {
  'duplicate-side-effect': 'Duplicate side effect',
  'lost-work': 'Lost work',
  swallowed: 'Swallowed error',
  hung: 'Hung',
  crashed: 'Crashed',
  misbehaved: 'Misbehaved',
  failed: 'Failed on a recoverable error',
  'long-timeout': 'Timeout too long to wait for',
  'silent-failure': 'Failed without an error message',
  'not-tolerated': 'Broken response not tolerated',
}

/** Maximum number of names that are listed. */
const MAX_LISTED = 6

/** Some names in one line, with the number of others. */
export const listed = (names: readonly string[]): string => {
  const others = names.length - MAX_LISTED
  return others <= 0 ? names.join(', ') : `${names.slice(0, MAX_LISTED).join(', ')} and ${counted(others, 'other')}`
}

/** The number of problems, as `2 problems, 1 warning`; `no problem` if there is none. */
function problemCount(problems: readonly Pick<ExploreProblem, 'severity'>[]): string {
  const warnings = problems.filter(({ severity }) => severity === 'warning').length
  const errors = problems.length - warnings
  const parts = [
    errors === 0 ? 'no problem' : counted(errors, 'problem'),
    ...(warnings === 0 ? [] : [counted(warnings, 'warning')]),
  ]
  return parts.join(', ')
}

/** One sentence about an exploration. Only injection points with a case are counted. */
export function explorationSentence(found: {
  problems: readonly Pick<ExploreProblem, 'severity'>[]
  cases: readonly Pick<CaseResult, 'point'>[]
}): string {
  const calls = new Set(found.cases.flatMap(({ point }) => point.split('+'))).size
  return `${problemCount(found.problems)} in ${counted(found.cases.length, 'case')} at ${counted(calls, 'injection point')}`
}

/** The sign of a result, and its tone. */
export interface CaseStyle {
  sign: string
  tone: 'good' | 'bad' | 'warning' | 'none'
}

/** The style of each result. */
export const CASE_STYLES: Readonly<Record<CaseVerdict, CaseStyle>> = {
  tolerated: { sign: '+', tone: 'good' },
  'failed-cleanly': { sign: 'f', tone: 'none' },
  failed: { sign: 'F', tone: 'bad' },
  crashed: { sign: 'C', tone: 'bad' },
  hung: { sign: 'H', tone: 'bad' },
  swallowed: { sign: 's', tone: 'bad' },
  misbehaved: { sign: 'm', tone: 'bad' },
  'not-applied': { sign: '-', tone: 'none' },
  accepted: { sign: 'a', tone: 'none' },
}

/** The sign of an applicable case that was not run. */
export const LEFT_OUT = '?'

/** Follows the sign of a case that was not run itself, because the run of another one proves its result. */
export const DERIVED = '*'
