// Faults and their context. A fault type is one file in faults/; the gateway calls it without knowing which one it is.
import type { z } from 'zod'
import type { Clock } from '../../lib/clock.ts'
import type { HistoryMode } from './history-mode.ts'
import type { Operation } from './operation.ts'
import type { Reply } from './reply.ts'
import type { Wire } from './wire.ts'

/**
 * Where a fault is injected: between provider and gateway, between gateway and client, in the workspace, in a tool of
 * an agent, in an iteration of a task, in an approval decision, or in a call that is in flight when its task is
 * canceled.
 */
export const FAULT_POINTS = ['provider', 'gateway', 'workspace', 'tool', 'task', 'approval', 'cancel'] as const
/** Where a fault is injected. */
export type FaultPoint = (typeof FAULT_POINTS)[number]

/** The iteration of an agent's task that makes a call. */
export interface AgentFacts {
  /** Key of the agent. */
  agent: string
  /** Id of the task. */
  task: string
  /** 1, 2, ... since the last user message. */
  iteration: number
}

/** What is called: an operation of the router, or one of the workspace, of which less is known. */
export type FaultSubject = Pick<Operation, 'name' | 'path'> & Partial<Operation>

/** A call of the workspace. */
export interface WorkspaceCall {
  method: string
  /** Path and query. */
  url: string
  /** Reads since the start of the scenario, oldest first, with their true replies; only the last few hundred. */
  reads: readonly { url: string; reply: Reply }[]
}

/** The context of the attempt or call that a fault applies to. */
export interface FaultContext
  extends Pick<FaultFacts, 'at' | 'operation' | 'request' | 'model' | 'stream' | 'direct' | 'call' | 'tool'>,
    Pick<FaultPassage, 'clock' | 'signal'> {
  provider: string
  /** The provider whose error format the gateway uses, if the client called an API that has one. */
  words?: string | undefined
  /** A number in [0, 1) for a purpose: a function of seed, session, rule and call. */
  random(purpose: string): number
  /** What the rule stores between attempts of the session, such as the rest of a quota. */
  memory: Map<string, unknown>
  /**
   * Reports that the fault is triggered: it is then in the trace and counts as injected. Without this call it counts as
   * not triggered.
   */
  triggered(): void
  /** Reports why the fault is not triggered here. Ignored once it has been triggered. */
  skipped(reason: string): void
}

/** Continues with what the fault wraps: another fault, or the backend. */
export type NextReply = () => Promise<Reply>

/** A fault type. */
export interface FaultKind<Options = never> {
  /** Its name in scenario files. */
  readonly type: string
  /** One sentence that describes what goes wrong. */
  readonly summary: string
  /** Where it can be injected, the default first. */
  readonly points: readonly FaultPoint[]
  /**
   * Whether it changes the content of a response instead of its transport. It is then applied before a compatible API
   * converts the response.
   */
  readonly inAnswer?: true
  /** The fields beside `type`. */
  readonly options: z.ZodObject & z.ZodType<Options>
  /** Options of which it needs at least one to do anything. */
  readonly needsOneOf?: readonly string[]
  /** Options that show it well, for schemas, docs and the tests of all types. */
  readonly example: z.input<z.ZodObject> & Record<string, unknown>
  /**
   * The reply that is received.
   * @throws ConnectionFailure if there is none
   */
  apply(options: Options, next: NextReply, context: FaultContext): Promise<Reply>
}

/** The facts about an attempt (at `provider`) or a call (elsewhere) by which a scenario decides. */
export interface FaultFacts {
  at: FaultPoint
  operation: FaultSubject
  /** The path of the client's request, without its session; absent for internal calls, which have that of the operation. */
  path?: string
  /** The body; for a call without one, its query. */
  request: unknown
  /** `<provider>/<model>`; empty where no model is called. */
  model: string
  /** 0 is the primary target. */
  position: number
  /** 1, 2, ... at this target. */
  attempt: number
  stream: boolean
  headers: Headers
  identity: string | undefined
  thread: string | undefined
  /** Whether the call is internal, and not by a client. */
  inner: boolean
  /** Set for what an agent does, and for decisions about it. */
  agent?: AgentFacts | undefined
  /** At `tool` and `cancel` only: the names of the tool, the function's name first. */
  tool?: readonly string[]
  /** The last user message. */
  text: string
  /** The injection point of a client's call; absent for internal calls, and where no model is called. */
  point?: string | undefined
  /** Identifies a call independently of the order of calls: a function of the body and how often it came before. */
  key: string
  /** Whether no gateway is between the client and the provider: both points are then the client's wire. */
  direct?: true
  /** At `workspace` only. */
  call?: WorkspaceCall
}

/**
 * The API that a client called, if it is not the gateway's own. Faults that change the content of a response are
 * applied before the conversion, all others after it.
 */
interface ResponseForm extends Pick<Wire, 'words' | 'events'> {
  /** The reply in this format. */
  put(reply: Reply): Reply
}

/** What faults need beside the facts of the call. */
export interface FaultPassage {
  /** Time of the session. */
  clock: Clock
  /** Aborts when the result is no longer needed. */
  signal: AbortSignal
  /** Called once for each triggered fault, with the name of its rule. */
  onTriggered(rule: string): void
  form?: ResponseForm | undefined
}

/** The faults of one attempt or call, at least one. */
export interface MatchedFaults {
  /**
   * The reply through all of them, the first outermost; `next` continues behind them, if they call it.
   * @throws ConnectionFailure if a fault ends the connection, and what `next` throws
   */
  through(passage: Omit<FaultPassage, 'clock'>, next: NextReply): Promise<Reply>
}

/** A scenario that is active in a session. */
export interface ActiveScenario {
  readonly name: string
  /** What happens to conversations that their providers would reject, where the scenario says so. */
  readonly history?: HistoryMode | undefined
  /** A key for a call with this body. */
  keyOf(text: string): string
  /**
   * Counts an attempt or call at each of these points, outermost first, and returns its faults; undefined if there are
   * none. For callers that must know first.
   */
  faults(clock: Clock, ...places: readonly FaultFacts[]): MatchedFaults | undefined
  /** Counts an attempt or call, and returns its reply through its faults. */
  through(facts: FaultFacts, passage: FaultPassage, next: NextReply): Promise<Reply>
}
