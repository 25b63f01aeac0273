// A call that has ended, as its spans are made of it.
import type { EndedStep } from '../../contract/observation.ts'
import type { TaskStep, TraceRecord } from '../../contract/trace.ts'
import type { AnswerFacts } from './answer-facts.ts'
import type { CallContent } from './content.ts'
import type { TracePosition } from './trace-context.ts'

/** When the steps of an agent's turn were, as far as they were seen. */
export interface AgentTimes {
  /** When the model was asked, by the iteration. */
  asked: Map<number, number>
  /** When steps were committed, by their keys. */
  ended: Map<string, number>
}

/** When an attempt ended, and the HTTP status that its target sent; null when it sent none. */
export interface AttemptEnd {
  at: number
  httpStatus: number | null
}

/** The address that was called: as it came, as the program takes it, and the path as routes name it. */
export interface CalledAddress {
  received: string
  url: string
  route: string | undefined
}

/** Which step of a turn it is. */
export const stepKey = ({ iteration, kind, name, tool_call_id: call }: TaskStep): string =>
  `${iteration}:${kind}:${call ?? name}`

/** A call that has ended, with what is exported beside its trace. Times are of the machine's clock, in ms since the epoch. */
export interface EndedCall {
  trace: TraceRecord
  /** Its number in its session. */
  seq: number
  position: TracePosition
  begun: number
  ended: number
  /** When its attempts ended. */
  attemptEnds: readonly AttemptEnd[]
  /** When its steps beside the attempts ended; empty where nobody saw it. */
  steps: readonly EndedStep[]
  /** When the steps of an agent began and ended. */
  agent: AgentTimes | undefined
  /** The address that was called; absent of a call from inside. */
  address: CalledAddress | undefined
  /** The HTTP status that its client was sent; null when it was sent none. */
  httpStatus: number | null
  /** Attributes of what the request asks of the model. */
  parameters: string
  answer: AnswerFacts
  /** The messages, where content is asked for. */
  content: CallContent | undefined
}

/** Places what happened at a time of the session's clock on the clock of the machine. */
export type Placement = (sessionMs: number) => number

/** A virtual clock runs ahead of the machine's by more than that. */
const JITTER_MS = 50

/** A virtual clock is compressed into the time that really went by. */
export function placementOf({ trace, begun, ended }: EndedCall): Placement {
  const real = ended - begun
  const scale = trace.duration_ms > real + JITTER_MS ? real / trace.duration_ms : 1
  return (ms) => Math.min(ended, begun + Math.max(0, ms) * scale)
}
