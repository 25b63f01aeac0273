// How many databases of sessions are open at a time: what one in memory takes is not given back to the system when it is closed, and
// a system lets a process have so many files open.
import { openFileLimit } from '../lib/open-files.ts'
import { inSlices } from '../lib/slices.ts'
import type { OwnedSlot } from './slot.ts'

/** Enough that parallel tests seldom pay for opening one again, which takes milliseconds. */
const MOST_AWAKE = 128
/** How many more are closed then. */
const SPARE = 16
/** Files that a session has open: the database, its log, and the log's index twice. */
const FILES_EACH = 4
/** How much of the files of a process they may be: the others are connections, mostly. */
const SHARE = 1 / 4
/** Fewer are never open at a time, however few files may be. */
const FEWEST_OPEN = 4
/** How many are closed when the system opens no more files. */
const CLOSED_AT_ONCE = 16

/** A session, and when it was last used (ms of real time). */
export interface SessionEntry {
  readonly slot: OwnedSlot
  used: number
}

/** Keeps the number of open databases small. */
export interface AwakeLimit {
  /** A database in memory was opened: closes those that were not used for longest when there are too many, a few in each turn. */
  opened(): void
  /** A file is about to be opened: closes that which was not used for longest at once, when a quarter of those that a process may have open are those of sessions. */
  opening(): void
  /** The system opens no more files: closes some at once; false when none could be closed. */
  makeRoom(): boolean
  stop(): void
}

/** Closes those that were not used for longest when too many are open. */
export function limitAwake(entries: () => Iterable<SessionEntry>, fileLimit = openFileLimit()): AwakeLimit {
  const mostFiles = Math.max(FEWEST_OPEN, Math.min(MOST_AWAKE, Math.floor((fileLimit * SHARE) / FILES_EACH)))
  let open = 0
  let closing = false
  let stopped = false
  const awake = () => [...entries()].filter(({ slot }) => slot.awake)
  const close = async () => {
    const all = awake()
    const idle = all.filter(({ slot }) => slot.active === 0).sort((one, other) => one.used - other.used)
    await inSlices(idle.slice(0, Math.max(0, all.length - MOST_AWAKE + SPARE)), ({ slot }) => {
      // It may have been used again.
      if (!stopped && slot.active === 0) slot.sleep()
    })
    open = awake().length
    return idle.length > 0 && open > MOST_AWAKE
  }
  const closeUntilFew = async () => {
    while (!stopped && (await close()));
    closing = false
  }
  /** Closes files at once, those of sessions in which nothing is under way first: one that is used is opened again at its next use. */
  const closeNow = (files: readonly SessionEntry[], count: number): number => {
    const order = files.toSorted(
      (one, other) => Math.sign(one.slot.active) - Math.sign(other.slot.active) || one.used - other.used,
    )
    let closed = 0
    for (const { slot } of order) {
      if (closed >= count) break
      slot.sleep()
      if (!slot.awake) closed++
    }
    return closed
  }
  return {
    opened() {
      open++
      if (open <= MOST_AWAKE || closing) return
      closing = true
      // Not in the midst of what opens it.
      setImmediate(() => void closeUntilFew())
    },
    opening() {
      const files = awake()
      if (files.length >= mostFiles) closeNow(files, files.length - mostFiles + 1)
    },
    makeRoom: () => closeNow(awake(), CLOSED_AT_ONCE) > 0,
    stop() {
      stopped = true
    },
  }
}
