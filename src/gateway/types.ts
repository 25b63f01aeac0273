// What the steps of a call share, and whom they ask.
import type { Backend } from '../contract/core/backend.ts'
import type { ApiError } from '../contract/core/error.ts'
import type { ActiveScenario, FaultFacts } from '../contract/core/fault.ts'
import type { HistoryMode } from '../contract/core/history-mode.ts'
import type { Observers } from '../contract/core/observation.ts'
import type { AnswerContext, Operation, Prompt } from '../contract/core/operation.ts'
import type { GuardrailRecord } from '../contract/core/trace.ts'
import type { ProviderNames } from '../providers/names.ts'
import type { ScenarioRuns } from '../scenarios/runs.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Call, CallOrigin, InnerAnswer, InnerCall } from './call.ts'
import type { Failure } from './outcome.ts'
import type { TraceRecorder } from './record/recording.ts'
import type { Settings } from './settings.ts'

/** Knows the people on whose behalf calls are made. */
export interface People {
  /** Makes a person known to the workspace who is not yet; resolves when that is committed. */
  meet(identity: NonNullable<Settings['identity']>, call: Pick<Call, 'session' | 'caller'>): Promise<void>
}

/** What the gateway answers with. */
export interface GatewayParts {
  backend: Backend
  guardrails: GuardrailDirectory
  knowledge: KnowledgeDirectory
  runs: ScenarioRuns
  people: People
  /** Longest that a client may read nothing of a stream, in ms. */
  clientTimeout: number
  /** Takes notice of bugs. */
  report(error: unknown): void
  observers: Observers
  /** Knows which providers a model id may name. */
  providers: ProviderNames
  history: HistorySettings
}

/** How conversations are judged that their providers would reject. */
export interface HistorySettings {
  mode: HistoryMode
  /** Whether a flag or variable says so, which is stronger than a scenario. */
  overrides: boolean
}

/** Answers calls and records them; user mistakes and the last failure are recorded too and thrown as `ApiError`. */
export interface Gateway extends GatewayParts {
  /** Answers a client. */
  handle(call: Call): Promise<Response>
  /**
   * Makes a call from inside, which meets all that a client's call meets; the faults between the gateway and its clients
   * do not act on it, since no client hears it.
   */
  call(inner: InnerCall): Promise<InnerAnswer>
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
  call: Call
  recording: TraceRecorder
  backend: Backend
  /** The scenario that is played, and what tells this call apart in it. */
  playing: ActiveScenario | undefined
  /** What happens to a conversation that its provider would reject. */
  history: HistoryMode
  facts: Pick<FaultFacts, 'headers' | 'key' | 'text' | 'identity' | 'thread' | 'inner' | 'agent' | 'point'>
}

/** How a call ended for who made it. */
export interface CallResult {
  status: number
  headers: Record<string, string>
  /** What cut it short. */
  failure?: Failure | undefined
  /** What it is refused with. */
  error?: ApiError
  /** Whether what was sent has been read: `failure` then says all, whatever became of the answer behind the faults. */
  read?: true
}

/** Ends one call. */
export interface CallEnd {
  /** Saves the trace, the first time; resolves when it is committed with what the answer leaves, with an error when it cannot be. */
  end(result: CallResult): Promise<ApiError | undefined>
  /** Saves the trace of a call that is refused; resolves with the error for the client, which leads to the trace. */
  refuse(error: unknown): Promise<ApiError>
}

/** What goes with an answer. */
export interface ReplyContext {
  callContext: CallContext
  /** Where it is stored when it is to be. */
  cacheKey: string | undefined
  /** Ends the call before the last event of a stream; absent when something else still comes between it and the client. */
  end?: CallEnd
  /** Whether events that are all there leave in one piece, once the call has ended. */
  atOnce?: true
}

/** What a guardrail looks at. */
export interface GuardrailInput {
  /** Texts of the stage: all of the user, or all of the answer. */
  texts: readonly string[]
  /** The user's last words. */
  input: string
  /** Aborted when nobody waits for the verdict any more. */
  signal: AbortSignal
  /** Tells the verdict from all others of the session, where it is one of a call that has a key. */
  key?: string | undefined
}

/** What a guardrail makes of it. */
export type GuardrailVerdict = Pick<GuardrailRecord, 'outcome' | 'reason' | 'evaluation'>

/** One guardrail; throws `ApiError` when it cannot be run. */
export type GuardrailCheck = (judged: GuardrailInput) => Promise<GuardrailVerdict>

/** Knows guardrails by id. */
export interface GuardrailDirectory {
  /** The check of that id, made on behalf of a call, undefined when nothing goes by it; `param` is where the call names it. Throws `ApiError` when it is of no use as one. */
  find(id: string, origin: CallOrigin, param: string): Promise<GuardrailCheck | undefined>
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

/** Searches the knowledge bases of the workspace that a call is made in. */
export interface KnowledgeDirectory {
  /** The nearest chunks, best first; refuses a knowledge base that does not exist. */
  search(call: Pick<Call, 'session' | 'caller' | 'signal'>, query: KnowledgeQuery): Promise<FoundChunk[]>
}
