// The failure modes: the fault that represents each at the gateway, and the points at which it applies.
import { FAILURE_MODES, type FailureModeName, type InjectionPoint } from '../contract/core/exploration.ts'

/**
 * What a good program makes of a failure mode.
 * `recoverable`: it tolerates it. `terminal`: nothing helps but another provider, so it tolerates it or fails cleanly.
 * `content`: the response itself is broken. Tolerating is best; failing cleanly is a warning, because most SDKs do not
 * retry these.
 */
export type FailureNature = 'recoverable' | 'terminal' | 'content'

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

const TABLE: Readonly<Record<FailureModeName, Omit<FailureMode, 'name' | 'at'>>> = {
  'rate-limit-once': { nature: 'recoverable', meets: 'one', excludes: ofModels, fault: limit },
  'rate-limit-forever': { nature: 'terminal', meets: 'all', once: 'rate-limit-once', excludes: ofModels, fault: limit },
  'server-error-once': { nature: 'recoverable', meets: 'one', excludes: ofModels, fault: failure },
  'server-error-forever': {
    nature: 'terminal',
    meets: 'all',
    once: 'server-error-once',
    excludes: ofModels,
    fault: failure,
  },
  auth: { nature: 'terminal', meets: 'all', final: true, excludes: ofModels, fault: { type: 'auth-failure' } },
  'context-length': {
    nature: 'terminal',
    meets: 'all',
    final: true,
    excludes: ofTexts,
    fault: { type: 'context-length' },
  },
  'content-filter': {
    nature: 'terminal',
    meets: 'all',
    excludes: ofTexts,
    fault: { type: 'content-filter', as: 'finish' },
  },
  timeout: { nature: 'recoverable', meets: 'one', excludes: ofModels, fault: { type: 'hang' } },
  reset: { nature: 'recoverable', meets: 'one', excludes: ofModels, fault: { type: 'reset' } },
  'cut-stream': {
    nature: 'content',
    meets: 'one',
    excludes: ofStreams,
    fault: { type: 'cut-stream', after_chunks: CHUNKS },
  },
  stall: {
    nature: 'content',
    meets: 'one',
    excludes: ofStreams,
    fault: { type: 'stall-stream', after_chunks: CHUNKS },
  },
  'in-band-error': {
    nature: 'content',
    meets: 'one',
    excludes: ofStreams,
    fault: { type: 'stream-error', after_chunks: CHUNKS },
  },
  'malformed-chunk': {
    nature: 'content',
    meets: 'one',
    excludes: ofStreams,
    fault: { type: 'malformed-chunk', after_chunks: CHUNKS },
  },
  'empty-response': { nature: 'content', meets: 'one', excludes: ofModels, fault: { type: 'empty-body' } },
  'invalid-json': { nature: 'content', meets: 'one', excludes: ofJson, fault: { type: 'malformed-content' } },
  'wrong-arguments': { nature: 'content', meets: 'one', excludes: ofTools, fault: { type: 'tool-wrong-arguments' } },
  'tool-failure': { nature: 'content', meets: 'one', excludes: ofAgents, fault: { type: 'tool-error' } },
}

/** The most informative come first: an exhausted budget omits the least. */
const ORDER: readonly FailureModeName[] = [
  'server-error-once',
  'cut-stream',
  'timeout',
  'rate-limit-once',
  'invalid-json',
  'tool-failure',
  'wrong-arguments',
  'empty-response',
  'in-band-error',
  'server-error-forever',
  'context-length',
  'reset',
  'content-filter',
  'stall',
  'auth',
  'malformed-chunk',
  'rate-limit-forever',
]

const classOf = (name: FailureModeName): FailureMode => ({
  name,
  at: name === 'tool-failure' ? 'tool' : 'gateway',
  ...TABLE[name],
})

/** All failure modes, in the order in which they are tested. */
export const failureModes: readonly FailureMode[] = ORDER.map(classOf)

const BY_NAME = new Map(FAILURE_MODES.map((name) => [name, classOf(name)]))
/** The failure mode with a name. */
export function failureMode(name: FailureModeName): FailureMode {
  const found = BY_NAME.get(name)
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
