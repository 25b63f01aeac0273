// How the verdicts on cells look in a matrix: on a terminal and on the page alike.

import type { CaseVerdict } from '../contract/core/exploration.ts'
/** The sign of a verdict, and whether it is good news, bad news, or to be looked at. */
export interface CaseStyle {
  sign: string
  tone: 'good' | 'bad' | 'warning' | 'none'
}

/** The look of each verdict. */
export const CASE_STYLES: Readonly<Record<CaseVerdict, CaseStyle>> = {
  tolerated: { sign: '+', tone: 'good' },
  failed: { sign: 'F', tone: 'bad' },
  crashed: { sign: 'C', tone: 'bad' },
  hung: { sign: 'H', tone: 'bad' },
  swallowed: { sign: 's', tone: 'warning' },
  misbehaved: { sign: 'm', tone: 'bad' },
  'not-applied': { sign: '-', tone: 'none' },
  accepted: { sign: 'a', tone: 'none' },
}

/** Stands for a cell that can happen and was not tried. */
export const LEFT_OUT = '?'

/** Stands behind the sign of a cell that was not run by itself, because the run of another one proves it. */
export const DERIVED = '*'
