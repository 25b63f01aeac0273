// The classes of outcome: the fault at the gateway's door that stands for each, and the points at which it can happen.
import { CLASS_NAMES, type ClassName, type Point } from '../contract/core/exploration.ts'

/** A class of outcome. */
interface OutcomeClass {
  name: ClassName
  /** Which calls of the point's kind it meets: the one at the point, or all from there on. */
  meets: 'one' | 'all'
  /** The class that meets only the first call of those that this one meets. */
  once?: ClassName
  /** Whether the answer says that the same call would come to the same again. */
  final?: true
  /** Why it cannot happen at a point; undefined where it can. */
  excludes(point: Point): string | undefined
  at: 'gateway' | 'tool'
  /** As a scenario file says it. */
  fault: Readonly<Record<string, unknown>>
}

type Exclusion = OutcomeClass['excludes']
/** Operations whose answers are texts. */
const WRITES = ['chat.completions', 'completions', 'responses']
const ofModels: Exclusion = ({ agent }) => (agent === null ? undefined : 'the call goes to an agent, not to a model')
const ofTexts: Exclusion = (point) =>
  ofModels(point) ?? (WRITES.includes(point.operation) ? undefined : 'the response is not text')
const ofStreams: Exclusion = (point) => ofModels(point) ?? (point.stream ? undefined : 'the response is not a stream')
const ofTools: Exclusion = (point) =>
  ofTexts(point) ??
  (point.offersTools ? (point.stream ? 'the response is a stream' : undefined) : 'the request offers no tools')
const ofJson: Exclusion = (point) =>
  ofTexts(point) ?? (point.demandsJson ? undefined : 'the request does not ask for JSON')
const ofAgents: Exclusion = ({ agent }) => (agent === null ? 'the call does not go to an agent' : undefined)

/** How long a client is told to wait, and after how many events a stream is broken: short, since the waits are real. */
const WAIT = '1s'
const CHUNKS = 2
const limit = { type: 'rate-limit', requests: 0, per: WAIT }
const failure = { type: 'http-error', status: 500 }

const TABLE: Readonly<Record<ClassName, Omit<OutcomeClass, 'name' | 'at'>>> = {
  'rate-limit-once': { meets: 'one', excludes: ofModels, fault: limit },
  'rate-limit-forever': { meets: 'all', once: 'rate-limit-once', excludes: ofModels, fault: limit },
  'server-error-once': { meets: 'one', excludes: ofModels, fault: failure },
  'server-error-forever': { meets: 'all', once: 'server-error-once', excludes: ofModels, fault: failure },
  auth: { meets: 'all', final: true, excludes: ofModels, fault: { type: 'auth-failure' } },
  'context-length': { meets: 'all', final: true, excludes: ofTexts, fault: { type: 'context-length' } },
  'content-filter': { meets: 'all', excludes: ofTexts, fault: { type: 'content-filter', as: 'finish' } },
  timeout: { meets: 'one', excludes: ofModels, fault: { type: 'hang' } },
  reset: { meets: 'one', excludes: ofModels, fault: { type: 'reset' } },
  'cut-stream': { meets: 'one', excludes: ofStreams, fault: { type: 'cut-stream', after_chunks: CHUNKS } },
  stall: { meets: 'one', excludes: ofStreams, fault: { type: 'stall-stream', after_chunks: CHUNKS } },
  'in-band-error': { meets: 'one', excludes: ofStreams, fault: { type: 'stream-error', after_chunks: CHUNKS } },
  'malformed-chunk': { meets: 'one', excludes: ofStreams, fault: { type: 'malformed-chunk', after_chunks: CHUNKS } },
  'empty-response': { meets: 'one', excludes: ofModels, fault: { type: 'empty-body' } },
  'invalid-json': { meets: 'one', excludes: ofJson, fault: { type: 'malformed-content' } },
  'wrong-arguments': { meets: 'one', excludes: ofTools, fault: { type: 'tool-wrong-arguments' } },
  'tool-failure': { meets: 'one', excludes: ofAgents, fault: { type: 'tool-error' } },
}

/** Those that tell most come first: a budget that runs out leaves the least. */
const ORDER: readonly ClassName[] = [
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

const classOf = (name: ClassName): OutcomeClass => ({
  name,
  at: name === 'tool-failure' ? 'tool' : 'gateway',
  ...TABLE[name],
})

/** All classes, in the order in which they are tried. */
export const outcomeClasses: readonly OutcomeClass[] = ORDER.map(classOf)

const BY_NAME = new Map(CLASS_NAMES.map((name) => [name, classOf(name)]))
/** The class of a name. */
export function outcomeClass(name: ClassName): OutcomeClass {
  const found = BY_NAME.get(name)
  if (!found) throw new Error(`unknown failure mode ${name}`)
  return found
}
