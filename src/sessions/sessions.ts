// All sessions of a process. They share nothing, so parallel tests cannot see each other.
import type { Instance } from '../contract/core/instance.ts'
import { template } from '../db/open.ts'
import { realClock } from '../lib/clock.ts'
import { lazy } from '../lib/lazy.ts'
import { once } from '../lib/once.ts'
import { oneByOne } from '../lib/slices.ts'
import { resetError } from './data.ts'
import type { GeneratedWith } from './folder.ts'
import { createTransient, limitLoaded, type SessionEntry, watchIdle } from './loaded-sessions.ts'
import {
  alreadyThere,
  isName,
  sessionNotFound,
  shuttingDown,
  tooMany,
  UnusableSession,
  undeletable,
  unrestorable,
} from './refusals.ts'
import { DEFAULT_SESSION, type Session } from './session.ts'
import type { OwnedSession } from './session-handle.ts'
import { type SessionSettings, type SessionsOptions, sessionHandleMaker } from './session-handle.ts'

export type { Session } from './session.ts'

const folders = lazy<typeof import('./folder.ts')>(() => require('./folder.ts'))

/** Told of what becomes of sessions. */
interface SessionListener {
  /** A session has a new generation. */
  renewed?(session: Session): void
  /** Nobody has used a session for so long that it is about to go. */
  expiring?(session: Session): void
  /** A session is gone. */
  removed?(name: string): void
  /** A session that an earlier process has left is here again, and was made with this. */
  restored?(session: Session, made: GeneratedWith): void
}

/** A session that cannot be used as it is. */
interface SessionProblem {
  session: string
  /** What is wrong, and what can be done. */
  message: string
}

/** All sessions of a process. */
export interface Sessions {
  /** The session of a name, made on first use; 400 for a name that is none, 429 when there are too many. */
  get(name: string): Session
  /**
   * The same for whoever only looks: a session that is not there is as a new one, and neither counted nor listed until it is
   * used, which goes on with what was looked at.
   */
  peek(name: string): Session
  /**
   * What is to be waited for before a session of a name is used: its turn, where its file must be opened or made for that, which takes
   * some milliseconds: hundreds that begin at once would hold up all others. Absent where sessions have no files.
   */
  readonly turn: ((name: string) => Promise<void> | undefined) | undefined
  /** The session of a name that is there; 404 otherwise. */
  find(name: string): Session
  /** The same, undefined when there is none. */
  known(name: string): Session | undefined
  /** The same, undefined as well for one that an earlier process has left and that was not used since. */
  loaded(name: string): Session | undefined
  /**
   * Makes a session; 409 when there is one of that name, 400 for a virtual clock while calls are forwarded. Where sessions
   * outlive the process, what it is `made` with is written down.
   */
  create(name: string, settings: SessionSettings, made: GeneratedWith): Session
  /** Forgets a session and all it holds; calls that still run in it end. 404 when there is none. */
  delete(name: string): void
  list(): Session[]
  /** What `read` gives of all of them; those are left out whose files it cannot read. */
  overAll<Result>(read: (sessions: readonly Session[]) => Result): Result
  /** The sessions whose files could not be used the last time, those too that were left and could not be brought back. */
  problems(): SessionProblem[]
  /** The process that they live in. */
  readonly instance: Instance
  /** From now on it is known that this process is about to end. */
  drain(): void
  readonly draining: boolean
  /** From now on no session begins: 503 for whoever calls one that is not there. */
  refuseNew(): void
  /** How many calls and other work are under way. */
  active(): number
  /** How many silences, of those that are under way, nothing ends but a signal. */
  endless(): number
  watch(listener: SessionListener): void
  /** How many were dropped since the start because nobody used them. */
  dropped(): number
  /** Lets idle sessions sleep, and drops those whose time is up; done every few seconds. */
  sweep(): Promise<void>
  /** The sessions that an earlier process has left, and that were not used since. */
  left(): string[]
  /** Forgets what one of those holds, without bringing it back; it keeps what it was made with. */
  clearLeft(name: string): void
  close(): void
}

/** Sessions that could not be brought back, and are named: anybody can ask for more. */
const MAX_UNRESTORED = 1_000

/** The sessions that there are, how they come and how they go. */
function registryOf(options: SessionsOptions) {
  const { most = 1_000, realNow = realClock.now } = options
  const sessions = new Map<string, SessionEntry>()
  /** Those that were left and could not be brought back, with why. */
  const unrestored = new Map<string, string>()
  const listeners: SessionListener[] = []
  const all = () => [...sessions.values(), ...peeked.entries()]
  const awake = limitLoaded(all)
  const empty = once(template)
  const folder =
    options.folder === undefined ? undefined : folders().openFolder(options.folder, { db: options.db, empty, awake })
  const slotOf = sessionHandleMaker(options, {
    empty,
    folder,
    opened: awake.opened,
    renewed(session) {
      for (const listener of listeners) listener.renewed?.(session)
    },
  })
  const peeked = createTransient(slotOf, realNow)
  /** Remembers of a session that cannot be brought back, or removed, why. */
  const noting = <Result>(name: string, run: () => Result): Result => {
    try {
      return run()
    } catch (error) {
      if (error instanceof UnusableSession && unrestored.size < MAX_UNRESTORED) unrestored.set(name, error.message)
      throw error
    }
  }
  const registry = {
    sessions,
    unrestored,
    peeked,
    folder,
    listeners,
    realNow,
    draining: false,
    refusing: false,
    watch: (listener: SessionListener) => void listeners.push(listener),
    create(name: string, settings?: SessionSettings, made?: GeneratedWith): Session {
      if (registry.refusing) throw shuttingDown()
      if (sessions.size >= most) throw tooMany(most)
      const looked = settings === undefined && !folder ? peeked.slot(name) : undefined
      const slot = looked ?? noting(name, () => slotOf(name, settings ?? 'called', made))
      peeked.remove(name)
      sessions.set(name, { slot, used: realNow() })
      if (slot.origin === 'restored') noting(name, () => continueIn(registry, name, slot))
      unrestored.delete(name)
      return slot.current
    },
    /** Brings back one that an earlier process has left. */
    restore(name: string): void {
      if (sessions.has(name) || !isName(name)) return
      if (noting(name, () => folder?.has(name))) registry.create(name)
    },
    /**
     * One that an earlier process has left need not be brought back for it, which may not be possible. One whose file cannot be
     * removed is forgotten all the same: it is used by nobody any more.
     */
    remove(name: string, why: string): void {
      const entry = sessions.get(name)
      if (!entry && (!isName(name) || !folder?.has(name))) throw sessionNotFound(name)
      sessions.delete(name)
      unrestored.delete(name)
      if (entry) forget(entry.slot, why)
      try {
        noting(name, () => folder?.remove(name))
      } finally {
        if (entry || !unrestored.has(name)) for (const listener of listeners) listener.removed?.(name)
      }
    },
    close() {
      awake.stop()
      for (const { slot } of all()) slot.close()
      folder?.close()
    },
  }
  return registry
}

