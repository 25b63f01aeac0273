// All sessions of a process. They share nothing, so parallel tests cannot see each other.
import { ApiError } from '../contract/error.ts'
import type { Instance } from '../contract/instance.ts'
import { quote } from '../contract/validation.ts'
import { openClone, openFile, template } from '../db/open.ts'
import { type Clock, realClock } from '../lib/clock.ts'
import { once } from '../lib/once.ts'
import { limitAwake, type SessionEntry } from './awake.ts'
import { fileData, memoryData, resetError, type SessionData } from './data.ts'
import { watchIdle } from './idle.ts'
import { createPeeked } from './peeked.ts'
import { type Approvals, DEFAULT_SESSION, type Session } from './session.ts'
import { createSlot, type OwnedSlot } from './slot.ts'
import type { DataLimits } from './stores.ts'

export type { Session } from './session.ts'

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
  /** Forgets a session and all it holds; calls that still run in it end. 404 when there is none. */
  delete(name: string): void
  list(): Session[]
  watch(listener: SessionListener): void
  /** How many were dropped since the start because nobody used them. */
  dropped(): number
  /** Lets idle sessions sleep, and drops those whose time is up; done every few seconds. */
  sweep(): void
  close(): void
}

const NAME = /^[A-Za-z0-9._-]{1,64}$/
export interface SessionsOptions {
  /** File of the default session's database, or `:memory:`. */
  db: string
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

/** The sessions over a database; throws `DatabaseError` when the file cannot be used. */
export function createSessions(options: SessionsOptions): Sessions {
  const { most = 1_000, ttl, realNow = realClock.now } = options
  const sessions = new Map<string, SessionEntry>()
  const listeners: SessionListener[] = []
  const all = () => [...sessions.values(), ...peeked.entries()]
  const awake = limitAwake(all)
  const slotOf = slotMaker(options, {
    opened: awake.opened,
    renewed(session) {
      for (const listener of listeners) listener.renewed?.(session)
    },
  })
  const peeked = createPeeked(slotOf, realNow)
  const create = (name: string, settings?: SessionSettings): Session => {
    const slot = (settings === undefined ? peeked.slot(name) : undefined) ?? slotOf(name, settings)
    if (sessions.size >= most) throw tooMany(most)
    peeked.remove(name)
    sessions.set(name, { slot, used: realNow() })
    return slot.current
  }
  const use = (entry: SessionEntry): Session => {
    entry.used = realNow()
    return entry.slot.current
  }
  const remove = (name: string, why: string): void => {
    entryOf(sessions, name).slot.forget(resetError(why))
    sessions.delete(name)
    for (const listener of listeners) listener.removed?.(name)
  }
  create(DEFAULT_SESSION)
  const idle = watchIdle({ sessions, peeked, realNow, ttl, remove })
  return {
    get(name) {
      const found = sessions.get(name)
      return found ? use(found) : create(name)
    },
    peek: (name) => use(sessions.get(name) ?? peeked.entry(name)),
    find: (name) => use(entryOf(sessions, name)),
    create(name, settings) {
      if (sessions.has(name)) throw alreadyThere(name)
      return create(name, settings)
    },
    delete(name) {
      entryOf(sessions, name)
      if (name === DEFAULT_SESSION) throw undeletable()
      remove(name, 'the session was deleted')
    },
    list: () => [...sessions.values()].map(({ slot }) => slot.current),
    watch: (listener) => void listeners.push(listener),
    dropped: idle.dropped,
    sweep: idle.sweep,
    close() {
      idle.stop()
      awake.stop()
      for (const { slot } of all()) slot.close()
    },
  }
}

/** 404 for a name that no session has. */
function entryOf(sessions: ReadonlyMap<string, SessionEntry>, name: string): SessionEntry {
  const found = sessions.get(name)
  if (found) return found
  throw new ApiError(404, 'session_not_found', `there is no session named ${JSON.stringify(name)}`, {
    param: 'session',
  })
}

/** Makes a session of a name, which may be otherwise than the others. */
function slotMaker(
  options: SessionsOptions,
  { opened, renewed }: { opened(): void; renewed(session: Session): void },
): (name: string, settings?: SessionSettings) => OwnedSlot {
  const { db, instance, keep = {}, noVirtualClock } = options
  const empty = once(template)
  const dataOf =
    (name: string) =>
    (now: () => number): SessionData => {
      if (name !== DEFAULT_SESSION) return memoryData(empty, { keep, now, opened })
      const database =
        db === ':memory:' ? { database: openClone(empty()), restored: false, release: () => {} } : openFile(db)
      return fileData(database, { keep, now })
    }
  return (name, settings) => {
    checkName(name)
    const { seed = options.seed, clock = options.clock, approvals = 'ask' } = settings ?? {}
    const made = settings !== undefined
    const isHome = name === (options.home ?? DEFAULT_SESSION)
    return createSlot({
      name,
      seed,
      clock,
      approvals,
      isHome,
      instance,
      made,
      data: dataOf(name),
      noVirtualClock,
      renewed,
    })
  }
}

function checkName(name: string): void {
  if (NAME.test(name)) return
  const message = `session name ${quote(name)} must be 1 to 64 letters, digits, '.', '_' or '-'`
  throw new ApiError(400, 'invalid_session', message, { param: 'name' })
}

const tooMany = (most: number) =>
  new ApiError(
    429,
    'session_limit',
    `there are ${most} sessions already, as many as --max-sessions allows: delete one (DELETE /_understudy/sessions/<name>), use one of them, or let idle ones be dropped with --session-ttl`,
  )

const alreadyThere = (name: string) =>
  new ApiError(
    409,
    'session_exists',
    `there is a session named ${JSON.stringify(name)} already: reset or delete it, or take another name`,
    { param: 'name' },
  )

const undeletable = () => new ApiError(400, 'default_session', 'the default session cannot be deleted; it can be reset')
