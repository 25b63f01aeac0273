// A session is everything one token owns. Sessions share nothing, so parallel tests cannot see each other.
import { ApiError } from '../contract/error.ts'
import type { Kept } from '../contract/kept.ts'
import type { Contents, Records } from '../contract/record.ts'
import { contentStore } from '../db/content-store.ts'
import { keptStore } from '../db/kept-store.ts'
import { type Database, openClone, openFile, template } from '../db/open.ts'
import { recordStore } from '../db/record-store.ts'
import { clear, dump, restore, type Snapshot } from '../db/snapshot.ts'
import { type TraceStore, traceStore } from '../db/trace-store.ts'
import { createWriter, type Writer } from '../db/writer.ts'
import { type Clock, realClock, virtualClock } from '../lib/clock.ts'
import { processSecret } from '../lib/ids.ts'

/** What a call needs of its session. */
export interface Session {
  readonly name: string
  readonly seed: number
  readonly clock: Clock
  readonly traces: TraceStore
  readonly kept: Kept
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
  /** The number of the next call: 1, 2, ...; goes on after a restart. */
  nextCall(): number
  /** How many times the sequence of the fixture at a place has been used before; counts this use. */
  uses(place: string): number
}

/** All sessions of a process. */
export interface Sessions {
  /** The session of a name, made on first use. */
  get(name: string): Session
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
  /** Most traces of a session; the oldest go first. */
  keepTraces?: number | undefined
}

export function createSessions({ db, seed, clock: kind, keepTraces }: SessionsOptions): Sessions {
  const sessions = new Map<string, Session>()
  const closers: (() => void)[] = []
  const ending = new AbortController()
  let empty: Buffer | undefined

  const open = (name: string): { database: Database; writer: Writer } => {
    if (name !== DEFAULT_SESSION || db === ':memory:') {
      const database = openClone((empty ??= template()))
      const writer = createWriter(database)
      closers.push(writer.close)
      return { database, writer }
    }
    const { database, release } = openFile(db)
    const writer = createWriter(database)
    closers.push(writer.close, release)
    return { database, writer }
  }
  const create = (name: string): Session => {
    if (sessions.size >= MOST_SESSIONS) {
      throw new ApiError(
        429,
        'session_limit',
        `there are ${MOST_SESSIONS} sessions already; restart, or use one of them`,
      )
    }
    const { database, writer } = open(name)
    const traces = traceStore(database, writer, keepTraces)
    const clock = kind === 'virtual' ? virtualClock() : realClock
    let calls = traces.lastSeq()
    const uses = new Map<string, number>()
    const records = recordStore(database)
    return {
      name,
      seed,
      clock,
      traces,
      kept: keptStore(database, writer, clock.now),
      records,
      contents: contentStore(database),
      transact: writer.transact,
      snapshot: () => dump(database),
      async replace(snapshot) {
        await writer.transact(() => (snapshot ? restore(database, snapshot) : clear(database)))
        records.refresh()
        calls = traces.lastSeq()
        uses.clear()
      },
      ended: ending.signal,
      secret: kind === 'virtual' ? `${seed}:${name}` : processSecret(),
      nextCall: () => ++calls,
      uses(place) {
        const before = uses.get(place) ?? 0
        uses.set(place, before + 1)
        return before
      },
    }
  }
  const get = (name: string): Session => {
    let session = sessions.get(name)
    if (!session) {
      if (!NAME.test(name)) {
        throw new ApiError(
          400,
          'invalid_session',
          `session name ${JSON.stringify(name)} must be 1 to 64 letters, digits, '.', '_' or '-'`,
        )
      }
      session = create(name)
      sessions.set(name, session)
    }
    return session
  }
  get(DEFAULT_SESSION)
  return {
    get,
    list: () => [...sessions.values()],
    close() {
      ending.abort()
      for (const close of closers) close()
    },
  }
}
