// A session is everything one token owns. Sessions share nothing, so parallel tests cannot see each other.
import { ApiError } from '../contract/error.ts'
import type { KeyValueStore } from '../contract/key-value.ts'
import type { Contents, Records } from '../contract/record.ts'
import { contentStore } from '../db/content-store.ts'
import { keptStore } from '../db/key-value-store.ts'
import { type Database, openClone, openFile, template } from '../db/open.ts'
import { recordStore } from '../db/record-store.ts'
import { clear, dump, restore, type Snapshot } from '../db/snapshot.ts'
import { type TraceStore, traceStore } from '../db/trace-store.ts'
import { createWriter, type Writer } from '../db/writer.ts'
import { type Clock, type RealClock, realClock, type VirtualClock, virtualClock } from '../lib/clock.ts'
import { processSecret } from '../lib/ids.ts'

/** What a call needs of its session. */
export interface Session {
  readonly name: string
  readonly seed: number
  /** A call uses the one that it begins with. */
  readonly clock: RealClock | VirtualClock
  readonly traces: TraceStore
  readonly keyValues: KeyValueStore
  /** The workspace. */
  readonly records: Records
  /** Files, and the chunks of knowledge bases. */
  readonly contents: Contents
  /** Makes changes to the records that stand or fall together; resolves when they are committed, rejects with what `run` throws. */
  transact<T>(run: () => T): Promise<T>
  /** Everything that is stored. */
  snapshot(): Snapshot
  /** Puts a snapshot in the place of everything that is stored, or nothing at all; counts go on from there. */
  replace(snapshot: Snapshot | null): Promise<void>
  /** Aborted when the session is closed. */
  readonly ended: AbortSignal
  /** Makes names that nobody can guess; a function of the seed on a virtual clock. */
  readonly secret: string
  /** How many calls have begun; goes on after a restart. */
  readonly calls: number
  /** The number of the next call: 1, 2, ... */
  nextCall(): number
  /** Gives it a clock of a kind, or its own kind again; one of that kind already goes on. 400 for a virtual one while calls are forwarded. */
  useClock(kind: Clock['kind'] | undefined): void
  /** Forgets everything that is stored, counts from nothing again, and starts a virtual clock anew. */
  reset(): Promise<void>
  /** How many times the sequence of the fixture at a place has been used before; counts this use. */
  uses(place: string): number
}

/** What a session may have otherwise than the others. */
export interface SessionSettings {
  seed?: number | undefined
  clock?: Clock['kind'] | undefined
}

/** All sessions of a process. */
export interface Sessions {
  /** The session of a name, made on first use; 400 for a name that is none, 429 when there are too many. */
  get(name: string): Session
  /** The session of a name that is there; 404 otherwise. */
  find(name: string): Session
  /** Makes a session; 409 when there is one of that name, 400 for a virtual clock while calls are forwarded. */
  create(name: string, settings: SessionSettings): Session
  /** Forgets a session and all it holds; calls that still run in it end as if nothing had happened. 404 when there is none. */
  delete(name: string): void
  list(): Session[]
  close(): void
}

export const DEFAULT_SESSION = 'default'
const NAME = /^[A-Za-z0-9._-]{1,64}$/
const MOST_SESSIONS = 1_000

export interface SessionsOptions {
  /** File of the default session's database, or `:memory:`. */
  db: string
  seed: number
  clock: Clock['kind']
  /** Why no session may have a virtual clock; undefined when each may. */
  noVirtualClock?: string | undefined
  /** Most traces of a session; the oldest go first. All are kept when left out. */
  keepTraces?: number | undefined
}

