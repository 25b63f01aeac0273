// Sessions that nobody uses: their databases are closed, and after a time they are dropped.
import { everySoOften } from '../lib/clock.ts'
import type { SessionEntry } from './awake.ts'
import type { PeekedSessions } from './peeked.ts'
import { DEFAULT_SESSION } from './session.ts'

/** Idle sessions sleep after so long, in ms: long enough that no test in its course pays for waking them. */
const AWAKE_MS = 5_000
const SWEEP_MS = 2_000

/** What is watched. */
export interface IdleOptions {
  sessions: ReadonlyMap<string, SessionEntry>
  peeked: PeekedSessions
  realNow(): number
  /** Milliseconds after which a session is dropped; none is when left out. */
  ttl: number | undefined
  /** Forgets a session, and says why to whoever is in it. */
  remove(name: string, why: string): void
}

/** What has become of idle sessions. */
export interface IdleWatch {
  /** Looks at all of them; done every few seconds. */
  sweep(): void
  /** How many were dropped. */
  dropped(): number
  stop(): void
}

/** Watches for idle sessions; the default one is never one. */
export function watchIdle({
  sessions,
  peeked,
  realNow,
  ttl = Number.POSITIVE_INFINITY,
  remove,
}: IdleOptions): IdleWatch {
  let dropped = 0
  const sweep = () => {
    const now = realNow()
    for (const [name, entry] of sessions) {
      if (name === DEFAULT_SESSION) continue
      if (entry.slot.active > 0) entry.used = now
      const idle = now - entry.used
      if (idle >= ttl) {
        dropped++
        remove(name, 'the session was dropped')
      } else if (idle >= AWAKE_MS) entry.slot.sleep()
    }
    peeked.sleepIdle(now - AWAKE_MS)
  }
  const stop = everySoOften(SWEEP_MS, sweep)
  return { sweep, dropped: () => dropped, stop }
}
