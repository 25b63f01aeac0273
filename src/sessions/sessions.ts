// All sessions of a process. They share nothing, so parallel tests cannot see each other.
import type { Instance } from '../contract/instance.ts'
import { openClone, openFile, template } from '../db/open.ts'
import { type Clock, realClock } from '../lib/clock.ts'
import { lazy } from '../lib/lazy.ts'
import { once } from '../lib/once.ts'
import { limitAwake, type SessionEntry } from './awake.ts'
import { fileData, memoryData, resetError, type SessionData } from './data.ts'
import type { MadeWith, SessionFolder } from './folder.ts'
import { watchIdle } from './idle.ts'
import { createPeeked } from './peeked.ts'
import { alreadyThere, checkName, entryOf, isName, shuttingDown, tooMany, undeletable } from './refusals.ts'
import { type Approvals, DEFAULT_SESSION, type Session } from './session.ts'
import { createSlot, type OwnedSlot } from './slot.ts'
import type { DataLimits } from './stores.ts'

export type { Session } from './session.ts'

const folders = lazy<typeof import('./folder.ts')>(() => require('./folder.ts'))

/** What a session may have otherwise than the others. */
export interface SessionSettings {
  seed?: number | undefined
  clock?: Clock['kind'] | undefined
  approvals?: Approvals | undefined
}

/** Told of what becomes of sessions. */
export interface SessionListener {
  /** A session has a new generation. */
  renewed?(session: Session): void
  /** A session is gone. */
  removed?(name: string): void
  /** A session that an earlier process has left is here again, and was made with this. */
  restored?(session: Session, made: MadeWith): void
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
  /** The session of a name that is there; 404 otherwise. */
  find(name: string): Session
  /** Makes a session; 409 when there is one of that name, 400 for a virtual clock while calls are forwarded. */
  create(name: string, settings: SessionSettings): Session
  /** Writes down what a session was made with, where sessions outlive the process. */
  keep(name: string, made: MadeWith): void
  /** Forgets a session and all it holds; calls that still run in it end. 404 when there is none. */
  delete(name: string): void
  list(): Session[]
  /** The process that they live in. */
  readonly instance: Instance
  /** From now on no session begins: 503 for whoever calls one that is not there. */
  drain(): void
  readonly draining: boolean
  /** How many calls and other work are under way. */
  active(): number
  watch(listener: SessionListener): void
  /** How many were dropped since the start because nobody used them. */
  dropped(): number
  /** Lets idle sessions sleep, and drops those whose time is up; done every few seconds. */
  sweep(): void
  close(): void
}

export interface SessionsOptions {
  /** File of the default session's database, or `:memory:`. */
  db: string
  /** Folder of the databases of all others, which are in memory when it is left out. */
  folder?: string | undefined
  seed: number
  clock: Clock['kind']
  /** The process that they live in. */
  instance: Instance
  /** Why no session may have a virtual clock; undefined when each may. */
  noVirtualClock?: string | undefined
  /** How much of each session is kept. */
  keep?: DataLimits | undefined
  /** Most sessions. */
  most?: number | undefined
  /** Milliseconds of real time after which a session is dropped that nobody uses, never the default one; none is when left out. */
  ttl?: number | undefined
  /** Name of the session that programs work in which name none; the default one when left out. */
  home?: string | undefined
  /** Milliseconds of real time. */
  realNow?: (() => number) | undefined
}

