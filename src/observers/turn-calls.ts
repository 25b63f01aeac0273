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

/** The calls in progress, by the signal of their request. */
export interface TurnCalls {
  begun(request: AbortSignal, turn: BegunTurn): void
  of(request: AbortSignal): BegunTurn | undefined
}

/** An empty list of calls. */
export function createTurnCalls(): TurnCalls {
  const turns = new WeakMap<AbortSignal, BegunTurn>()
  return {
    begun: (request, turn) => void turns.set(request, turn),
    of: (request) => turns.get(request),
  }
}
