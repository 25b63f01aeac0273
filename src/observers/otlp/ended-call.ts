// A call that has ended, as its spans are made of it.
import type { TraceRecord } from '../../contract/trace.ts'
import type { TracePosition } from './trace-context.ts'

/** A call that has ended, with what is exported beside its trace. Times are of the machine's clock, in ms since the epoch. */
export interface EndedCall {
  trace: TraceRecord
  /** Its number in its session. */
  seq: number
  position: TracePosition
  begun: number
  ended: number
  /** When its attempts ended. */
  attemptEnds: readonly number[]
  /** The address that was called; absent of a call from inside. */
  url: string | undefined
  /** Attributes of what the request asks of the model. */
  parameters: readonly string[]
  answer: { id?: string | undefined; finishReasons?: readonly string[] }
  /** The messages as JSON, where content is asked for. */
  content: { input: string; output: string } | undefined
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
