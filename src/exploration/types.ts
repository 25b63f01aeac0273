// Types of explorations: observed runs, and the results of cases.
import type { FailureModeName, InjectionPoint } from '../contract/core/exploration.ts'
import type { ClientTimeout, Finding } from '../contract/core/finding.ts'
import type { RuleReport } from '../contract/core/rule-report.ts'
import type { TraceRecord } from '../contract/core/trace.ts'
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

/** Why a run was ended that did not end by itself. */
export interface Hang {
  /**
   * `silent`: nothing happened for too long. `endless`: it repeated one request too often. `long`: the whole run took
   * too long.
   */
  kind: 'silent' | 'endless' | 'long'
  /** Milliseconds since the last activity of the client. */
  silentMs: number
  /** The most frequent request, and how often it was made. */
  repeats: number
  /** Whether a call was in progress. */
  isOpen: boolean
  /** The timeout of the client if it is longer than those that are waited for. */
  timeout?: ClientTimeout
}

/** One observed run of the command. */
export interface ObservedRun {
  /** Exit code of the command; 128 plus the signal's number if a signal ended it. */
  code: number
  /** Whether it was ended by a signal that this program did not send. */
  crashed: boolean
  /** Set if it was ended because it hung. */
  hang?: Hang | undefined
  /** The user requested the end. */
  stopped: boolean
  /** It was ended because the time of the exploration was up: nothing is known about it. */
  canceled: boolean
  /** Whether the command ended and left processes running. They were ended. */
  leftProcesses: boolean
  tookMs: number
  /** Milliseconds of the longest time without any activity of the client. */
  longestPauseMs: number
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
