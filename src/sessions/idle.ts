// Sessions that nobody uses: their databases are closed, and after a time they are dropped, those too that an earlier process has left.
import { everySoOften } from '../lib/clock.ts'
import { once } from '../lib/once.ts'
import { inSlices } from '../lib/slices.ts'
import type { SessionEntry } from './awake.ts'
import type { SessionFolder } from './folder.ts'
import type { PeekedSessions } from './peeked.ts'
import { DEFAULT_SESSION } from './session.ts'

/** Idle sessions sleep after so long, in ms: long enough that no test in its course pays for waking them. */
const AWAKE_MS = 5_000
const SWEEP_MS = 2_000

/** What is watched. */
interface IdleOptions {
  sessions: ReadonlyMap<string, SessionEntry>
  peeked: PeekedSessions
  /** Where earlier processes have left sessions; undefined when there is no such place. */
  folder: Pick<SessionFolder, 'names' | 'lastWritten'> | undefined
  realNow(): number
  /** Milliseconds after which a session is dropped; none is when left out. */
  ttl: number | undefined
  /** Forgets a session, and says why to whoever is in it. */
  remove(name: string, why: string): void
}

/** What has become of idle sessions. */
interface IdleWatch {
  /** Looks at all of them, a few in each turn; done every few seconds. */
  sweep(): Promise<void>
  /** How many were dropped. */
  dropped(): number
  stop(): void
}

/** Watches for idle sessions; the default one is never one. */
export function watchIdle(options: IdleOptions): IdleWatch {
  const { sessions, peeked, folder, realNow, ttl = Number.POSITIVE_INFINITY, remove } = options
  let dropped = 0
  let stopped = false
  const drop = (name: string) => {
    dropped++
    remove(name, 'the session was dropped')
  }
  const look = (name: string, entry: SessionEntry) => {
    // Meanwhile it may have gone, or another have its name.
    if (stopped || name === DEFAULT_SESSION || sessions.get(name) !== entry) return
    const now = realNow()
    if (entry.slot.active > 0) entry.used = now
    const idle = now - entry.used
    if (idle >= ttl) drop(name)
    else if (idle >= AWAKE_MS) entry.slot.sleep()
  }
  /** Sessions that were left and that nobody has used since, with when each is to be looked at again; nobody else writes there. */
  const left = once(() => new Map((folder?.names() ?? []).map((name) => [name, 0])))
  const lookAtLeft = (name: string, due: number) => {
    if (stopped || realNow() < due) return
    const written = sessions.has(name) ? undefined : folder?.lastWritten(name)
    if (written !== undefined && realNow() - written < ttl) {
      left().set(name, written + ttl)
      return
    }
    left().delete(name)
    if (written !== undefined) drop(name)
  }
  const pass = async () => {
    await inSlices([...sessions], ([name, entry]) => look(name, entry))
    if (ttl < Number.POSITIVE_INFINITY) await inSlices([...left()], ([name, due]) => lookAtLeft(name, due))
    if (!stopped) peeked.sleepIdle(realNow() - AWAKE_MS)
  }
  let last: Promise<void> | undefined
  const sweep = () => {
    const next = (last ?? Promise.resolve()).then(pass).finally(() => {
      if (last === next) last = undefined
    })
    last = next
    return next
  }
  const stopWatch = everySoOften(SWEEP_MS, () => {
    if (!last) void sweep()
  })
  const stop = () => {
    stopped = true
    stopWatch()
  }
  return { sweep, dropped: () => dropped, stop }
}
