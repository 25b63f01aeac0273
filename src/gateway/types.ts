// What the steps of a call share: what came in, the way of one attempt, and what came of it.
import type { Backend } from '../contract/backend.ts'
import type { ConnectionFinder } from '../contract/connection.ts'
import type { ActiveScenario, FaultFacts } from '../contract/fault.ts'
import type { KeyValueEntry } from '../contract/key-value.ts'
import type { AnswerContext, Operation, Prompt } from '../contract/operation.ts'
import type { Caller } from '../contract/record.ts'
import type { Reply } from '../contract/reply.ts'
import type { GuardrailRecord, RetrievalRecord } from '../contract/trace.ts'
import type { ScenarioRuns } from '../scenarios/runs.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Failure } from './outcome.ts'
import type { Target } from './plan.ts'
import type { ReplyContent } from './read.ts'
import type { Settings } from './settings.ts'

/** One client request to an operation. */
export interface Call {
  operation: Operation
  session: Session
  /** Who calls, worked out when it is asked for. */
  caller(): Caller
  /** The body as it came; that of a form as the JSON of its fields. */
  text: string
  /** Whether the trace may keep the body and the answer. */
  retained: boolean
  /** The address that was called. */
  url: string
  headers: Headers
  /** Aborted when the client has gone. */
  signal: AbortSignal
  /** Finds the client's connection, for what cannot be said in HTTP. */
  hold?: ConnectionFinder | undefined
  /** Parses and validates the body; throws `ApiError`. */
  parse(): unknown
}

/** Knows the people on whose behalf calls are made. */
export interface People {
  /** Makes a person known to the workspace who is not yet; resolves when that is committed. */
  meet(identity: NonNullable<Settings['identity']>, call: Pick<Call, 'session' | 'caller'>): Promise<void>
}

/** What the gateway answers with. */
export interface Gateway {
  backend: Backend
  guardrails: GuardrailDirectory
  knowledge: KnowledgeDirectory
  runs: ScenarioRuns
  people: People
}

/** A call on its way: parsed, rendered, and with everything that its attempts share. */
export interface CallContext {
  operation: Operation
  session: Session
  request: object
  stream: boolean
  prompt: Prompt
  settings: Settings
  answerContext: AnswerContext
  /** Aborted when the client has gone. */
  signal: AbortSignal
  recording: TraceRecorder
  backend: Backend
  /** The scenario that is played, and what tells this call apart in it. */
  playing: ActiveScenario | undefined
  facts: Pick<FaultFacts, 'headers' | 'key' | 'text' | 'identity' | 'thread'>
}

/** Which try of which target, and what led to it. */
export interface AttemptInfo {
  target: Target
  /** 1, 2, ... of this target. */
  number: number
  why: 'first' | 'retry' | 'fallback'
  /** Milliseconds waited before it. */
  waited: number
}

/** An answer, whole or begun: from here on nothing is tried again. */
export interface AttemptAnswer {
  kind: 'answered'
  model: string
  content: ReplyContent
  from: Pick<Reply, 'headers' | 'usage' | 'fixture' | 'synthesized'>
  /** Absent when no attempt was made: the answer comes from the cache. */
  attempt?: AttemptRecorder
}

export type Outcome = AttemptAnswer | Failure

/** An attempt being recorded. */
export interface AttemptRecorder {
  contentBegan(): void
  /** Notes the reply's id of the provider. */
  replied(reply: Pick<Reply, 'headers'>): void
  /** Rules of the scenario that are applied to it. */
  readonly faults: string[]
  /** Notes how it ended; an answer when there is no failure. */
  end(failure?: Failure): void
}

/** How a call that was answered, at least in part, has ended. */
export interface CallResult {
  answer: AttemptAnswer
  /** The answer as JSON text. */
  text: string
  /** The token counts, when the answer itself says them. */
  usage?: Record<string, unknown> | null
  /** What cut it short. */
  failure?: Failure
  /** What it leaves for later calls; only a complete answer leaves anything. */
  keep?: readonly KeyValueEntry[]
}

/** A call being recorded. */
export interface TraceRecorder {
  readonly id: string
  /** The number of the call in its session. */
  readonly seq: number
  /** Milliseconds since the epoch at which the call began. */
  readonly started: number
  /** Notes what the body says, once it is parsed. */
  describe(request: object, settings: Settings): void
  /** Notes the request as it is sent on. */
  rendered(request: object): void
  plan(targets: readonly Target[]): void
  attempt(tried: AttemptInfo): AttemptRecorder
  /** Notes that the cache was asked, and the age in ms of what it had. */
  cache(key: string, age: number | undefined): void
  guardrail(verdict: GuardrailRecord): void
  retrieval(found: RetrievalRecord): void
  /** Notes the scenario that is played. */
  playing(scenario: ActiveScenario | undefined): void
  /** Rules of the scenario that are applied to what the client hears. */
  readonly faults: string[]
  /** Notes the answer that is told. */
  answered(answer: AttemptAnswer): void
  /** Saves the trace of a call that a fault answered; does nothing when the answer behind it was told to its end. */
  heard(reply: Pick<Reply, 'status' | 'headers'>): Promise<void>
  /** Notes the failure that the call will be refused with. */
  failed(failure: Failure): void
  /** Headers by which a client finds the trace and sees what happened. */
  headers(): Record<string, string>
  /** Saves the trace; resolves when it, and what the answer leaves, is committed. */
  end(ending: CallResult): Promise<void>
  /** Saves the trace of a call that is refused with an error, whose answer then has the headers. */
  refuse(error: unknown): Promise<void>
}

/** What goes with an answer: where it is stored when it is to be. */
export interface ReplyContext {
  callContext: CallContext
  cacheKey: string | undefined
}

/** What a guardrail looks at. */
export interface GuardrailInput {
  /** Texts of the stage: all of the user, or all of the answer. */
  texts: readonly string[]
  /** The user's last words. */
  input: string
  /** Aborted when nobody waits for the verdict any more. */
  signal: AbortSignal
}

/** What a guardrail makes of it. */
export type GuardrailVerdict = Pick<GuardrailRecord, 'outcome' | 'reason' | 'evaluation'>

/** One guardrail; throws `ApiError` when it cannot be run. */
export type GuardrailCheck = (judged: GuardrailInput) => Promise<GuardrailVerdict>

/** Knows guardrails by id. */
export interface GuardrailDirectory {
  /** The check of that id, undefined when nothing goes by it; `param` is where the call names it. Throws `ApiError` when it is of no use as one. */
  find(id: string, session: Session, param: string): Promise<GuardrailCheck | undefined>
  /** Ids that are built in. */
  ids(): readonly string[]
}

/** A guardrail that a call asks for. */
export interface CallGuardrail {
  id: string
  stage: 'input' | 'output'
  param: string
  check: GuardrailCheck
}

/** One chunk of a knowledge base that fits a query. */
export interface FoundChunk {
  id: string
  /** Higher is nearer, at most 1. */
  score: number
  text: string
}

/** How one knowledge base is searched. */
export type KnowledgeQuery = Settings['knowledge'][number] & { query: string; param: string }

/** Searches the knowledge bases of a session. */
export interface KnowledgeDirectory {
  /** The nearest chunks, best first; refuses a knowledge base that does not exist. */
  search(session: Session, query: KnowledgeQuery): Promise<FoundChunk[]>
}
