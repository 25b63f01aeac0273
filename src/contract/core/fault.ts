// What a fault is and what it may know. A kind is one file in faults/; the gateway calls it without asking which it is.
import type { z } from 'zod'
import type { Clock } from '../../lib/clock.ts'
import type { Operation } from './operation.ts'
import type { Reply } from './reply.ts'
import type { Wire } from './wire.ts'

/** Where a fault acts: on what the gateway hears of a provider, on what the client hears of the gateway, on the workspace, on what an agent hears of a tool, on an iteration of a task, on a decision about its tools, or on what becomes of a call under way when its task is canceled. */
export const FAULT_POINTS = ['provider', 'gateway', 'workspace', 'tool', 'task', 'approval', 'cancel'] as const
/** Where a fault is injected. */
export type FaultPoint = (typeof FAULT_POINTS)[number]

/** The iteration of an agent's task that a call is. */
export interface AgentFacts {
  /** Key of the agent. */
  agent: string
  /** Id of the task. */
  task: string
  /** 1, 2, ... since the user spoke last. */
  iteration: number
}

/** What is asked for: an operation of the router, or one of the workspace, of which less is known. */
export type FaultSubject = Pick<Operation, 'name' | 'path'> & Partial<Operation>

/** A call of the workspace. */
export interface WorkspaceCall {
  method: string
  /** Path and query. */
  url: string
  /** What was read since the scenario began, oldest first, as it really was; only the last few hundred. */
  reads: readonly { url: string; reply: Reply }[]
}

/** What a fault may know of the attempt or call that it is on. */
export interface FaultContext
  extends Pick<FaultFacts, 'at' | 'operation' | 'request' | 'model' | 'stream' | 'direct' | 'call' | 'tool'>,
    Pick<FaultPassage, 'clock' | 'signal'> {
  provider: string
  /** The provider in whose words the gateway refuses, when the client called an API that has them. */
  words?: string | undefined
  /** A number in [0, 1) for a purpose: a function of seed, session, rule and call. */
  luck(purpose: string): number
  /** What the rule remembers from one attempt of the session to the next, such as what is left of a quota. */
  memory: Map<string, unknown>
  /** Reports that the fault is triggered: from here on it is in the trace and counts as applied. A fault that never calls this was never triggered. */
  triggered(): void
  /** Reports why the fault is not triggered here; means nothing once it has been triggered. */
  skipped(reason: string): void
}

/** Goes on to what the fault is wrapped around: another fault, or the backend. */
export type NextReply = () => Promise<Reply>

/** One kind of fault. */
export interface FaultKind<Options = never> {
  /** Its name in scenario files. */
  readonly type: string
  /** One sentence for people: what goes wrong. */
  readonly summary: string
  /** Where it may act, the usual place first. */
  readonly points: readonly FaultPoint[]
  /** Whether it changes what is said, and not how that is sent: it then acts on an answer before a door puts it in its own words. */
  readonly inAnswer?: true
  /** The fields beside `type`. */
  readonly options: z.ZodObject & z.ZodType<Options>
  /** Options that show it well, for schemas, docs and the tests of all kinds. */
  readonly example: z.input<z.ZodObject> & Record<string, unknown>
  /** Gives the reply that is heard; throws `ConnectionFailure` when there is none. */
  apply(options: Options, next: NextReply, context: FaultContext): Promise<Reply>
}

/** What a scenario knows of an attempt (at `provider`) or a call (elsewhere) when it decides. */
export interface FaultFacts {
  at: FaultPoint
  operation: FaultSubject
  /** The path that was called, when it has parameters. */
  path?: string
  /** The body; of a call without one, its query. */
  request: unknown
  /** `<provider>/<model>`; empty where no model is called. */
  model: string
  /** 0 is the primary target. */
  position: number
  /** 1, 2, ... of this target. */
  attempt: number
  stream: boolean
  headers: Headers
  identity: string | undefined
  thread: string | undefined
  /** Whether the call was made from inside, and not by a client. */
  inner: boolean
  /** Of what an agent does, and of what is decided about it. */
  agent?: AgentFacts | undefined
  /** At `tool` and `cancel` only: what the tool goes by, the function's name first. */
  tool?: readonly string[]
  /** The last user message. */
  text: string
  /** Which of the client's calls it is; absent of calls from inside, and where no model is called. */
  point?: string | undefined
  /** Tells calls apart independently of the order in which they come: a function of the body and how often it came before. */
  key: string
  /** Whether no gateway is between the client and the provider: both places are then the client's wire. */
  direct?: true
  /** At `workspace` only. */
  call?: WorkspaceCall
}

/** The API that a client called, when it is not the gateway's own: faults that change what a response says are applied before it has that form, all others after. */
export interface ResponseForm extends Pick<Wire, 'words' | 'events'> {
  /** The reply in this form. */
  put(reply: Reply): Reply
}

/** What faults need beside the facts of the call that goes through them. */
export interface FaultPassage {
  /** Time of the session. */
  clock: Clock
  /** Aborted when nobody waits any more. */
  signal: AbortSignal
  /** Is called once for each fault that is triggered, with the name of its rule. */
  onTriggered(rule: string): void
  form?: ResponseForm | undefined
}

/** The faults on one attempt or call, of which there is at least one. */
export interface MatchedFaults {
  /**
   * The reply through all of them, the first outermost; `next` gives what is behind them, if they let it.
   * @throws ConnectionFailure when a fault ends the connection, and what `next` throws.
   */
  through(passage: Omit<FaultPassage, 'clock'>, next: NextReply): Promise<Reply>
}

/** A scenario that is active in a session. */
export interface ActiveScenario {
  readonly name: string
  /** A key for a call with this body. */
  keyOf(text: string): string
  /** Counts an attempt or call, as seen from each of these places, outermost first; undefined when no fault is on it. For callers that must know first. */
  faults(clock: Clock, ...places: readonly FaultFacts[]): MatchedFaults | undefined
  /** Counts an attempt or call, and gives its reply through the faults that are on it. */
  through(facts: FaultFacts, passage: FaultPassage, next: NextReply): Promise<Reply>
}
