// The failure modes: the fault that represents each at the gateway, and the points at which it applies.
import {
  caseName,
  type FailureModeName,
  type InjectionPoint,
  type WrittenScenario,
} from '../contract/core/exploration.ts'
import { lazy } from '../lib/lazy.ts'
import type { ScenarioFile } from '../scenarios/schema.ts'
import { kindMatch } from './injection-points.ts'
import type { ExploreCase } from './types.ts'

const format = lazy<typeof import('../scenarios/schema.ts')>(() => require('../scenarios/schema.ts'))

/**
 * What a good program makes of a failure mode.
 * `recoverable`: it tolerates it. `terminal`: nothing helps but another provider, so it tolerates it or fails cleanly.
 * `content`: the response itself is broken. Tolerating is best; failing cleanly is a warning, because most SDKs do not
 * retry these.
 */
type FailureNature = 'recoverable' | 'terminal' | 'content'

/** A failure mode. */
interface FailureMode {
  name: FailureModeName
  nature: FailureNature
  /** The affected calls of the point's kind: the one at the point, or all from there on. */
  meets: 'one' | 'all'
  /** The failure mode that affects only the first of these calls. */
  once?: FailureModeName
  /** Whether the response tells that a retry would fail in the same way. */
  final?: true
  /** Why it does not apply at a point; undefined if it does. */
  excludes(point: InjectionPoint): string | undefined
  at: 'gateway' | 'tool'
  /** The fault as in a scenario file. */
  fault: Readonly<Record<string, unknown>>
}

type Exclusion = FailureMode['excludes']
/** Operations whose responses are texts. */
const WRITES = ['chat.completions', 'completions', 'responses']
const ofModels: Exclusion = ({ agent }) => (agent === null ? undefined : 'the call goes to an agent, not to a model')
const ofTexts: Exclusion = (point) =>
  ofModels(point) ?? (WRITES.includes(point.operation) ? undefined : 'the response is not text')
const ofStreams: Exclusion = (point) => ofModels(point) ?? (point.stream ? undefined : 'the response is not a stream')
const ofTools: Exclusion = (point) => ofTexts(point) ?? (point.offersTools ? undefined : 'the request offers no tools')
const ofJson: Exclusion = (point) =>
  ofTexts(point) ?? (point.demandsJson ? undefined : 'the request does not ask for JSON')
const ofAgents: Exclusion = ({ agent }) => (agent === null ? 'the call does not go to an agent' : undefined)

/**
 * The `Retry-After` for clients, and the number of events before a stream is truncated: small, since the waits are
 * real.
 */
const WAIT = '1s'
const CHUNKS = 2
const limit = { type: 'rate-limit', requests: 0, per: WAIT }
const failure = { type: 'http-error', status: 500 }

type Row = Omit<FailureMode, 'name' | 'at'>
const single =
  (nature: FailureNature) =>
  (excludes: Exclusion, fault: FailureMode['fault']): Row => ({ nature, meets: 'one', excludes, fault })
const [recoverable, content] = [single('recoverable'), single('content')]
const terminal = (excludes: Exclusion, fault: FailureMode['fault'], more: Pick<Row, 'once' | 'final'> = {}): Row => ({
  nature: 'terminal',
  meets: 'all',
  excludes,
  fault,
  ...more,
})

/** The most informative come first: an exhausted budget omits the least. */
const TABLE: Readonly<Record<FailureModeName, Row>> = {
  'server-error-once': recoverable(ofModels, failure),
  'cut-stream': content(ofStreams, { type: 'cut-stream', after_chunks: CHUNKS }),
  timeout: recoverable(ofModels, { type: 'hang' }),
  'rate-limit-once': recoverable(ofModels, limit),
  'invalid-json': content(ofJson, { type: 'malformed-content' }),
  'tool-failure': content(ofAgents, { type: 'tool-error' }),
  'wrong-arguments': content(ofTools, { type: 'tool-wrong-arguments' }),
  'empty-response': content(ofModels, { type: 'empty-body' }),
  'in-band-error': content(ofStreams, { type: 'stream-error', after_chunks: CHUNKS }),
  'server-error-forever': terminal(ofModels, failure, { once: 'server-error-once' }),
  'context-length': terminal(ofTexts, { type: 'context-length' }, { final: true }),
  reset: recoverable(ofModels, { type: 'reset' }),
  'content-filter': terminal(ofTexts, { type: 'content-filter', as: 'finish' }),
  stall: content(ofStreams, { type: 'stall-stream', after_chunks: CHUNKS }),
  auth: terminal(ofModels, { type: 'auth-failure' }, { final: true }),
  'malformed-chunk': content(ofStreams, { type: 'malformed-chunk', after_chunks: CHUNKS }),
  'rate-limit-forever': terminal(ofModels, limit, { once: 'rate-limit-once' }),
}

/** All failure modes, in the order in which they are tested. */
export const failureModes: readonly FailureMode[] = Object.entries(TABLE).map(([name, mode]) => ({
  name: name as FailureModeName,
  at: name === 'tool-failure' ? 'tool' : 'gateway',
  ...mode,
}))

/** The failure mode with a name. */
export function failureMode(name: FailureModeName): FailureMode {
  const found = failureModes.find((mode) => mode.name === name)
  if (!found) throw new Error(`unknown failure mode ${name}`)
  return found
}

/**
 * The nature of a case's failure; of a pair, what is expected after both: only if both are recoverable must the program
 * tolerate them.
 */
export function failureNature(className: string): FailureNature {
  const natures = className.split('+').map((name) => failureMode(name as FailureModeName).nature)
  return (
    natures.find((nature) => nature === 'terminal') ?? natures.find((nature) => nature === 'content') ?? 'recoverable'
  )
}

// The scenario of a case: the shortest file that injects a failure at a point, as exec runs it.

/** The ids of a case; those of a pair joined. */
export const caseId = ({ point, class: name, after }: ExploreCase): { point: string; class: string } =>
  after ? { point: `${after.point.id}+${point.id}`, class: `${after.class}+${name}` } : { point: point.id, class: name }

/** The name of a case to run. */
export const caseLabel = (exploreCase: ExploreCase): string => caseName(caseId(exploreCase))

/**
 * The rule that injects a failure mode at a point.
 * @param times for a failure mode that affects all calls: how many from the point on; default: all
 */
function ruleOf(point: InjectionPoint, name: FailureModeName, times?: number): WrittenScenario['rules'][number] {
  const { meets, at, fault } = failureMode(name)
  const rule = { name: `${name} at ${point.id}`, at, fault }
  if (meets === 'one' || times === 1) return { ...rule, match: { call_site: point.id } }
  const last = times === undefined ? '+' : `-${point.nth + times - 1}`
  const from = point.nth === 1 && times === undefined ? {} : { when: { calls: `${point.nth}${last}` } }
  return { ...rule, match: { call_site: kindMatch(point) }, ...from }
}

/** The scenario of a case; `times` as for one rule. */
export function scenarioOf(cell: ExploreCase, times?: number): WrittenScenario {
  const { point, class: name, after } = cell
  const id = caseId(cell)
  return {
    name: `${id.point}-${id.class}`.replace(/[^\w.-]+/g, '-'),
    description: `${after ? `${after.class} at ${after.point.id}, then ` : ''}${name} at ${point.id}`,
    clock: 'real',
    rules: [...(after ? [ruleOf(after.point, after.class)] : []), ruleOf(point, name, times)],
  }
}

/** The scenario in the format of files. */
export const toScenarioFile = (written: WrittenScenario): ScenarioFile => format().ScenarioFile.parse(written)
