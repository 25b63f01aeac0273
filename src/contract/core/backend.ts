// The sources of responses to attempts: fixtures, a real provider, or either with faults around it.
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
  /** The client's headers; absent for an internal call. */
  headers?: Headers | undefined
  answerContext: AnswerContext
  clock: Clock
  /** Aborts when the client disconnects or the time is up. Every wait must use it. */
  readonly signal: AbortSignal
  /** Ends its time now, if its limit is at most so many ms; absent without a limit. */
  readonly expire?: ((limit: number) => void) | undefined
  /** Whether a fault has changed what its client receives; absent without a scenario. */
  readonly isFaulty?: (() => boolean) | undefined
  /** Positions in the sequences of fixtures, which this call continues. */
  readonly sequences: Pick<CallSequences, 'next'>
  /** A key that distinguishes the call's conversation from others of its session. */
  conversation(): string
}

/** A request of a compatible API as its client sent it. */
export interface RawRequest {
  api: CompatibleApi
  /** Path and query after `/v1`, such as `/chat/completions`. */
  path: string
  headers: Headers
  body: Uint8Array
  /** The body as text, if that is the same. */
  text: string | undefined
  /** The model named in the body, and the one that is sent instead: without the provider. */
  model: { named: string; sent: string }
}

/** Responds to attempts. */
export interface Backend {
  /**
   * A reply, whatever its status.
   * @throws ConnectionFailure if there is none, the signal's reason if it aborts, `ApiError` for a user's mistake
   */
  answer(call: BackendCall): Promise<Reply>
  /** Whether the calls of a `<provider>/<model>` go to its real provider; default: none do. */
  forwards?(model: string): boolean
  /** Passes requests of compatible APIs through unchanged; absent if nothing leaves the machine. */
  readonly passing?: PassingBackend
}

/** What passing a request through needs of its attempt. */
export type PassedCall = Pick<
  BackendCall,
  'model' | 'operation' | 'session' | 'clock' | 'signal' | 'expire' | 'isFaulty'
>

/** Passes the requests of clients through to their providers. */
export interface PassingBackend {
  /**
   * Whether the provider of a `<provider>/<model>` has the API that was called, so that it understands such a request.
   */
  takes(model: string, api: RawRequest['api']): boolean
  /** Forwards a request with the provider's key, and returns the response unparsed (`raw`). Throws as `answer` does. */
  pass(call: PassedCall, request: RawRequest): Promise<Reply>
}
