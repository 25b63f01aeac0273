// The data of a session. An in-memory database is opened on first use, and can be unloaded to a few compressed
// kilobytes.
import { ApiError } from '../contract/core/error.ts'
import { checkpointer } from '../db/checkpoint.ts'
import type { Contents } from '../db/content-store.ts'
import type { SizedKeyValueStore } from '../db/key-value-store.ts'
import { byteSize, type Database, keyedKinds, leaveOverwritten, openClone, openSecond } from '../db/open.ts'
import type { RecordShapes } from '../db/record-shapes.ts'
import type { Records } from '../db/record-store.ts'
import type { DroppedRows, StoreSize } from '../db/row-budget.ts'
import type { Sequences } from '../db/sequence-store.ts'
import { dump, lastInstantIn, replacingSteps, type Snapshot } from '../db/snapshot.ts'
import { type TraceStore, traceStore } from '../db/trace-store.ts'
import {
  type BatchedWrite,
  createWriter,
  type LargeWrite,
  type WriteKind,
  type Writer,
  type Writes,
} from '../db/writer.ts'
import { everySoOften } from '../lib/clock.ts'
import { lazy } from '../lib/lazy.ts'
import { inSlices } from '../lib/slices.ts'

// Most calls use none of these.
const keyValueStore = lazy<typeof import('../db/key-value-store.ts')>(() => require('../db/key-value-store.ts'))
const recordStore = lazy<typeof import('../db/record-store.ts')>(() => require('../db/record-store.ts'))
const sequences = lazy<typeof import('../db/sequence-store.ts')>(() => require('../db/sequence-store.ts'))
const contentStore = lazy<typeof import('../db/content-store.ts')>(() => require('../db/content-store.ts'))

/** The stores over one database. */
export interface Stores {
  readonly traces: TraceStore
  readonly keyValues: SizedKeyValueStore
  /** The workspace. */
  readonly records: Records
  /** Files, and the chunks of knowledge bases. */
  readonly contents: Contents
  /** Positions in fixture sequences. */
  readonly sequences: Sequences
}

/** Limits on the stored data of a session; unlimited if omitted. */
export interface DataLimits {
  /** Maximum number of traces; the oldest are dropped first. */
  traces?: number | undefined
  /** Maximum size of traces in bytes. */
  traceBytes?: number | undefined
  /** Maximum size of stored responses, cached responses and image files in bytes; the oldest are dropped first. */
  answerBytes?: number | undefined
}

/** The dependencies of the stores. */
export interface DataOptions {
  keep: DataLimits
  /** The schemas of record bodies, by kind; any object if omitted. */
  shapes?: RecordShapes | undefined
  /** Milliseconds since the epoch, on the session's clock. */
  now(): number
  /** Called when an in-memory database is opened. */
  opened?(): void
}

/** Counts of stored data. */
export interface DataCounts {
  traces: StoreSize
  keyValues: StoreSize
}

/** What the stores have dropped. */
interface DroppedData {
  traces: DroppedRows
  keyValues: DroppedRows
}
/** For a database from which nothing was dropped yet. */
const nothingDropped = (): DroppedData => ({ traces: { count: 0, last: 0 }, keyValues: { count: 0, last: 0 } })

/** What is known about a database besides its content. */
interface DataHistory {
  dropped: DroppedData
  /** The highest record number so far. */
  number?: number | undefined
  /** The counts, if known: counting takes longer than a call. */
  counts?: DataCounts | undefined
}

/** Stores over a database, created on first use: their statements are most of a small session's memory. */
const storesOver = (
  database: Database,
  writer: Writes,
  { keep, now, shapes, number, dropped, counts }: DataOptions & DataHistory,
) => {
  const made: { -readonly [Name in keyof Stores]?: Stores[Name] } = {}
  const limits = {
    traces: { keep: keep.traces, bytes: keep.traceBytes, dropped: dropped.traces, counted: counts?.traces },
    keyValues: { now, bytes: keep.answerBytes, dropped: dropped.keyValues, counted: counts?.keyValues },
  }
  const stores = {
    get traces(): Stores['traces'] {
      return (made.traces ??= traceStore(database, writer, limits.traces))
    },
    get keyValues(): Stores['keyValues'] {
      return (made.keyValues ??= keyValueStore().keptStore(database, writer, limits.keyValues))
    },
    get records(): Stores['records'] {
      return (made.records ??= recordStore().recordStore(database, { last: number, shapes, writes: writer }))
    },
    get contents(): Stores['contents'] {
      return (made.contents ??= contentStore().contentStore(database))
    },
    get sequences(): Stores['sequences'] {
      return (made.sequences ??= sequences().sequenceStore(database, writer))
    },
    /** The last record number, if it cannot be derived from the stored rows. */
    lastNumber: () => (made.records ? made.records.lastNumber() : number),
    /** Their sizes; for those that were not created, the last known ones. */
    counts: (): DataCounts => ({
      traces: (!made.traces && counts?.traces) || stores.traces.size(),
      keyValues: (!made.keyValues && counts?.keyValues) || stores.keyValues.size(),
    }),
  }
  return stores
}

