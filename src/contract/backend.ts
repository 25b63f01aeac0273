// What answers attempts: fixtures, a real provider, or either with faults around it.
import type { Clock } from '../lib/clock.ts'
import type { AnswerContext, Operation, Prompt } from './operation.ts'
import type { Reply } from './reply.ts'

/** One attempt as a backend sees it. */
export interface BackendCall {
  /** Name of the session. */
  session: string
  operation: Operation
  /** The parsed, rendered request; its model is that of the attempt. */
  request: unknown
  /** `<provider>/<model>` of this attempt. */
  model: string
  stream: boolean
  prompt: Prompt
  /** The client's headers; absent for a call from inside. */
  headers?: Headers | undefined
  answerContext: AnswerContext
  clock: Clock
  /** Aborted when the client has gone or the time is up; whatever waits, waits with it. */
  readonly signal: AbortSignal
  /** How many times the sequence of the fixture at a place has been used before; counts this use. */
  uses(location: string): number
}

/** A request of a compatible API as its client sent it. */
export interface RawRequest {
  api: 'openai' | 'anthropic'
  /** Path and query behind `/v1`, such as `/chat/completions`. */
  path: string
  headers: Headers
  body: Uint8Array
}

/** Answers attempts. */
export interface Backend {
  /**
   * A reply, whatever its status.
   * @throws ConnectionFailure when there is none, the signal's reason when it is aborted, `ApiError` for a user's mistake.
   */
  answer(call: BackendCall): Reply | Promise<Reply>
  /**
   * What passes a client's own request on to its provider and gives what that sends, unread (`raw`); undefined when the provider
   * speaks another API than the one called. Both throw as `answer` does.
   */
  pass?(call: BackendCall, request: RawRequest): (() => Promise<Reply>) | undefined
}
