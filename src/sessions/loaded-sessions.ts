// Which sessions have their databases open, and for how long: what one in memory takes is not given back to the system when it is closed, and
// a system lets a process have so many files open. Sessions that nobody uses are unloaded, and after a time they are dropped.

import { everySoOften } from '../lib/clock.ts'
import { once } from '../lib/once.ts'
import { openFileLimit } from '../lib/open-files.ts'
import { inSlices } from '../lib/slices.ts'
import { DEFAULT_SESSION } from './session.ts'
import type { OwnedSession } from './session-handle.ts'

/** Enough that parallel tests seldom pay for opening one again, which takes milliseconds. */
const MAX_AWAKE = 128
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
  readonly slot: OwnedSession
  used: number
}

/** Keeps the number of open databases small: closes those that were not used for longest when there are too many. */
export function limitLoaded(entries: () => Iterable<SessionEntry>, fileLimit = openFileLimit()) {
  const mostFiles = Math.max(FEWEST_OPEN, Math.min(MAX_AWAKE, Math.floor((fileLimit * SHARE) / FILES_EACH)))
  let open = 0
  let closing = false
  let stopped = false
  const awake = () => [...entries()].filter(({ slot }) => slot.awake)
  const close = async () => {
    const all = awake()
    const idle = all.filter(({ slot }) => slot.active === 0).sort((one, other) => one.used - other.used)
    await inSlices(idle.slice(0, Math.max(0, all.length - MAX_AWAKE + SPARE)), ({ slot }) => {
      // It may have been used again.
      if (!stopped && slot.active === 0) slot.sleep()
    })
    open = awake().length
    return idle.length > 0 && open > MAX_AWAKE
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
    /** A database in memory was opened: closes some when there are too many, a few in each turn. */
    opened() {
      open++
      if (open <= MAX_AWAKE || closing) return
      closing = true
      // Not in the midst of what opens it.
      setImmediate(() => void closeUntilFew())
    },
    /** A file is about to be opened: closes one at once when a quarter of those that a process may have open are those of sessions. */
    opening() {
      const files = awake()
      if (files.length >= mostFiles) closeNow(files, files.length - mostFiles + 1)
    },
    /** The system opens no more files: closes some at once; false when none could be closed. */
    makeRoom: () => closeNow(awake(), CLOSED_AT_ONCE) > 0,
    stop() {
      stopped = true
    },
  }
}

/** Beyond so many, the first goes. */
const MAX_PEEKED = 32

/** Sessions that nobody has used: each is made when it is looked at, is as a new one, and is neither counted nor listed. */
export function createTransient(slotOf: (name: string) => OwnedSession, realNow: () => number) {
  const peeked = new Map<string, SessionEntry>()
  const dropOne = () => {
    const idle = [...peeked].find(([, { slot }]) => slot.active === 0)
    // Whoever still reads it opens it again.
    idle?.[1].slot.sleep()
    if (idle) peeked.delete(idle[0])
  }
  return {
    /** The session of a name, made on first sight. */
    entry(name: string): SessionEntry {
      const found = peeked.get(name)
      if (found) return found
      const entry = { slot: slotOf(name), used: realNow() }
      if (peeked.size >= MAX_PEEKED) dropOne()
      peeked.set(name, entry)
      return entry
    },
    slot: (name: string) => peeked.get(name)?.slot,
    remove: (name: string) => void peeked.delete(name),
    entries: () => peeked.values(),
    /** Closes the databases of those that were not looked at since a time (ms of real time). */
    sleepIdle(since: number): void {
      for (const { slot, used } of peeked.values()) if (slot.active === 0 && used <= since) slot.sleep()
    },
  }
}

/** Idle sessions sleep after so long, in ms: long enough that no test in its course pays for waking them. */
const AWAKE_MS = 5_000
const SWEEP_MS = 2_000

/** What is watched. */
interface IdleOptions {
  sessions: ReadonlyMap<string, SessionEntry>
  peeked: ReturnType<typeof createTransient>
  /** Where earlier processes have left sessions; undefined when there is no such place. */
  folder: { names(): string[]; lastWritten(name: string): number | undefined } | undefined
  realNow(): number
  /** Milliseconds after which a session is dropped; none is when left out. */
  ttl: number | undefined
  /** Forgets a session, and says why to whoever is in it. */
  remove(name: string, why: string): void
}

/** Watches for idle sessions, whose databases are closed and which are dropped after a time; the default one is never one. */
export function watchIdle({ sessions, peeked, folder, realNow, ttl = Number.POSITIVE_INFINITY, remove }: IdleOptions) {
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
  /** Looks at all of them, a few in each turn; done every few seconds. */
  const sweep = (): Promise<void> => {
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
  return { sweep, /** How many were dropped. */ dropped: () => dropped, stop }
}
