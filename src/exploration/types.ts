// The words of exploration: what was seen of a run of the command, and what becomes of each break that was tried.
import type { FailureModeName, InjectionPoint } from '../contract/core/exploration.ts'
import type { Finding } from '../contract/core/finding.ts'
import type { TraceRecord } from '../contract/core/trace.ts'
import type { RuleReport } from '../contract/core/verification.ts'
import type { ClientCall } from '../verdict/client-call.ts'
import type { RecoveryPathCounts } from './recovery-paths.ts'
import type { RequestFacts } from './requests.ts'

/** A routing configuration, with a call that has it. */
export interface RouteSample {
  /** In words. */
  name: string
  path: string
  request: unknown
  plan: readonly string[]
}

/** One call as a run saw it. */
export interface ObservedCall {
  point: Omit<InjectionPoint, 'unstable' | 'discovered'>
  trace: TraceRecord
  request: RequestFacts
  /** As the judge of clients sees it. */
  client: ClientCall
}

/** What was seen of one run of the command. */
export interface ObservedRun {
  /** Exit code of the command, the signal's number and 128 when one has ended it. */
  code: number
  /** Whether a signal that nobody here has sent has ended it. */
  crashed: boolean
  /** Whether it was ended because it took too long. */
  timedOut: boolean
  /** Somebody has asked for the end. */
  stopped: boolean
  tookMs: number
  /** The client's calls, by session in the order in which they came. */
  calls: ObservedCall[]
  /** Ids of the calls that are kept beyond the run: of very many calls not all are. */
  kept: ReadonlySet<string>
  /** How many traces were dropped, or deleted as by a reset: nothing is known of those calls. */
  dropped: number
  findings: { session: string; finding: Finding }[]
  /** What became of the rules of the scenario, over all sessions. */
  rules: RuleReport[]
  /** Ways through the gateway that its calls configure, with how often they were taken. */
  recoveryPaths: RecoveryPathCounts
  /** The routing configurations of its calls. */
  routes: RouteSample[]
  /** The last of what it has printed. */
  output: string
}

/** One break that is tried: a class at a point, or a second one after it. */
export interface ExploreCase {
  point: InjectionPoint
  class: FailureModeName
  /** At depth 2: what was broken before. */
  after?: { point: InjectionPoint; class: FailureModeName }
}
