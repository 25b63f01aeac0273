// Finds the client call that started a task's turn: its wire data belongs to the trace of that turn.
import type { Session } from '../sessions/sessions.ts'

/** The turn that a call started. */
export interface BegunTurn {
  session: Session
  /** The id of its trace. */
  trace: string
  /** When it started, in ms of the session's clock. */
  started: number
}

/** The turns that calls in progress have started, by the signal of their request. */
export type TurnCalls = WeakMap<AbortSignal, BegunTurn>
