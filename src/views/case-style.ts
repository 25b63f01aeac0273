// How the results of cases look in a matrix, on a terminal and on the page.

import type { CaseVerdict } from '../contract/core/exploration.ts'
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
