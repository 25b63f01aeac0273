// How many databases in memory are open at a time: what an open one takes is not given back to the system when it is closed.
import type { OwnedSlot } from './slot.ts'

/** Enough that parallel tests seldom pay for opening one again, which takes milliseconds. */
const MOST_AWAKE = 128
/** How many more are closed then. One in each turn unless there are many: that takes as long as some calls. */
const SPARE = 16

/** A session, and when it was last used (ms of real time). */
export interface SessionEntry {
  readonly slot: OwnedSlot
  used: number
}

/** Closes those that were not used for longest when too many are open. */
export function limitAwake(entries: () => Iterable<SessionEntry>): { opened(): void; stop(): void } {
  let open = 0
  let pending = false
  let stopped = false
  const close = () => {
    if (stopped) return
    const awake = [...entries()].filter(({ slot }) => slot.awake)
    const idle = awake.filter(({ slot }) => slot.active === 0).sort((one, other) => one.used - other.used)
    open = awake.length
    closeNext(idle.slice(0, Math.max(0, awake.length - MOST_AWAKE + SPARE)))
  }
  const closeNext = (idle: readonly SessionEntry[]) => {
    if (stopped) return
    const count = 1 + Math.floor(Math.max(0, open - MOST_AWAKE) / SPARE)
    for (const { slot } of idle.slice(0, count)) {
      // It may have been used again.
      if (slot.active === 0) slot.sleep()
      if (!slot.awake) open--
    }
    const rest = idle.slice(count)
    pending = rest.length > 0 || (idle.length > 0 && open > MOST_AWAKE)
    if (pending) setImmediate(() => (rest.length > 0 ? closeNext(rest) : close()))
  }
  return {
    opened() {
      open++
      if (open <= MOST_AWAKE || pending) return
      pending = true
      // Not in the midst of what opens it.
      setImmediate(close)
    },
    stop() {
      stopped = true
    },
  }
}