/** The sessions that there are, how they come and how they go. */
function registryOf(options: SessionsOptions) {
  const { most = 1_000, realNow = realClock.now } = options
  const sessions = new Map<string, SessionEntry>()
  const listeners: SessionListener[] = []
  const all = () => [...sessions.values(), ...peeked.entries()]
  const awake = limitAwake(all)
  const empty = once(template)
  const folder = options.folder === undefined ? undefined : folders().openFolder(options.folder, empty)
  const slotOf = slotMaker(options, {
    empty,
    folder,
    opened: awake.opened,
    renewed(session) {
      for (const listener of listeners) listener.renewed?.(session)
    },
  })
  const peeked = createPeeked(slotOf, realNow)
  const registry = {
    sessions,
    peeked,
    folder,
    realNow,
    draining: false,
    watch: (listener: SessionListener) => void listeners.push(listener),
    create(name: string, settings?: SessionSettings): Session {
      if (registry.draining) throw shuttingDown()
      if (sessions.size >= most) throw tooMany(most)
      const looked = settings === undefined && !folder ? peeked.slot(name) : undefined
      const slot = looked ?? slotOf(name, settings ?? 'called')
      peeked.remove(name)
      sessions.set(name, { slot, used: realNow() })
      const made = slot.origin === 'restored' ? folder?.madeWith(name) : undefined
      if (made) for (const listener of listeners) listener.restored?.(slot.current, made)
      return slot.current
    },
    /** Brings back one that an earlier process has left. */
    restore(name: string): void {
      if (!sessions.has(name) && isName(name) && folder?.has(name)) registry.create(name)
    },
    remove(name: string, why: string): void {
      entryOf(sessions, name).slot.forget(resetError(why))
      sessions.delete(name)
      folder?.remove(name)
      for (const listener of listeners) listener.removed?.(name)
    },
    close() {
      awake.stop()
      for (const { slot } of all()) slot.close()
      folder?.close()
    },
  }
  return registry
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
  const idle = watchIdle({ sessions, peeked, realNow, ttl: options.ttl, remove })
  return {
    get(name) {
      const found = sessions.get(name)
      return found ? use(found) : create(name)
    },
    peek(name) {
      restore(name)
      return use(sessions.get(name) ?? peeked.entry(name))
    },
    find(name) {
      restore(name)
      return use(entryOf(sessions, name))
    },
    create(name, settings) {
      restore(name)
      if (sessions.has(name)) throw alreadyThere(name)
      return create(name, settings)
    },
    keep: (name, made) => registry.folder?.keep(name, made),
    delete(name) {
      restore(name)
      entryOf(sessions, name)
      if (name === DEFAULT_SESSION) throw undeletable()
      remove(name, 'the session was deleted')
    },
    instance: options.instance,
    list: () => [...sessions.values()].map(({ slot }) => slot.current),
    drain() {
      registry.draining = true
    },
    get draining() {
      return registry.draining
    },
    active: () => [...sessions.values()].reduce((sum, { slot }) => sum + slot.active, 0),
    watch: registry.watch,
    dropped: idle.dropped,
    sweep: idle.sweep,
    close() {
      idle.stop()
      registry.close()
    },
  }
}

/** What sessions are made of. */
interface SlotParts {
  empty: () => Buffer
  folder: SessionFolder | undefined
  opened(): void
  renewed(session: Session): void
}

/** What a session that was left is otherwise than the others. */
const settingsIn = (made: MadeWith | undefined) => made?.session as SessionSettings | undefined

/** Makes a session of a name, which may be otherwise than the others. */
function slotMaker(
  options: SessionsOptions,
  { empty, folder, opened, renewed }: SlotParts,
): (name: string, settings?: SessionSettings | 'called') => OwnedSlot {
  const { db, instance, keep = {}, noVirtualClock } = options
  const dataOf =
    (name: string, looked: boolean) =>
    (now: () => number): SessionData => {
      if (name !== DEFAULT_SESSION && folder && !looked) return folder.data(name, { keep, now, opened })
      if (name !== DEFAULT_SESSION) return memoryData(empty, { keep, now, opened })
      const database =
        db === ':memory:' ? { database: openClone(empty()), restored: false, release: () => {} } : openFile(db)
      return fileData(database, { keep, now })
    }
  return (name, settings) => {
    checkName(name)
    // One that is looked at alone leaves no file.
    const given = typeof settings === 'object' ? settings : (settings && settingsIn(folder?.madeWith(name))) || {}
    const { seed = options.seed, clock = options.clock, approvals = 'ask' } = given
    const made = typeof settings === 'object'
    const isHome = name === (options.home ?? DEFAULT_SESSION)
    return createSlot({
      name,
      seed,
      clock,
      approvals,
      isHome,
      isDefault: name === DEFAULT_SESSION,
      instance,
      made,
      data: dataOf(name, settings === undefined),
      noVirtualClock,
      renewed,
    })
  }
}
