// What the gateway needs to know of a router operation, so that nothing below endpoints/ asks which one it is.
import type { z } from 'zod'
import type { StreamEvent } from '../lib/sse.ts'

/** The conversation of a call in the form that fixtures match on. */
export interface Prompt {
  system: string
  /** Text of the last user message. */
  user: string
  /** Number of user messages. */
  turn: number
  tools: readonly string[]
  /** Whether the last message is the result of a tool. */
  toolResult: boolean
}

/** What an answer is made with besides the request: all of it repeats when seed, clock and order of calls repeat. */
export interface Making {
  model: string
  /** Milliseconds since the epoch at which the answer begins. */
  now: number
  /** The call's own ULID, from which the answer's ids are made. */
  id: string
}

/** An answer in both of its forms; each is made only when asked for. */
export interface Composed {
  body(): object
  events(): StreamEvent[]
  usage: Record<string, unknown>
  /** Tokens of the answer, for pacing. */
  tokens: number
}

/** One router endpoint as data: `Request` is the parsed body, `Script` what a fixture says under `reply`. */
export interface Operation<Request = unknown, Script = unknown> {
  readonly name: string
  readonly path: string
  readonly tag: string
  readonly summary: string
  readonly description: string
  readonly examples: Record<string, object>
  readonly request: z.ZodType<Request>
  readonly response: z.ZodType
  readonly chunk: z.ZodType
  readonly script: z.ZodType<Script>
  model(request: Request): string
  streams(request: Request): boolean
  prompt(request: Request): Prompt
  /** The answer when no fixture matches: a function of the request alone. */
  synthesize(request: Request): Script
  compose(request: Request, script: Script, making: Making): Composed
  /** The whole answer that a client has after these events; what is missing in a cut stream is missing here. */
  assemble(events: readonly StreamEvent[]): object
}
