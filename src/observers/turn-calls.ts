// Which call of a client began the turn of an agent's task: what its connection carries belongs to the trace of that turn.
import type { Session } from '../sessions/sessions.ts'

/** The turn that a call began. */
export interface BegunTurn {
  session: Session
  /** The id of its trace. */
  trace: string
  /** When it began, in ms of the session's clock. */
  started: number
}

/** The calls that are under way, by the signal of their request. */
export interface TurnCalls {
  begun(request: AbortSignal, turn: BegunTurn): void
  of(request: AbortSignal): BegunTurn | undefined
}

/** No calls yet. */
export function createTurnCalls(): TurnCalls {
  const turns = new WeakMap<AbortSignal, BegunTurn>()
  return {
    begun: (request, turn) => void turns.set(request, turn),
    of: (request) => turns.get(request),
  }
}
