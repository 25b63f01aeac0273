// The words of exploration: what was seen of a run of the command, and what becomes of each break that was tried.
import type { Finding } from '../contract/finding.ts'
import type { TraceRecord } from '../contract/trace.ts'
import type { RuleReport } from '../contract/verification.ts'
import type { WayCounts } from './ways.ts'

/** The kinds of outcome that a gateway can give a client, as their cells are named. */
export const CLASS_NAMES = [
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
  'empty-answer',
  'bad-json',
  'wrong-arguments',
  'tool-failure',
] as const
export type ClassName = (typeof CLASS_NAMES)[number]

/**
 * What becomes of a cell. `held`: the client coped. `broke`: the command failed. `hung`: it took far longer than without the
 * fault. `crashed`: a signal ended it. `swallowed`: the error reached the client, nothing was called again, and all tests
 * passed. `misbehaved`: it coped, but not as it should, such as by calling again too early. `not-applied`: the fault did not
 * act. `accepted`: one of the bad ones, which the file of known cells names.
 */
export const VERDICTS = [
  'held',
  'broke',
  'crashed',
  'hung',
  'swallowed',
  'misbehaved',
  'not-applied',
  'accepted',
] as const
export type CellVerdict = (typeof VERDICTS)[number]

/** One of the calls that the command makes. */
export interface Point {
  /** As the header `x-understudy-point` says it. */
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
  point: Omit<Point, 'unstable' | 'discovered'>
  trace: TraceRecord
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
  /** The client's calls in the order in which they came. */
  calls: ObservedCall[]
  findings: { session: string; finding: Finding }[]
  /** What became of the rules of the scenario, over all sessions. */
  rules: RuleReport[]
  /** Ways through the gateway that its calls configure, with how often they were taken. */
  ways: WayCounts
  /** The routing configurations of its calls. */
  routes: RouteSample[]
  /** The last of what it has printed. */
  output: string
}

/** One break that is tried: a class at a point, or a second one after it. */
export interface Cell {
  point: Point
  class: ClassName
  /** At depth 2: what was broken before. */
  after?: { point: Point; class: ClassName }
}

/** A scenario as a file says it. */
export interface WrittenScenario {
  name: string
  description: string
  clock: 'real' | 'virtual'
  rules: Record<string, unknown>[]
}

/** A cell with what became of it. */
export interface CellResult {
  /** Id of the point; of a pair `<first>+<second>`, and so is the class. */
  point: string
  class: string
  verdict: CellVerdict
  /** In words: what happened, or why the fault did not act. */
  why: string
  /** The calls that show it. */
  traces: string[]
  /** The scenario that repeats it; null when there is nothing to repeat. */
  scenario: WrittenScenario | null
  /** What the command printed last; null of what was not run. */
  output: string | null
  tookMs: number | null
  /** Whether the verdict is that of another run, which was the same for the client. */
  derived: boolean
}

/** The name of a cell, for files and people. */
export const cellName = ({ point, class: name }: Pick<CellResult, 'point' | 'class'>): string => `${point}-${name}`
