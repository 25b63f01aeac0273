// What answers attempts: fixtures, a real provider, or either with faults around it.
import type { Clock } from '../../lib/clock.ts'
import type { AnswerContext, Operation, Prompt } from './operation.ts'
import type { Reply } from './reply.ts'
import type { CallSequences } from './sequence.ts'
import type { CompatibleApi } from './wire.ts'

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
  /** How far the sequences of fixtures were used, which this call goes on with. */
  readonly sequences: Pick<CallSequences, 'next'>
  /** What tells the conversation that the call belongs to from the others of its session. */
  conversation(): string
}

/** A request of a compatible API as its client sent it. */
export interface RawRequest {
  api: CompatibleApi
  /** Path and query behind `/v1`, such as `/chat/completions`. */
  path: string
  headers: Headers
  body: Uint8Array
  /** The model as the body names it, and what is sent in its place: without the provider before it. */
  model: { named: string; sent: string }
}

/** Answers attempts. */
export interface Backend {
  /**
   * A reply, whatever its status.
   * @throws ConnectionFailure when there is none, the signal's reason when it is aborted, `ApiError` for a user's mistake.
   */
  answer(call: BackendCall): Promise<Reply>
  /** Whether the calls of a `<provider>/<model>` go to its real provider; none do when left out. */
  forwards?(model: string): boolean
  /** Passes requests of compatible APIs on as they came; absent where nothing leaves the machine. */
  readonly passing?: PassingBackend
}

/** Passes the requests of clients on to their providers. */
export interface PassingBackend {
  /** Whether the provider of a `<provider>/<model>` speaks the API that was called, so that it can read such a request. */
  takes(model: string, api: RawRequest['api']): boolean
  /** Sends a request on, with the provider's key, and gives what comes back, unread (`raw`). Throws as `answer` does. */
  pass(call: Pick<BackendCall, 'model' | 'operation' | 'signal'>, request: RawRequest): Promise<Reply>
}
