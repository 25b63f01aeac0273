// All sessions of a process. They share nothing, so parallel tests cannot see each other.
import { template } from '../db/open.ts'
import { realClock } from '../lib/clock.ts'
import { lazy } from '../lib/lazy.ts'
import { once } from '../lib/once.ts'
import { oneByOne } from '../lib/slices.ts'
import { sumOf } from '../lib/values.ts'
import { createDiscards, resetError } from './data.ts'
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
import { type OwnedSession, type SessionSettings, type SessionsOptions, sessionHandleMaker } from './session-handle.ts'

export type { Session } from './session.ts'

const folders = lazy<typeof import('./folder.ts')>(() => require('./folder.ts'))

/** Notified of changes to sessions. */
interface SessionListener {
  /** A session has a new generation. */
  renewed?(session: Session): void
  /** A session was unused for so long that it is about to be dropped. */
  expiring?(session: Session): void
  /** A session was removed. */
  removed?(name: string): void
  /** A session of an earlier process was restored, with these settings. */
  restored?(session: Session, made: GeneratedWith): void
}

/** A session that cannot be used. */
interface SessionProblem {
  session: string
  /** The problem, and how to fix it. */
  message: string
}

/** All sessions of a process. */
export type Sessions = ReturnType<typeof createSessions>

/** Maximum number of named sessions that could not be restored: any client can request more. */
const MAX_UNRESTORED = 1_000

/** The sessions, their creation and removal. */
function registryOf(options: SessionsOptions) {
  const { most = 1_000, realNow = realClock.now } = options
  const sessions = new Map<string, SessionEntry>()
  /** Those that could not be restored, with the reason. */
  const unrestored = new Map<string, string>()
  const listeners: SessionListener[] = []
  const all = () => [...sessions.values(), ...transients.entries()]
  const loadedLimit = limitLoaded(all)
  const empty = once(template)
  const folder =
    options.folder === undefined
      ? undefined
      : folders().openFolder(options.folder, { db: options.db, empty, loaded: loadedLimit })
  const slotOf = sessionHandleMaker(options, {
    empty,
    folder,
    opened: loadedLimit.opened,
    discard: createDiscards(),
    renewed(session) {
      for (const listener of listeners) listener.renewed?.(session)
    },
  })
  const transients = createTransient(slotOf, realNow)
  /** Remembers why a session cannot be restored or removed. */
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
    transients,
    folder,
    listeners,
    realNow,
    draining: false,
    refusing: false,
    watch: (listener: SessionListener) => void listeners.push(listener),
    create(name: string, settings?: SessionSettings, made?: GeneratedWith): Session {
      if (registry.refusing) throw shuttingDown()
      if (sessions.size >= most) throw tooMany(most)
      const looked = settings === undefined && !folder ? transients.slot(name) : undefined
      const handle = looked ?? noting(name, () => slotOf(name, settings ?? 'called', made))
      transients.remove(name)
      sessions.set(name, { handle, used: realNow() })
      if (handle.origin === 'restored') noting(name, () => continueIn(registry, name, handle))
      unrestored.delete(name)
      return handle.current
    },
    /** Restores one of an earlier process. */
    restore(name: string): void {
      if (sessions.has(name) || !isName(name)) return
      if (noting(name, () => folder?.has(name))) registry.create(name)
    },
    /**
     * One of an earlier process need not be restored for it, which may not be possible. One whose file cannot be
     * removed is forgotten all the same: it is unused.
     */
    remove(name: string, why: string): void {
      const entry = sessions.get(name)
      if (!entry && (!isName(name) || !folder?.has(name))) throw sessionNotFound(name)
      sessions.delete(name)
      unrestored.delete(name)
      entry?.handle.forget(resetError(why))
      try {
        noting(name, () => folder?.remove(name))
      } finally {
        if (entry || !unrestored.has(name)) for (const listener of listeners) listener.removed?.(name)
      }
    },
    close() {
      loadedLimit.stop()
      for (const { handle } of all()) handle.close()
      folder?.close()
    },
  }
  return registry
}

/** Applies the stored settings to a restored session: all of them, or it fails. */
function continueIn(
  { sessions, folder, listeners }: ReturnType<typeof registryOf>,
  name: string,
  handle: OwnedSession,
): void {
  const made = folder?.madeWith(name)
  if (!made) return
  try {
    for (const listener of listeners) listener.restored?.(handle.current, made)
  } catch (error) {
    sessions.delete(name)
    handle.close()
    throw unrestorable(name, (error as Error).message)
  }
}

/**
 * The sessions over a database.
 * @throws DatabaseError if the file or the folder cannot be used
 */
