// How the time of a session passed: skipped virtual time, and idle time of the client.
import type { CallTimes } from '../../db/trace-writes.ts'
import type { Session } from '../../sessions/sessions.ts'
import { MIN_PAUSE_MS } from './client-time.ts'

/** The time of a session, in ms. */
export interface SessionTime {
  session: string
  clock: 'real' | 'virtual'
  /** Skipped time of a virtual clock. */
  jumped_ms: number
  /** Time between calls while none was in progress, by the machine's clock. */
  waited_ms: number
}

/** How the time of a session passed, given the times of its calls. */
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
