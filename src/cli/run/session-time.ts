// How the time of a session passed: what its clock jumped, and what the client waited by itself.
import type { CallTimes } from '../../db/trace-writes.ts'
import type { Session } from '../../sessions/sessions.ts'
import { MIN_PAUSE_MS } from './client-time.ts'

/** The time of a session, in ms. */
export interface SessionTime {
  session: string
  clock: 'real' | 'virtual'
  /** What a virtual clock passed over without anybody waiting. */
  jumped_ms: number
  /** What the client let pass between its calls while none was under way, by the machine's clock. */
  waited_ms: number
}

/** How the time of a session passed, given when its calls came and were answered. */
export function sessionTime({ name, clock }: Session, times: Iterable<CallTimes>): SessionTime {
  const spans = [...times].sort((one, other) => one.arrived - other.arrived)
  let waited = 0
  let busyUntil = spans[0]?.arrived ?? 0
  for (const { arrived, left } of spans) {
    if (arrived - busyUntil >= MIN_PAUSE_MS) waited += arrived - busyUntil
    busyUntil = Math.max(busyUntil, left)
  }
  const jumped = clock.kind === 'virtual' ? Math.round(clock.jumped) : 0
  return { session: name, clock: clock.kind, jumped_ms: jumped, waited_ms: waited }
}
