// Limits which sessions have their databases open, and for how long: the memory of a closed one is not returned to the
// system, and the number of open files is limited. Unused sessions are unloaded, and dropped after a time.

import { everySoOften } from '../lib/clock.ts'
import { once } from '../lib/once.ts'
import { openFileLimit } from '../lib/open-files.ts'
import { inSlices } from '../lib/slices.ts'
import { DEFAULT_SESSION } from './session.ts'
import type { OwnedSession } from './session-handle.ts'

/** Enough that parallel tests seldom have to open one again, which takes milliseconds. */
const MAX_LOADED = 128
/** How many more are closed then. */
const SPARE = 16
/** Open files per session: the database, its log, and the log's index twice. */
const FILES_EACH = 4
/** Their maximum share of the files of a process: the others are mostly connections. */
const SHARE = 1 / 4
/** Minimum number of open sessions, however few files are allowed. */
const FEWEST_OPEN = 4
/** How many are closed when the system opens no more files. */
const CLOSED_AT_ONCE = 16

/** A session, and when it was last used (ms of real time). */
export interface SessionEntry {
  readonly handle: OwnedSession
  used: number
}

/** Limits the number of open databases: closes the least recently used ones when there are too many. */
export function limitLoaded(entries: () => Iterable<SessionEntry>, fileLimit = openFileLimit()) {
  const mostFiles = Math.max(FEWEST_OPEN, Math.min(MAX_LOADED, Math.floor((fileLimit * SHARE) / FILES_EACH)))
  let open = 0
  let closing = false
  let stopped = false
  const loaded = () => [...entries()].filter(({ handle }) => handle.loaded)
  const close = async () => {
    const all = loaded()
    const idle = all.filter(({ handle }) => handle.active === 0).sort((one, other) => one.used - other.used)
    await inSlices(idle.slice(0, Math.max(0, all.length - MAX_LOADED + SPARE)), ({ handle }) => {
      // It may have been used again.
      if (!stopped && handle.active === 0) handle.sleep()
    })
    open = loaded().length
    return idle.length > 0 && open > MAX_LOADED
  }
  const closeUntilFew = async () => {
    while (!stopped && (await close()));
    closing = false
  }
  /** Closes files at once, those of idle sessions first. One in use is opened again at its next use. */
  const closeNow = (files: readonly SessionEntry[], count: number): number => {
    const order = files.toSorted(
      (one, other) => Math.sign(one.handle.active) - Math.sign(other.handle.active) || one.used - other.used,
    )
    let closed = 0
    for (const { handle } of order) {
      if (closed >= count) break
      handle.sleep()
      if (!handle.loaded) closed++
    }
    return closed
  }
  return {
    /** An in-memory database was opened: closes some if there are too many, a few in each turn. */
    opened() {
      open++
      if (open <= MAX_LOADED || closing) return
      closing = true
      // Not while one is being opened.
      setImmediate(() => void closeUntilFew())
    },
    /** A file is about to be opened: closes one if a quarter of the allowed files belong to sessions. */
    opening() {
      const files = loaded()
      if (files.length >= mostFiles) closeNow(files, files.length - mostFiles + 1)
    },
    /** The system opens no more files: closes some at once; false if none could be closed. */
    makeRoom: () => closeNow(loaded(), CLOSED_AT_ONCE) > 0,
    stop() {
      stopped = true
    },
  }
}

/** Beyond this number, the first one is dropped. */
const MAX_TRANSIENTS = 32

/**
 * Transient sessions: created when they are read, equal to new ones, and neither counted nor listed until they are
 * used.
 */
export function createTransient(slotOf: (name: string) => OwnedSession, realNow: () => number) {
  const transients = new Map<string, SessionEntry>()
  const dropOne = () => {
    const idle = [...transients].find(([, { handle }]) => handle.active === 0)
    // A reader in progress opens it again.
    idle?.[1].handle.sleep()
    if (idle) transients.delete(idle[0])
  }
  return {
    /** The session of a name, created on demand. */
    entry(name: string): SessionEntry {
      const found = transients.get(name)
      if (found) return found
      const entry = { handle: slotOf(name), used: realNow() }
      if (transients.size >= MAX_TRANSIENTS) dropOne()
      transients.set(name, entry)
      return entry
    },
    slot: (name: string) => transients.get(name)?.handle,
    remove: (name: string) => void transients.delete(name),
    entries: () => transients.values(),
    /** Closes the databases of those that were not read since a time (ms of real time). */
    sleepIdle(since: number): void {
      for (const { handle, used } of transients.values()) if (handle.active === 0 && used <= since) handle.sleep()
    },
  }
}

/**
 * Idle time in ms after which a session is unloaded: long enough that no running test has to wait for loading it again.
 */
const LOADED_MS = 5_000
const SWEEP_MS = 2_000

/** The sessions to watch. */
interface IdleOptions {
  sessions: ReadonlyMap<string, SessionEntry>
  transients: ReturnType<typeof createTransient>
  /** The folder of earlier processes' sessions; undefined if there is none. */
  folder: { names(): string[]; lastWritten(name: string): number | undefined } | undefined
  realNow(): number
  /** Milliseconds after which a session is dropped; never if omitted. */
  ttl: number | undefined
  /** Removes a session, and tells the reason to its calls. */
  remove(name: string, why: string): void
}

/** Unloads idle sessions, and drops them after a time, except for the default one. */
export function watchIdle(options: IdleOptions) {
  const { sessions, transients, folder, realNow, ttl = Number.POSITIVE_INFINITY, remove } = options
  let dropped = 0
  let stopped = false
  const drop = (name: string) => {
    dropped++
    remove(name, 'the session was dropped')
  }
  const look = (name: string, entry: SessionEntry) => {
    // Meanwhile it may have been removed, or another may have its name.
    if (stopped || name === DEFAULT_SESSION || sessions.get(name) !== entry) return
    const now = realNow()
    if (entry.handle.active > 0) entry.used = now
    const idle = now - entry.used
    if (idle >= ttl) drop(name)
    else if (idle >= LOADED_MS) entry.handle.sleep()
  }
  /**
   * Sessions of earlier processes that were not used since, with the time of the next check. Only this process writes
   * them.
   */
  const restorable = once(() => new Map((folder?.names() ?? []).map((name) => [name, 0])))
  const lookAtLeft = (name: string, due: number) => {
    if (stopped || realNow() < due) return
    const written = sessions.has(name) ? undefined : folder?.lastWritten(name)
    if (written !== undefined && realNow() - written < ttl) {
      restorable().set(name, written + ttl)
      return
    }
    restorable().delete(name)
    if (written !== undefined) drop(name)
  }
  const pass = async () => {
    await inSlices([...sessions], ([name, entry]) => look(name, entry))
    if (ttl < Number.POSITIVE_INFINITY) await inSlices([...restorable()], ([name, due]) => lookAtLeft(name, due))
    if (!stopped) transients.sleepIdle(realNow() - LOADED_MS)
  }
  let last: Promise<void> | undefined
  /** Checks all of them, a few in each turn. Call it every few seconds. */
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