/** A store that is looked up at each use. */
const onUse = <Store extends object>(store: () => Store): Store =>
  new Proxy({} as Store, { get: (own, name) => Reflect.get(Object.hasOwn(own, name) ? own : store(), name) })

/** Stores of which each is looked up at each use, or as `through` does it. */
export const storesOnUse = (
  stores: () => Stores,
  through: <Store extends object>(store: () => Store) => Store = onUse,
): Stores => ({
  traces: through(() => stores().traces),
  keyValues: through(() => stores().keyValues),
  records: through(() => stores().records),
  contents: through(() => stores().contents),
  sequences: through(() => stores().sequences),
})

/** Works on a store, and converts its errors to those for a caller. */
export type Guard = <Result>(run: () => Result) => Result

/** The same for work over many turns of the event loop. */
export async function guardedLater<Result>(run: () => Promise<Result>, guard: Guard): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    return guard(() => {
      throw error
    })
  }
}

/** The same for a store: every method, and iterating its result, runs under a guard. */
export const guardedOnUse = <Store extends object>(store: () => Store, guard: Guard): Store =>
  new Proxy({} as Store, {
    get(_, name) {
      const value: unknown = Reflect.get(store(), name)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        const result: unknown = guard(() => Reflect.apply(value, store(), args))
        return isIterator(result) ? guardedIterator(result, guard) : result
      }
    },
  })

// The sequences of a call have a `next` of their own.
const isIterator = (value: unknown): value is Iterator<unknown> =>
  typeof value === 'object' && value !== null && Symbol.iterator in value && 'next' in value

function* guardedIterator(items: Iterator<unknown>, guard: Guard): Generator<unknown> {
  try {
    for (let item = guard(() => items.next()); !item.done; item = guard(() => items.next())) yield item.value
  } finally {
    items.return?.()
  }
}

/** All data of a session, until a reset or a snapshot replaces it. */
export interface SessionData extends Stores {
  /** Makes atomic changes to the records. Resolves when they are committed, rejects with what `run` throws. */
  transact<T>(run: () => T): Promise<T>
  /** Kinds of records of which at least one has a key, such as waiting events. Loads nothing. */
  keyedKinds(): readonly string[]
  /** All current data, read in slices. */
  snapshot(): Promise<Snapshot>
  /** The last instant in the data, in ms since the epoch; 0 if there is none. */
  lastInstant(): number
  /** Replaces the data by a snapshot, or by nothing. Rejects if it cannot be loaded. */
  replaced(snapshot: Snapshot | null): Promise<SessionData>
  /** Number of calls so far. */
  calls: number
  /** The numbers of the calls in progress. */
  readonly underWay: Set<number>
  /** Whether an earlier process has left it. */
  readonly restored: boolean
  /** Why its file could not be used the last time; undefined if it could, or in memory. */
  readonly problem?: string | undefined
  /** Throws the 507 of its file if it cannot be used; memory always can. */
  check?(): void
  /** Whether its database is open. */
  readonly loaded: boolean
  /** Whether no write is waiting. */
  readonly idle: boolean
  /** The counts for health. Loads nothing. */
  counts(): DataCounts
  /** Closes an in-memory database that is small and idle. It is restored at its next use. */
  sleep(): void
  /** Detaches it from its session. Users in progress may finish. */
  leave(): void
  /**
   * Frees its memory after it was replaced or deleted and no one uses it, long before the garbage collector would. Data
   * in a file has none.
   */
  discard?(): void
  close(): void
}

/** The error of a session's calls when it is reset. */
export const resetError = (what = 'the session was reset'): ApiError =>
  new ApiError(409, 'session_reset', `${what} during this call: repeat it`)