/** Gives a session that an earlier process has left what it was made with: all of it, or it is none. */
function continueIn(
  { sessions, folder, listeners }: ReturnType<typeof registryOf>,
  name: string,
  slot: OwnedSession,
): void {
  const made = folder?.madeWith(name)
  if (!made) return
  try {
    for (const listener of listeners) listener.restored?.(slot.current, made)
  } catch (error) {
    sessions.delete(name)
    slot.close()
    throw unrestorable(name, (error as Error).message)
  }
}

/** Ends what runs in a session that is none any more. */
function forget(slot: OwnedSession, why: string): void {
  slot.forget(resetError(why))
  slot.leave()
}

/** The sessions over a database; throws `DatabaseError` when the file or the folder cannot be used. */
export function createSessions(options: SessionsOptions): Sessions {
  const registry = registryOf(options)
  const { sessions, peeked, realNow, create, restore, remove } = registry
  const use = (entry: SessionEntry): Session => {
    entry.used = realNow()
    return entry.slot.current
  }
  create(DEFAULT_SESSION)
  const next = oneByOne()
  const isOpen = (name: string) => name === DEFAULT_SESSION || sessions.get(name)?.slot.awake
  const list = () => [...sessions.values()].map(({ slot }) => slot.current)
  const isLeft = (name: string): boolean => {
    try {
      return registry.folder?.has(name) ?? false
    } catch {
      return true
    }
  }
  const expire = (name: string, why: string) => {
    const entry = sessions.get(name)
    try {
      if (entry) for (const listener of registry.listeners) listener.expiring?.(entry.slot.current)
    } catch (error) {
      // Nothing can be said of what cannot be read.
      if (!(error instanceof UnusableSession)) throw error
    }
    try {
      remove(name, why)
    } catch (error) {
      // What stays of it in the folder is among the problems.
      if (!(error instanceof UnusableSession)) throw error
    }
  }
  const idle = watchIdle({ sessions, peeked, folder: registry.folder, realNow, ttl: options.ttl, remove: expire })
  return {
    get(name) {
      const found = sessions.get(name)
      return found ? use(found) : create(name)
    },
    peek(name) {
      restore(name)
      return use(sessions.get(name) ?? peeked.entry(name))
    },
    turn: registry.folder && ((name) => (isOpen(name) ? undefined : next())),
    find(name) {
      restore(name)
      const entry = sessions.get(name)
      if (!entry) throw sessionNotFound(name)
      return use(entry)
    },
    known(name) {
      restore(name)
      const entry = sessions.get(name)
      return entry && use(entry)
    },
    loaded: (name) => sessions.get(name)?.slot.current,
    create(name, settings, made) {
      restore(name)
      if (sessions.has(name)) throw alreadyThere(name)
      return create(name, settings, made)
    },
    delete(name) {
      if (name === DEFAULT_SESSION) throw undeletable()
      remove(name, 'the session was deleted')
    },
    instance: options.instance,
    list,
    overAll(read) {
      for (let readable: readonly Session[] = list(); ; ) {
        try {
          return read(readable)
        } catch (error) {
          if (!(error instanceof UnusableSession)) throw error
          const rest = readable.filter(({ name, slot }) => name !== error.session && slot.problem === undefined)
          if (rest.length === readable.length) throw error
          readable = rest
        }
      }
    },
    problems: () => [
      // Whoever has moved a file away has mended it.
      ...[...registry.unrestored].flatMap(([session, message]) => (isLeft(session) ? [{ session, message }] : [])),
      ...list().flatMap(({ name, slot }) =>
        slot.problem === undefined ? [] : [{ session: name, message: slot.problem }],
      ),
    ],
    drain() {
      registry.draining = true
    },
    get draining() {
      return registry.draining
    },
    refuseNew() {
      registry.refusing = true
    },
    active: () => [...sessions.values()].reduce((sum, { slot }) => sum + slot.active, 0),
    endless: () =>
      [...new Set([...sessions.values()].map(({ slot }) => slot.current.clock))].reduce(
        (sum, clock) => sum + clock.endless,
        0,
      ),
    watch: registry.watch,
    left: () => registry.folder?.names().filter((name) => !sessions.has(name)) ?? [],
    clearLeft: (name) => registry.folder?.clear(name),
    dropped: idle.dropped,
    sweep: idle.sweep,
    close() {
      idle.stop()
      registry.close()
    },
  }
}
