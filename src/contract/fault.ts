// What a fault is and what it may know. A kind is one file in faults/; the gateway calls it without asking which it is.
import type { z } from 'zod'
import type { Clock } from '../lib/clock.ts'
import type { Operation } from './operation.ts'
import type { Reply } from './reply.ts'

/** Where a fault acts: on what the gateway hears of a provider, on what the client hears of the gateway, on the workspace, on what an agent hears of a tool, on an iteration of a task, on a decision about its tools, or on what becomes of a call under way when its task is canceled. */
export const FAULT_POINTS = ['provider', 'gateway', 'workspace', 'tool', 'task', 'approval', 'cancel'] as const
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

/** What a fault may know of the attempt or call that it acts on. */
export interface FaultContext {
  at: FaultPoint
  operation: FaultSubject
  /** The body; of a call without one, its query. */
  request: unknown
  provider: string
  /** `<provider>/<model>` */
  model: string
  stream: boolean
  /** The provider in whose words the gateway refuses, when the client came by a door that has them. */
  words?: string | undefined
  /** Whether no gateway is between the client and the provider: both places are then the client's wire. */
  direct?: true | undefined
  /** At `workspace` only. */
  call?: WorkspaceCall | undefined
  /** At `tool` and `cancel` only: what the tool goes by, the function's name first. */
  tool?: readonly string[] | undefined
  /** Time of the session. */
  clock: Clock
  /** Aborted when nobody waits any more; whatever waits, waits with it. */
  signal: AbortSignal
  /** A number in [0, 1) for a purpose: a function of seed, session, rule and call. */
  luck(purpose: string): number
  /** What the rule remembers from one attempt of the session to the next, such as what is left of a quota. */
  memory: Map<string, unknown>
  /** Notes that the fault acts: from here on it is in the trace, and it counts as applied. What it never says, it never did. */
  acted(): void
  /** Notes why the fault does not act here, for the report; means nothing once it has acted. */
  skip(reason: string): void
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

/** A fault of a rule, ready to act on one attempt or call. */
export interface ActiveFault {
  /** The rule's name. */
  rule: string
  /** As its kind has it. */
  inAnswer: boolean
  apply(
    next: NextReply,
    context: Pick<
      FaultContext,
      'clock' | 'signal' | 'operation' | 'request' | 'model' | 'stream' | 'direct' | 'call' | 'tool' | 'words'
    > & {
      /** Is called when it acts, at most once. */
      acted(): void
    },
  ): Promise<Reply>
}

/** What a scenario knows of an attempt (at `provider`) or a call (elsewhere) when it decides. */
export interface FaultFacts {
  at: FaultPoint
  operation: FaultSubject
  /** The path that was called, when it has parameters. */
  path?: string
  request: unknown
  /** Empty where no model is called. */
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
  /** Milliseconds of the session's clock that have passed. */
  passed: number
}

/** A scenario being played in a session. */
export interface ActiveScenario {
  readonly name: string
  /** A key for a call with this body. */
  keyOf(text: string): string
  faults(facts: FaultFacts): readonly ActiveFault[]
}
