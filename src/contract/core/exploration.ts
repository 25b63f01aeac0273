// The result of an exploration: injection points, the result of each case, and the coverage.
import type { OutcomeKind } from './outcome-kind.ts'
import type { VerdictResult } from './verification.ts'

/** The failure modes: what a gateway can do to a client. */
export const FAILURE_MODES = [
  'rate-limit-once',
  'rate-limit-forever',
  'server-error-once',
  'server-error-forever',
  'auth',
  'context-length',
  'content-filter',
  'timeout',
  'reset',
  'cut-stream',
  'stall',
  'in-band-error',
  'malformed-chunk',
  'empty-response',
  'invalid-json',
  'wrong-arguments',
  'tool-failure',
] as const
/** Name of a failure mode: a column of an exploration. */
export type FailureModeName = (typeof FAILURE_MODES)[number]

/**
 * The results of a case.
 * `tolerated`: the client coped, and the failed request got a response in the end. `failed-cleanly`: the command failed
 * as it should, because nothing else was possible: it repeated nothing that must not be repeated, and its output shows
 * the error. `failed`: the command failed although it need not, or not cleanly.
 * `hung`: it took far longer than the baseline. `crashed`: a signal ended it. `swallowed`: the error reached the
 * client, the request never got a response, and all tests passed. `misbehaved`: it coped, but incorrectly, such as by
 * an early retry. `not-applied`: the fault was not triggered. `accepted`: a failure that the file of known failures
 * lists.
 */
export const VERDICTS = [
  'tolerated',
  'failed-cleanly',
  'failed',
  'crashed',
  'hung',
  'swallowed',
  'misbehaved',
  'not-applied',
  'accepted',
] as const
/** The result of one case. */
export type CaseVerdict = (typeof VERDICTS)[number]

/** A kind of call that the command makes. */
export interface InjectionPoint {
  /** As in the header `x-understudy-call-site`. */
  id: string
  /** The id without its number, shared by all calls of its kind. */
  kind: string
  session: string
  operation: string
  /** The operation as its API names it: a chat completion at `/v1/messages` is `messages`. */
  name: string
  stream: boolean
  model: string | null
  /** Number of user messages. */
  turn: number
  /** Number among those of its kind, from 1. */
  nth: number
  /** Whether it occurred in only one of the baseline runs. */
  unstable: boolean
  /** Whether it occurred only in runs with a fault. */
  discovered: boolean
  /** Whether tools are offered, whether JSON is required, and which agent is called. */
  offersTools: boolean
  demandsJson: boolean
  agent: string | null
  /** The first words of its prompt, redacted; empty without one. */
  prompt: string
  /** For people: name, number among the calls of the baseline run, and the first words of its prompt. */
  label: string
}

/** A scenario as a file contains it. */
export interface WrittenScenario {
  name: string
  description: string
  clock: 'real' | 'virtual'
  latency?: 'real' | 'skip'
  rules: Record<string, unknown>[]
}

/** What can be wrong with a program, the worst first. */
export const PROBLEM_KINDS = [
  'duplicate-side-effect',
  'lost-work',
  'swallowed',
  'hung',
  'crashed',
  'misbehaved',
  'failed',
  'long-timeout',
  'silent-failure',
  'not-tolerated',
] as const
/** A kind of problem: the last three are warnings. */
export type ProblemKind = (typeof PROBLEM_KINDS)[number]
/** Errors fail an exploration, warnings do not. */
export const PROBLEM_SEVERITIES = ['error', 'warning'] as const
/** How bad a problem is. */
export type ProblemSeverity = (typeof PROBLEM_SEVERITIES)[number]

/** A mistake that a program makes under a fault, whatever its tests say. */
export interface CaseMistake {
  /** A finding, or a sign such as `tool-repeated`. */
  kind: string
  /** What tells its causes apart, such as the wrong model of a fallback; empty if only the call does. */
  about: string
}

/** A case with its result. */
export interface CaseResult {
  /** Id of the injection point. For a pair, it is `<first>+<second>`, and so is the class. */
  point: string
  class: string
  verdict: CaseVerdict
  /** What happened, or why the fault was not triggered. */
  why: string
  /** The worst mistake of the program, also if the command failed or hung; null if there is none. */
  mistake: CaseMistake | null
  /** The calls that are the evidence. */
  traces: string[]
  /** The stored calls of its session in the run that is the evidence. */
  calls: string[]
  /** Number of its other calls, which are not stored: there are very many. */
  unstored: number
  /** The scenario that reproduces it; null if there is none. */
  scenario: WrittenScenario | null
  /** The last output of the command, without secrets; null if it was not run. */
  output: string | null
  /** The exit code of the command; null if it was not run. */
  code: number | null
  tookMs: number | null
  /** Whether the verdict is that of another run, which was identical for the client. */
  derived: boolean
}

