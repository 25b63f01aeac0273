// What a scenario needs of the calls under it before it can prove anything, such as several calls or a stream.
import type { TraceRecord } from '../contract/trace.ts'
import type { Scenario } from '../scenarios/engine.ts'

/** What a session shows of the calls that were made under a scenario. */
export interface NeedEvidence {
  /** The calls that the client made, in the order in which they began. */
  traces: readonly TraceRecord[]
}

/** One thing that a scenario can need. */
interface Need {
  /** What is missing, after "this scenario needs". */
  text: string
  isNeeded(scenario: Scenario): boolean
  isMet(evidence: NeedEvidence): boolean
}

/** All needs that are known, one entry each. */
const NEEDS: readonly Need[] = []

/**
 * Why the calls of a session cannot prove anything about this scenario, such as `this scenario needs several calls`;
 * empty when it has what it needs.
 */
export const unmetNeeds = (scenario: Scenario, evidence: NeedEvidence): string[] =>
  NEEDS.filter((need) => need.isNeeded(scenario) && !need.isMet(evidence)).map(
    ({ text }) => `this scenario needs ${text}`,
  )
