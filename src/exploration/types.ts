// Types of explorations: observed runs, and the results of cases.
import type { FailureModeName, InjectionPoint } from '../contract/core/exploration.ts'
import type { Finding } from '../contract/core/finding.ts'
import type { TraceRecord } from '../contract/core/trace.ts'
import type { RuleReport } from '../contract/core/verification.ts'
import type { ClientCall } from '../verdict/client-call.ts'
import type { RecoveryPathCounts } from './recovery-paths.ts'
import type { RequestFacts } from './requests.ts'

/** A routing configuration, with a call that has it. */
export interface RouteSample {
  /** As text. */
  name: string
  path: string
  request: unknown
  plan: readonly string[]
}

/** One call as observed in a run. */
export interface ObservedCall {
  point: Omit<InjectionPoint, 'unstable' | 'discovered' | 'label'>
  trace: TraceRecord
  request: RequestFacts
  /** As verdicts on clients see it. */
  client: ClientCall
}

/** One observed run of the command. */
export interface ObservedRun {
  /** Exit code of the command; 128 plus the signal's number if a signal ended it. */
  code: number
  /** Whether it was ended by a signal that this program did not send. */
  crashed: boolean
  /** Whether it was ended because it took too long. */
  timedOut: boolean
  /** The user requested the end. */
  stopped: boolean
  tookMs: number
  /** The client's calls, by session in order of arrival. */
  calls: ObservedCall[]
  /** Ids of the calls that are stored after the run: of very many calls only some are. */
  kept: ReadonlySet<string>
  /** Number of traces that were dropped, or deleted as by a reset: nothing is known about those calls. */
  dropped: number
  findings: { session: string; finding: Finding }[]
  /** The results of the scenario's rules, over all sessions. */
  rules: RuleReport[]
  /** Recovery paths that its calls configure, with how often each was exercised. */
  recoveryPaths: RecoveryPathCounts
  /** The routing configurations of its calls. */
  routes: RouteSample[]
  /** The end of what it printed, without secrets. */
  output: string
}

/** One case: a failure mode at a point, or a second one after it. */
export interface ExploreCase {
  point: InjectionPoint
  class: FailureModeName
  /** At depth 2: the failure before it. */
  after?: { point: InjectionPoint; class: FailureModeName }
}