export function createSessions({ db, keepTraces, noVirtualClock, ...standard }: SessionsOptions): Sessions {
  const sessions = new Map<string, Held>()
  let empty: Buffer | undefined

  const open = (name: string): Opened => {
    if (name !== DEFAULT_SESSION || db === ':memory:') {
      const database = openClone((empty ??= template()))
      return { database, writer: createWriter(database), release: () => {} }
    }
    const { database, release } = openFile(db)
    return { database, writer: createWriter(database), release }
  }
  const create = (name: string, settings: SessionSettings = {}): Session => {
    if (!NAME.test(name)) {
      throw new ApiError(
        400,
        'invalid_session',
        `session name ${JSON.stringify(name)} must be 1 to 64 letters, digits, '.', '_' or '-'`,
        { param: 'name' },
      )
    }
    if (sessions.size >= MOST_SESSIONS) {
      const message = `there are ${MOST_SESSIONS} sessions already: delete one (DELETE /_understudy/sessions/<name>) or use one of them`
      throw new ApiError(429, 'session_limit', message)
    }
    const { seed = standard.seed, clock = standard.clock } = settings
    checkClock(clock, noVirtualClock)
    const opened = open(name)
    const ending = new AbortController()
    const session = sessionOver(opened, { name, seed, clock, keepTraces, noVirtualClock, ended: ending.signal })
    const close = () => {
      ending.abort()
      opened.writer.close()
      opened.release()
    }
    sessions.set(name, { session, close, forget: () => ending.abort() })
    return session
  }
  const held = (name: string): Held => {
    const found = sessions.get(name)
    if (found) return found
    throw new ApiError(404, 'session_not_found', `there is no session named ${JSON.stringify(name)}`, {
      param: 'session',
    })
  }
  create(DEFAULT_SESSION)
  return {
    get: (name) => sessions.get(name)?.session ?? create(name),
    find: (name) => held(name).session,
    create(name, settings) {
      if (!sessions.has(name)) return create(name, settings)
      const message = `there is a session named ${JSON.stringify(name)} already: reset or delete it, or take another name`
      throw new ApiError(409, 'session_exists', message, { param: 'name' })
    },
    delete(name) {
      const { forget } = held(name)
      if (name === DEFAULT_SESSION) {
        throw new ApiError(400, 'default_session', 'the default session cannot be deleted; it can be reset')
      }
      forget()
      sessions.delete(name)
    },
    list: () => [...sessions.values()].map(({ session }) => session),
    close() {
      for (const { close } of sessions.values()) close()
    },
  }
}

function checkClock(kind: Clock['kind'], noVirtualClock: string | undefined): void {
  if (kind === 'virtual' && noVirtualClock)
    throw new ApiError(400, 'clock_not_possible', noVirtualClock, { param: 'clock' })
}

interface Opened {
  database: Database
  writer: Writer
  /** Lets another process have the file. */
  release(): void
}

interface Held {
  session: Session
  close(): void
  /** Like `close`, for a database in memory, which is gone with the last call that uses it. */
  forget(): void
}

interface Own extends Omit<SessionsOptions, 'db'> {
  name: string
  ended: AbortSignal
}

/** A session over its database. */
function sessionOver({ database, writer }: Opened, own: Own): Session {
  const { name, seed, keepTraces, noVirtualClock, ended } = own
  const clockOf = (kind: Clock['kind']) => (kind === 'virtual' ? virtualClock() : realClock)
  let clock = clockOf(own.clock)
  const uses = new Map<string, number>()
  const open = () => {
    // A call that began before everything was replaced leaves nothing behind.
    const write: Writer['write'] = (run) => (mine === stores ? writer.write(run) : Promise.resolve())
    const mine = {
      traces: traceStore(database, { write }, keepTraces),
      kept: keptStore(database, { write }, () => clock.now()),
    }
    return mine
  }
  let stores = open()
  let calls = stores.traces.lastSeq()
  const records = recordStore(database)
  const replace = async (snapshot: Snapshot | null) => {
    await writer.transact(() => (snapshot ? restore(database, snapshot) : clear(database)))
    records.refresh()
    stores = open()
    calls = stores.traces.lastSeq()
    uses.clear()
  }
  return {
    name,
    seed,
    get clock() {
      return clock
    },
    get traces() {
      return stores.traces
    },
    get keyValues() {
      return stores.kept
    },
    records,
    contents: contentStore(database),
    transact: writer.transact,
    snapshot: () => dump(database),
    replace,
    ended,
    get secret() {
      return clock.kind === 'virtual' ? `${seed}:${name}` : processSecret()
    },
    get calls() {
      return calls
    },
    nextCall: () => ++calls,
    useClock(kind = own.clock) {
      checkClock(kind, noVirtualClock)
      if (kind !== clock.kind) clock = clockOf(kind)
    },
    async reset() {
      await replace(null)
      clock = clockOf(clock.kind)
    },
    uses(place) {
      const before = uses.get(place) ?? 0
      uses.set(place, before + 1)
      return before
    },
  }
}
