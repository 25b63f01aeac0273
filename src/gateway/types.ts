// What the steps of a call share, and the services that they use.
import type { Backend } from '../contract/core/backend.ts'
import type { ApiError } from '../contract/core/error.ts'
import type { ActiveScenario, FaultFacts } from '../contract/core/fault.ts'
import type { HistoryMode } from '../contract/core/history-mode.ts'
import type { AnswerContext, Operation, Prompt } from '../contract/core/operation.ts'
import type { GuardrailRecord } from '../contract/core/trace.ts'
import type { ProviderNames } from '../providers/names.ts'
import type { ScenarioRuns } from '../scenarios/runs.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Call, CallOrigin, InnerAnswer, InnerCall } from './call.ts'
import type { Failure } from './outcome.ts'
import type { RecorderParts, TraceRecorder } from './record/recorder.ts'
import type { Settings } from './settings.ts'

/** The people on whose behalf calls are made. */
export interface People {
  /** Adds a person to the workspace unless it has them; resolves when that is committed. */
  meet(identity: NonNullable<Settings['identity']>, call: Pick<Call, 'session' | 'caller'>): Promise<void>
}

/** What the gateway is composed of. */
export interface GatewayParts extends RecorderParts {
  backend: Backend
  guardrails: GuardrailDirectory
  knowledge: KnowledgeDirectory
  runs: ScenarioRuns
  people: People
  /** How long a client may stop reading a stream, in ms. */
  clientTimeout: number
  /** Reports a bug. */
  report(error: unknown): void
  /** Knows the valid provider names. */
  providers: ProviderNames
  history: HistorySettings
}

/** How conversations that their providers would reject are handled. */
export interface HistorySettings {
  mode: HistoryMode
  /** Whether the mode comes from a flag or a variable, which overrides a scenario. */
  overrides: boolean
}

/** Handles calls and records them. Client errors and the last failure are recorded too, and thrown as `ApiError`. */
export interface Gateway extends GatewayParts {
  /** Handles the call of a client. */
  handle(call: Call): Promise<Response>
  /**
   * Makes an internal call, which takes the same steps as a client's call. Faults between the gateway and its clients
   * do not apply, since there is no client.
   */
  call(inner: InnerCall): Promise<InnerAnswer>
}

/** A call in progress: its rendered request, and everything that its attempts share. */
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
  /** The active scenario. */
  scenario: ActiveScenario | undefined
  /** What happens to a conversation that its provider would reject. */
  history: HistoryMode
  facts: Pick<FaultFacts, 'headers' | 'path' | 'key' | 'text' | 'identity' | 'thread' | 'inner' | 'agent' | 'point'>
}

/** How a call ended for its maker. */
export interface CallResult {
  status: number
  headers: Record<string, string>
  /** What ended it early. */
  failure?: Failure | undefined
  /** The error that the client receives. */
  error?: ApiError
  /** Whether the sent bytes have been read back: only `failure` then counts. */
  read?: true
  /** Whether the client may have read a whole response all the same. */
  readable?: boolean
}

/** Ends a call. */
export interface CallEnd {
  /**
   * Saves the trace, once. Resolves when it is committed with the entries of the response, or with an error when that
   * failed.
   */
  end(result: CallResult): Promise<ApiError | undefined>
  /** Saves the trace of a failed call; resolves with the error for the client, which contains the trace id. */
  fail(error: unknown): Promise<ApiError>
}

/** What a response is sent with. */
export interface ReplyContext {
  callContext: CallContext
  /** Key to store the response under; undefined when it is not cached. */
  cacheKey: string | undefined
  /** Ends the call before the last event of a stream; absent when a fault or a conversion still follows. */
  end?: CallEnd
  /** Whether available events are sent together, after the call has ended. */
  atOnce?: true
}

/** What a guardrail checks. */
export interface GuardrailInput {
  /** Texts of the stage: all of the user's, or all of the response. */
  texts: readonly string[]
  /** The user's last message. */
  input: string
  /** Aborted when the verdict is no longer needed. */
  signal: AbortSignal
  /** Identifies the verdict in the session; present for a call that has a key. */
  key?: string | undefined
}

/** The result of a guardrail. */
export type GuardrailVerdict = Pick<GuardrailRecord, 'outcome' | 'reason' | 'evaluation'>

/** One guardrail; throws `ApiError` when it cannot run. */
export type GuardrailCheck = (judged: GuardrailInput) => Promise<GuardrailVerdict>

/** Finds guardrails by id. */
export interface GuardrailDirectory {
  /**
   * The guardrail with that id, run on behalf of a call; undefined when there is none. `param` is the field that names
   * it. Throws `ApiError` when the evaluator cannot be used as a guardrail.
   */
  find(id: string, origin: CallOrigin, param: string): Promise<GuardrailCheck | undefined>
  /** Ids of the built-in guardrails. */
  ids(): readonly string[]
}

/** A guardrail of a call. */
export interface CallGuardrail {
  id: string
  stage: 'input' | 'output'
  param: string
  check: GuardrailCheck
}

/** A chunk of a knowledge base that matches a query. */
export interface FoundChunk {
  id: string
  /** Similarity, at most 1. */
  score: number
  text: string
}

/** A search in one knowledge base. */
export type KnowledgeQuery = Settings['knowledge'][number] & { query: string; param: string }

/** Searches the knowledge bases of a call's workspace. */
export interface KnowledgeDirectory {
  /**
   * The most similar chunks, best first, and the type of the search, which may be that of the knowledge base; throws for
   * a knowledge base that does not exist.
   */
  search(
    call: Pick<Call, 'session' | 'caller' | 'signal'>,
    query: KnowledgeQuery,
  ): Promise<{ search_type: string; chunks: FoundChunk[] }>
}