/** One thing that is wrong with a program, with all cases that show it. */
export interface ExploreProblem {
  kind: ProblemKind
  severity: ProblemSeverity
  /** What happened in the first case. */
  why: string
  /** The labels of the calls, that of the first case first. */
  calls: string[]
  /** The failure modes, in the same order. */
  classes: string[]
  /** The cases, the worst first. */
  cases: Pick<CaseResult, 'point' | 'class'>[]
}

/** The name of a case, for files and people. */
export const caseName = ({ point, class: name }: Pick<CaseResult, 'point' | 'class'>): string => `${point}-${name}`

/** A case that is applicable and was not run. */
export interface SkippedCase {
  point: string
  class: string
  /**
   * `time`: the time was up, or the user stopped the run. `similar`: its call is one of very many similar ones, of
   * which some were tested.
   */
  why: 'time' | 'similar'
}

/** A part of a whole. */
interface Share {
  of: number
  all: number
}

/** The three coverage numbers. */
export interface CoverageNumbers {
  /** Injected faults of the applicable ones. */
  delivered: Share
  /** Tolerated faults of the injected ones. */
  tolerated: Share
  /** Exercised recovery paths of the configured ones. */
  recoveryPaths: Share
}

/** Which attempts a fault affects. */
export const ROUTE_TARGETS = ['once', 'primary', 'every'] as const
/** How many attempts a fault affects: the first one, all at the first target, or all at every target. */
export type RouteTarget = (typeof ROUTE_TARGETS)[number]

/** What a client receives when a provider fails in one way. */
export interface RouteOutcome {
  fault: string
  /** Which attempts fail: the first one, all at the first target, or all. */
  target: RouteTarget
  outcome: OutcomeKind
  status: number
  attempts: number
}

/** A configuration with the outcome of each fault. */
export interface RouteTable {
  route: string
  outcomes: RouteOutcome[]
}

/** A call of a run beside that of the baseline run. */
export interface CallDifference {
  /** Its trace; null if only the baseline run has it. */
  call: string | null
  /** The trace of the baseline run; null if only this run has it. */
  baseline: string | null
  change: 'same' | 'changed' | 'added' | 'missing'
  /** What has changed. */
  details: string[]
}

/** A case as the page shows it. */
export interface ReportedCase extends Omit<CaseResult, 'mistake' | 'scenario'> {
  /** The calls into which the fault was injected. */
  broken: string[]
  /** Its calls beside those of the baseline run; null if not all calls of both are stored. */
  difference: CallDifference[] | null
  /** Whether it printed what the baseline run printed, apart from times. */
  sameOutput: boolean
  /** Its scenario as YAML; null if it cannot be reproduced. */
  scenario: string | null
  /** The command that reproduces it. */
  repeat: string
  /** The command that reproduces it by its scenario file, without the baseline; null if none does. */
  repeatScenario: string | null
}

/** An exploration as the page shows it. */
export interface ExplorationData {
  /** The command line. */
  command: string
  verdict: VerdictResult
  /** Why it is inconclusive; empty if it is conclusive. */
  inconclusive: readonly string[]
  /** The calls of APIs that are not emulated, as lines. */
  notEmulated: readonly string[]
  /** The baseline run. */
  baseline: { output: string; code: number; tookMs: number } | null
  points: Pick<
    InjectionPoint,
    'id' | 'operation' | 'stream' | 'model' | 'session' | 'turn' | 'nth' | 'unstable' | 'discovered' | 'label'
  >[]
  /** Names of all failure modes, in the order in which they are tested. */
  classes: readonly FailureModeName[]
  cells: ReportedCase[]
  /** The problems, each with the command that reproduces its first case. */
  problems: (ExploreProblem & { command: string })[]
  /** Cases that were not run because the time was up. */
  skipped: SkippedCase[]
  /**
   * Number of cases that were not run because their calls are among very many similar ones, which are not in `points`.
   */
  similar: number
  /** Calls of a baseline run whose traces were dropped or deleted. */
  dropped: number
  /** Known failures that no longer occur. */
  fixed: { point: string; class: string }[]
  coverage: CoverageNumbers
  routes: RouteTable[]
  runs: number
  saved: number
  quietMs: number
  limitMs: number
}
