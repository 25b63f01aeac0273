// What an exploration finds: the points of a program, what becomes of each break that is tried, and the figures of it all.
import type { OutcomeKind } from './trace.ts'

/** The kinds of outcome that a gateway can give a client, as their cells are named. */
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
 * What becomes of a cell. `tolerated`: the client coped: what was broken was answered in the end. `failed`: the command failed. `hung`: it took far longer than without the
 * fault. `crashed`: a signal ended it. `swallowed`: the error reached the client, the request was never
 * answered, and all tests passed. `misbehaved`: it coped, but not as it should, such as by calling again too early. `not-applied`: the fault did not
 * act. `accepted`: one of the bad ones, which the file of known cells names.
 */
export const VERDICTS = [
  'tolerated',
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

/** One of the calls that the command makes. */
export interface InjectionPoint {
  /** As the header `x-understudy-call-site` says it. */
  id: string
  /** The same without its number: what all calls of its kind share. */
  kind: string
  session: string
  operation: string
  stream: boolean
  model: string | null
  /** User messages so far. */
  turn: number
  /** How many of its kind came before, from 1. */
  nth: number
  /** It came in one of the quiet runs alone. */
  unstable: boolean
  /** It came under a fault alone. */
  discovered: boolean
  /** Whether tools are offered, JSON is demanded, and which agent is called. */
  offersTools: boolean
  demandsJson: boolean
  agent: string | null
}

/** A scenario as a file says it. */
export interface WrittenScenario {
  name: string
  description: string
  clock: 'real' | 'virtual'
  latency?: 'real' | 'skip'
  rules: Record<string, unknown>[]
}

/** A cell with what became of it. */
export interface CaseResult {
  /** Id of the point; of a pair `<first>+<second>`, and so is the class. */
  point: string
  class: string
  verdict: CaseVerdict
  /** In words: what happened, or why the fault did not act. */
  why: string
  /** The calls that show it. */
  traces: string[]
  /** All calls of its session in the run that shows it. */
  calls: string[]
  /** The scenario that repeats it; null when there is nothing to repeat. */
  scenario: WrittenScenario | null
  /** What the command printed last; null of what was not run. */
  output: string | null
  tookMs: number | null
  /** Whether the verdict is that of another run, which was the same for the client. */
  derived: boolean
}

/** The name of a cell, for files and people. */
export const caseName = ({ point, class: name }: Pick<CaseResult, 'point' | 'class'>): string => `${point}-${name}`

/** A cell that can happen and was not tried. */
export interface SkippedCase {
  point: string
  class: string
  /** `time`: the time was up, or somebody asked for the end. `similar`: its call is one of very many alike, of which some were broken. */
  why: 'time' | 'similar'
}

/** So many of so many. */
interface Share {
  of: number
  all: number
}

/** The three numbers. */
export interface CoverageNumbers {
  /** Faults that acted, of those that can happen. */
  delivered: Share
  /** Those that the program held, of those that acted. */
  held: Share
  /** Ways through the gateway that calls took, of those that they configure. */
  recoveryPaths: Share
}

/** How far a fault goes. */
export const ROUTE_TARGETS = ['once', 'primary', 'every'] as const
/** How many attempts a fault affects: the first one, all at the first target, or all at every target. */
export type RouteTarget = (typeof ROUTE_TARGETS)[number]

/** What a client hears when a provider fails in one way. */
export interface RouteOutcome {
  fault: string
  /** How far it goes: the first try of the first target, that target, or all of them. */
  target: RouteTarget
  outcome: OutcomeKind
  status: number
  attempts: number
}

/** A configuration with what becomes of each fault. */
export interface RouteTable {
  route: string
  outcomes: RouteOutcome[]
}

/** A cell as the page shows it. */
export interface ReportedCase
  extends Pick<
    CaseResult,
    'point' | 'class' | 'verdict' | 'why' | 'traces' | 'calls' | 'output' | 'tookMs' | 'derived'
  > {
  /** Its scenario as YAML; null when there is nothing to repeat. */
  scenario: string | null
  /** The command that plays it again; null as well when there is nothing to repeat. */
  repeat: string | null
  /** Whether the scenario was written to the file that the command names. */
  written: boolean
}

/** An exploration as the page shows it. */
export interface ExplorationData {
  /** As it was typed. */
  command: string
  points: Pick<
    InjectionPoint,
    'id' | 'operation' | 'stream' | 'model' | 'session' | 'turn' | 'nth' | 'unstable' | 'discovered'
  >[]
  /** Names of all classes, in the order in which they are tried. */
  classes: readonly FailureModeName[]
  cells: ReportedCase[]
  /** Cells that were not tried because the time was up. */
  left: SkippedCase[]
  /** How many cells were not tried because their calls are among very many alike: those calls are not in `points`. */
  alike: number
  /** Calls of a run without faults whose traces were dropped or deleted. */
  dropped: number
  /** Entries of the known cells that meet no bad cell any more. */
  mended: { point: string; class: string }[]
  coverage: CoverageNumbers
  routes: RouteTable[]
  runs: number
  saved: number
  quietMs: number
  limitMs: number
}