type OpenData = ReturnType<typeof opened>
const opened = (database: Database, options: DataOptions, continued: DataHistory) => {
  const writer = createWriter(database)
  const stores = storesOver(database, writer, { ...options, ...continued })
  return { database, writer, stores, dropped: continued.dropped }
}

/** What is left of a closed database. */
interface SleepingData {
  bytes: Uint8Array
  counts: DataCounts
  keyedKinds: readonly string[]
  number: number | undefined
}

const nothing = (limit = Number.POSITIVE_INFINITY): StoreSize => ({ entries: 0, bytes: 0, limit, dropped: 0 })
/** The counts of an empty database. */
export const nothingStored = (keep: DataLimits): DataCounts => ({
  traces: nothing(keep.traceBytes),
  keyValues: nothing(keep.answerBytes),
})
/** Size in bytes beyond which a database stays open: its cost is its content. */
const MAX_UNLOADED_SIZE = 2 * 2 ** 20

/**
 * Replaces everything in a database in one transaction over many turns of the event loop. The connection must not be
 * used otherwise. Throws what a step throws, or `ended` returns, and then nothing is replaced.
 */
async function replaceAll(
  database: Database,
  snapshot: Snapshot | null,
  ended: () => ApiError | undefined = () => undefined,
): Promise<void> {
  database.exec('BEGIN IMMEDIATE')
  await inSlices(replacingSteps(database, snapshot), (step) => {
    const reason = ended()
    if (reason) throw reason
    step()
  })
  database.exec('COMMIT')
}

/** Everything that a connection reads; it is closed afterwards. `source` is the database that it belongs to. */
async function dumpWith(reader: Database, source: Database): Promise<Snapshot> {
  try {
    return await dump(reader, source)
  } finally {
    reader.close()
  }
}

/** In-memory data; `empty` returns the bytes of an empty database, with which it starts unless one is open. */
export function memoryData(empty: () => Buffer, options: DataOptions, begun?: OpenData): SessionData {
  let loaded = begun
  let unloaded: SleepingData | undefined
  const dropped = begun?.dropped ?? nothingDropped()
  const none = nothingStored(options.keep)
  const use = (): OpenData => {
    if (loaded) return loaded
    const bytes = unloaded ? Buffer.from(Bun.zstdDecompressSync(unloaded.bytes)) : empty()
    // Hidden traces are in the database all the same.
    const counts = dropped.traces.last > 0 ? undefined : (unloaded?.counts ?? none)
    loaded = opened(openClone(bytes), options, { dropped, number: unloaded?.number, counts })
    unloaded = undefined
    options.opened?.()
    return loaded
  }
  return {
    ...storesOnUse(() => use().stores),
    transact: (run) => use().writer.transact(run),
    keyedKinds: () => (loaded ? keyedKinds(loaded.database) : (unloaded?.keyedKinds ?? [])),
    snapshot() {
      const { database } = use()
      return dumpWith(openClone(database.serialize()), database)
    },
    lastInstant: () => lastInstantIn(use().database),
    async replaced(snapshot) {
      if (!snapshot) return memoryData(empty, options)
      const database = openClone(empty())
      try {
        await replaceAll(database, snapshot)
      } catch (error) {
        database.close()
        throw error
      }
      return memoryData(empty, options, opened(database, options, { dropped: nothingDropped() }))
    },
    restored: false,
    calls: loaded?.stores.traces.lastSeq() ?? 0,
    underWay: new Set(),
    get loaded() {
      return loaded !== undefined
    },
    get idle() {
      return loaded?.writer.idle ?? true
    },
    counts: () => loaded?.stores.counts() ?? unloaded?.counts ?? none,
    sleep() {
      if (!loaded?.writer.idle || byteSize(loaded.database) > MAX_UNLOADED_SIZE) return
      const { database, writer, stores } = loaded
      unloaded = {
        bytes: Bun.zstdCompressSync(database.serialize()),
        counts: stores.counts(),
        keyedKinds: keyedKinds(database),
        number: stores.lastNumber(),
      }
      loaded = undefined
      writer.close()
    },
    leave() {},
    discard() {
      loaded?.writer.close()
      loaded = undefined
    },
    close: () => loaded?.writer.close(),
  }
}

/** An open file; `release` frees it for another process, and `restored` tells whether it existed before. */
interface FileDatabase {
  database: Database
  restored: boolean
  release(): void
  /** Opens it a second time, for one isolated transaction. */
  openBeside?(): Database
  /** Called before it is closed, when no write is waiting. */
  closing?(): void
}

