// All sessions of a process. They share nothing, so parallel tests cannot see each other.
import { ApiError } from '../contract/error.ts'
import { openClone, openFile, template } from '../db/open.ts'
import { type Clock, everySoOften, realClock } from '../lib/clock.ts'
import { once } from '../lib/once.ts'
import { limitAwake, type SessionEntry } from './awake.ts'
import { type DataLimits, fileData, memoryData, resetError, type SessionData } from './data.ts'
import type { Session } from './session.ts'
import { createSlot, type OwnedSlot } from './slot.ts'

export type { Session } from './session.ts'

/** What a session may have otherwise than the others. */
export interface SessionSettings {
  seed?: number | undefined
  clock?: Clock['kind'] | undefined
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

export const DEFAULT_SESSION = 'default'
const NAME = /^[A-Za-z0-9._-]{1,64}$/
/** Idle sessions sleep after so long, in ms: long enough that no test in its course pays for waking them. */
const AWAKE_MS = 5_000
const SWEEP_MS = 2_000
/** Sessions that were only looked at: beyond so many, the first goes. */
const MOST_PEEKED = 32

export interface SessionsOptions {
  /** File of the default session's database, or `:memory:`. */
  db: string
  seed: number
  clock: Clock['kind']
  /** Why no session may have a virtual clock; undefined when each may. */
  noVirtualClock?: string | undefined
  /** How much of each session is kept. */
  keep?: DataLimits | undefined
  /** Most sessions. */
  most?: number | undefined
  /** Milliseconds of real time after which a session is dropped that nobody uses, never the default one; none is when left out. */
  ttl?: number | undefined
  /** Milliseconds of real time. */
  realNow?: (() => number) | undefined
}

/** The sessions over a database; throws `DatabaseError` when the file cannot be used. */
export function createSessions(options: SessionsOptions): Sessions {
  const { db, keep = {}, noVirtualClock, most = 1_000, ttl, realNow = realClock.now } = options
  const sessions = new Map<string, SessionEntry>()
  // Not counted: nobody has used them.
  const peeked = new Map<string, SessionEntry>()
  let dropped = 0
  const listeners: SessionListener[] = []
  const empty = once(template)
  const all = () => [...sessions.values(), ...peeked.values()]
  const awake = limitAwake(all)

  const dataOf =
    (name: string) =>
    (now: () => number): SessionData => {
      if (name !== DEFAULT_SESSION) return memoryData(empty, { keep, now, opened: awake.opened })
      const database = db === ':memory:' ? { database: openClone(empty()), release: () => {} } : openFile(db)
      return fileData(database, { keep, now })
    }
  const slotOf = (name: string, { seed = options.seed, clock = options.clock }: SessionSettings = {}): OwnedSlot => {
    checkName(name)
    const renewed = (session: Session) => {
      for (const listener of listeners) listener.renewed?.(session)
    }
    return createSlot({ name, seed, clock, data: dataOf(name), noVirtualClock, renewed })
  }
  const create = (name: string, settings?: SessionSettings): Session => {
    const slot = (settings === undefined ? peeked.get(name)?.slot : undefined) ?? slotOf(name, settings)
    if (sessions.size >= most) throw tooMany(most)
    peeked.delete(name)
    sessions.set(name, { slot, used: realNow() })
    return slot.current
  }
  const entry = (name: string): SessionEntry => {
    const found = sessions.get(name)
    if (found) return found
    throw new ApiError(404, 'session_not_found', `there is no session named ${JSON.stringify(name)}`, {
      param: 'session',
    })
  }
  const remove = (name: string, why: string): void => {
    entry(name).slot.forget(resetError(why))
    sessions.delete(name)
    for (const listener of listeners) listener.removed?.(name)
  }
  const sweep = () => {
    const now = realNow()
    for (const [name, one] of sessions) {
      if (name === DEFAULT_SESSION) continue
      if (one.slot.active > 0) one.used = now
      if (ttl !== undefined && now - one.used >= ttl) {
        dropped++
        remove(name, 'the session was dropped')
      } else if (now - one.used >= AWAKE_MS) one.slot.sleep()
    }
    for (const { slot, used } of peeked.values()) if (slot.active === 0 && now - used >= AWAKE_MS) slot.sleep()
  }
  const firstPeek = (name: string): SessionEntry => {
    const made = { slot: slotOf(name), used: realNow() }
    if (peeked.size >= MOST_PEEKED) {
      const idle = [...peeked].find(([, { slot }]) => slot.active === 0)
      // Whoever still reads it opens it again.
      idle?.[1].slot.sleep()
      if (idle) peeked.delete(idle[0])
    }
    peeked.set(name, made)
    return made
  }
  create(DEFAULT_SESSION)
  const stop = everySoOften(SWEEP_MS, sweep)
  return {
    get(name) {
      const found = sessions.get(name)
      if (!found) return create(name)
      found.used = realNow()
      return found.slot.current
    },
    peek(name) {
      const found = sessions.get(name) ?? peeked.get(name) ?? firstPeek(name)
      found.used = realNow()
      return found.slot.current
    },
    find(name) {
      const found = entry(name)
      found.used = realNow()
      return found.slot.current
    },
    create(name, settings) {
      if (!sessions.has(name)) return create(name, settings)
      const message = `there is a session named ${JSON.stringify(name)} already: reset or delete it, or take another name`
      throw new ApiError(409, 'session_exists', message, { param: 'name' })
    },
    delete(name) {
      entry(name)
      if (name === DEFAULT_SESSION) {
        throw new ApiError(400, 'default_session', 'the default session cannot be deleted; it can be reset')
      }
      remove(name, 'the session was deleted')
    },
    list: () => [...sessions.values()].map(({ slot }) => slot.current),
    watch: (listener) => void listeners.push(listener),
    dropped: () => dropped,
    sweep,
    close() {
      stop()
      awake.stop()
      for (const { slot } of all()) slot.close()
    },
  }
}

function checkName(name: string): void {
  if (NAME.test(name)) return
  const message = `session name ${JSON.stringify(name)} must be 1 to 64 letters, digits, '.', '_' or '-'`
  throw new ApiError(400, 'invalid_session', message, { param: 'name' })
}

const tooMany = (most: number) =>
  new ApiError(
    429,
    'session_limit',
    `there are ${most} sessions already, as many as --max-sessions allows: delete one (DELETE /_understudy/sessions/<name>), use one of them, or let idle ones be dropped with --session-ttl`,
  )
