// What answers attempts: from fixtures, or from a real provider.
import type { Clock } from '../lib/clock.ts'
import type { Making, Operation, Prompt } from './operation.ts'
import type { Reply } from './reply.ts'

/** One attempt as a backend sees it. */
export interface BackendCall {
  operation: Operation
  /** The parsed, rendered request, its model being the target's. */
  request: unknown
  /** `<provider>/<model>` of this attempt. */
  model: string
  stream: boolean
  prompt: Prompt
  making: Making
  clock: Clock
  /** Aborted when the client has gone or the attempt's time is up. */
  signal: AbortSignal
  uses(fixture: string): number
}

/** Answers attempts; rejects with `ApiError`, `ConnectionFailure`, or the signal's reason once that is aborted. */
export interface Backend {
  answer(call: BackendCall): Promise<Reply>
}