/** Writes that started before everything was replaced are dropped, even in the same transaction. */
function writesUntil(isEnded: () => boolean, writer: Writer): Writes {
  const unlessEnded = (run: () => void) => () => (isEnded() ? undefined : run())
  const stepsOf = <Write extends LargeWrite>(large: Write): Write =>
    large.steps?.length ? { ...large, steps: large.steps.map(unlessEnded) } : large
  return {
    batched<Item extends LargeWrite>(kind: WriteKind<Item>): BatchedWrite<Item> {
      const queue = writer.batched<Item>({ ...kind, put: (items) => (isEnded() ? undefined : kind.put(items)) })
      return (item) => (isEnded() ? Promise.resolve() : queue(stepsOf(item)))
    },
  }
}

/** In-memory data that is open from the start, so that a failure is known then. */
export const loadedMemoryData = (empty: () => Buffer, options: DataOptions): SessionData =>
  memoryData(empty, options, opened(openClone(empty()), options, { dropped: nothingDropped() }))

/** Data in a file. */
export function fileData(
  { database, restored, release, closing, openBeside: beside = () => openSecond(database.name) }: FileDatabase,
  options: DataOptions,
): SessionData {
  const checkpoints = checkpointer(database)
  const writer = createWriter(database, checkpoints.look)
  let ended: ApiError | undefined
  let replacing: Database | undefined
  const end = () => {
    ended = resetError()
    // Rolls back, for which others would have to wait.
    replacing?.close()
  }
  const replace = async (snapshot: Snapshot | null, done: () => void) => {
    // Writes meanwhile wait for the other connection, and reads return the old data.
    const release = await writer.hold()
    try {
      if (ended) throw ended
      replacing = beside()
      await replaceAll(replacing, snapshot, () => ended)
      done()
    } finally {
      replacing?.close()
      replacing = undefined
      release()
      checkpoints.look()
    }
  }
  const begin = (): SessionData => {
    let isReplaced = false
    const own = storesOver(
      database,
      writesUntil(() => isReplaced, writer),
      { ...options, dropped: nothingDropped() },
    )
    const { traces } = own
    return {
      ...storesOnUse(() => own),
      traces,
      loaded: true,
      get idle() {
        return writer.idle
      },
      transact: (run) =>
        writer.transact(() => {
          if (isReplaced) throw resetError()
          return run()
        }),
      keyedKinds: () => keyedKinds(database),
      async snapshot() {
        const reader = beside()
        reader.exec('BEGIN')
        return dumpWith(reader, database)
      },
      lastInstant: () => lastInstantIn(database),
      async replaced(snapshot) {
        await replace(snapshot, () => {
          isReplaced = true
        })
        return begin()
      },
      restored,
      calls: traces.lastSeq(),
      underWay: new Set(),
      counts: own.counts,
      sleep() {},
      leave() {
        end()
        checkpoints.close()
      },
      close() {
        end()
        checkpoints.close()
        const leave = leaveOverwritten(database)
        try {
          closing?.()
          writer.close()
        } finally {
          leave?.()
          release()
        }
      },
    }
  }
  return begin()
}

/** Minimum time in ms before unused data is closed: the work of an ended generation writes its last lines some turns later. */
const DISCARDED_AFTER_MS = 500

/** The users of data. */
export interface DataUsers {
  /** Number of calls and other activities in progress. */
  active: number
}

/** Receives data that no generation has any more, with its users. */
export type Discard = (data: Pick<SessionData, 'discard'>, users: Readonly<DataUsers>) => void

/**
 * Closes discarded data a short time after its last user has ended: a busy server ends many sessions in a second, and
 * their memory is not returned to the system. Does nothing for data in files.
 */
export function createDiscards(every = everySoOften): Discard {
  let discarded: { discard(): void; users: Readonly<DataUsers>; isDue: boolean }[] = []
  let stop: (() => void) | undefined
  const closeDue = () => {
    const due = discarded.filter(({ isDue, users }) => isDue && users.active === 0)
    discarded = discarded.filter((one) => !due.includes(one))
    for (const one of discarded) one.isDue = one.users.active === 0
    if (discarded.length === 0) {
      stop?.()
      stop = undefined
    }
    void inSlices(due, ({ discard }) => discard())
  }
  return (data, users) => {
    const { discard } = data
    if (!discard) return
    discarded.push({ discard, users, isDue: false })
    stop ??= every(DISCARDED_AFTER_MS, closeDue)
  }
}
