// Sessions that were only looked at: each is as a new one, and is neither counted nor listed.
import type { SessionEntry } from './awake.ts'
import type { OwnedSlot } from './slot.ts'

/** Beyond so many, the first goes. */
const MOST_PEEKED = 32

/** Sessions that nobody has used. */
export interface PeekedSessions {
  /** The session of a name, made on first sight. */
  entry(name: string): SessionEntry
  /** The same, if it is there. */
  slot(name: string): OwnedSlot | undefined
  /** Takes it out. */
  remove(name: string): void
  entries(): Iterable<SessionEntry>
  /** Closes the databases of those that were not looked at since a time (ms of real time). */
  sleepIdle(since: number): void
}

/** Sessions that are made when they are looked at. */
export function createPeeked(slotOf: (name: string) => OwnedSlot, realNow: () => number): PeekedSessions {
  const peeked = new Map<string, SessionEntry>()
  const dropOne = () => {
    const idle = [...peeked].find(([, { slot }]) => slot.active === 0)
    // Whoever still reads it opens it again.
    idle?.[1].slot.sleep()
    if (idle) peeked.delete(idle[0])
  }
  return {
    entry(name) {
      const found = peeked.get(name)
      if (found) return found
      const entry = { slot: slotOf(name), used: realNow() }
      if (peeked.size >= MOST_PEEKED) dropOne()
      peeked.set(name, entry)
      return entry
    },
    slot: (name) => peeked.get(name)?.slot,
    remove: (name) => void peeked.delete(name),
    entries: () => peeked.values(),
    sleepIdle(since) {
      for (const { slot, used } of peeked.values()) if (slot.active === 0 && used <= since) slot.sleep()
    },
  }
}