export function createSessions(options: SessionsOptions) {
  const registry = registryOf(options)
  const { sessions, transients, folder, realNow, create, restore, remove } = registry
  const use = (entry: SessionEntry): Session => {
    entry.used = realNow()
    return entry.handle.current
  }
  create(DEFAULT_SESSION)
  const next = oneByOne()
  const isOpen = (name: string) => name === DEFAULT_SESSION || sessions.get(name)?.handle.loaded
  const list = () => [...sessions.values()].map(({ handle }) => handle.current)
  const isLeft = (name: string): boolean => {
    try {
      return folder?.has(name) ?? false
    } catch {
      return true
    }
  }
  const unlessUnusable = (run: () => void) => {
    try {
      run()
    } catch (error) {
      if (!(error instanceof UnusableSession)) throw error
    }
  }
  const expire = (name: string, why: string) => {
    const entry = sessions.get(name)
    // An unreadable session has no evidence.
    unlessUnusable(() => {
      if (entry) for (const listener of registry.listeners) listener.expiring?.(entry.handle.current)
    })
    // What remains of it in the folder is listed among the problems.
    unlessUnusable(() => remove(name, why))
  }
  const idle = watchIdle({ sessions, transients, folder, realNow, ttl: options.ttl, remove: expire })
  return {
    /**
     * The session of a name, created on first use.
     * @throws ApiError 400 for an invalid name, 429 if there are too many
     */
    get(name: string): Session {
      const found = sessions.get(name)
      return found ? use(found) : create(name)
    },
    /**
     * The same for readers: a session that does not exist equals a new one, and is neither counted nor listed until it is
     * used.
     */
    peek(name: string): Session {
      restore(name)
      return use(sessions.get(name) ?? transients.entry(name))
    },
    /**
     * What to wait for before a session is used: its turn, if its file must be opened or created, which takes some
     * milliseconds: hundreds at once would block all others. Absent if sessions have no files.
     */
    turn: folder && ((name: string) => (isOpen(name) ? undefined : next())),
    /**
     * The existing session of a name.
     * @throws ApiError 404 if there is none
     */
    find(name: string): Session {
      restore(name)
      const entry = sessions.get(name)
      if (!entry) throw sessionNotFound(name)
      return use(entry)
    },
    /** The same; undefined if there is none. */
    known(name: string): Session | undefined {
      restore(name)
      const entry = sessions.get(name)
      return entry && use(entry)
    },
    /** The same; also undefined for one of an earlier process that was not used since. */
    loaded: (name: string): Session | undefined => sessions.get(name)?.handle.current,
    /**
     * Creates a session. Where sessions outlive the process, the settings in `made` are stored.
     * @throws ApiError 409 if the name exists, 400 for a virtual clock while calls are forwarded
     */
    create(name: string, settings: SessionSettings, made: GeneratedWith): Session {
      restore(name)
      if (sessions.has(name)) throw alreadyThere(name)
      return create(name, settings, made)
    },
    /**
     * Deletes a session with all its data, and ends its calls.
     * @throws ApiError 404 if there is none
     */
    delete(name: string): void {
      if (name === DEFAULT_SESSION) throw undeletable()
      remove(name, 'the session was deleted')
    },
    /** The process that they belong to. */
    instance: options.instance,
    list,
    /** The result of `read` for all of them, without those whose files it cannot read. */
    overAll<Result>(read: (sessions: readonly Session[]) => Result): Result {
      for (let readable: readonly Session[] = list(); ; ) {
        try {
          return read(readable)
        } catch (error) {
          if (!(error instanceof UnusableSession)) throw error
          const rest = readable.filter(
            ({ name, slot: handle }) => name !== error.session && handle.problem === undefined,
          )
          if (rest.length === readable.length) throw error
          readable = rest
        }
      }
    },
    /** The sessions whose files could not be used the last time, including those that could not be restored. */
    problems: (): SessionProblem[] => [
      // Moving a file away fixes its problem.
      ...[...registry.unrestored].flatMap(([session, message]) => (isLeft(session) ? [{ session, message }] : [])),
      ...list().flatMap(({ name, slot: handle }) =>
        handle.problem === undefined ? [] : [{ session: name, message: handle.problem }],
      ),
    ],
    /** Marks the process as shutting down. */
    drain(): void {
      registry.draining = true
    },
    get draining(): boolean {
      return registry.draining
    },
    /** From now on no session is created: 503 for calls to a new one. */
    refuseNew(): void {
      registry.refusing = true
    },
    /** Number of calls and other activities in progress. */
    active: () => sumOf([...sessions.values()], ({ handle }) => handle.active),
    /** Number of current silences that only a signal ends. */
    endless: () => sumOf([...sessions.values()], ({ handle }) => handle.current.clock.endless),
    watch: registry.watch,
    /** The sessions of an earlier process that were not used since. */
    left: () => folder?.names().filter((name) => !sessions.has(name)) ?? [],
    /** Deletes the data of one of those without restoring it; its settings stay. */
    clearLeft: (name: string): void => folder?.clear(name),
    /** Number of sessions dropped since the start because they were unused. */
    dropped: idle.dropped,
    /** Unloads idle sessions, and drops expired ones. Call it every few seconds. */
    sweep: idle.sweep,
    close(): void {
      idle.stop()
      registry.close()
    },
  }
}
