// The data of a session. An in-memory database is opened on first use, and can be unloaded to a few compressed
// kilobytes.
import { ApiError } from '../contract/core/error.ts'
import { checkpointer } from '../db/checkpoint.ts'
import { byteSize, type Database, keyedKinds, leaveOverwritten, openClone, openSecond } from '../db/open.ts'
import type { StoreSize } from '../db/row-budget.ts'
import { dump, lastInstantIn, replacingSteps, type Snapshot } from '../db/snapshot.ts'
import {
  type BatchedWrite,
  createWriter,
  type LargeWrite,
  type WriteKind,
  type Writer,
  type Writes,
} from '../db/writer.ts'
import { inSlices } from '../lib/slices.ts'
import {
  type DataCounts,
  type DataHistory,
  type DataLimits,
  type DataOptions,
  nothingDropped,
  type OpenStores,
  onUse,
  type Stores,
  storesOver,
} from './stores.ts'

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

interface OpenData {
  database: Database
  writer: Writer
  stores: OpenStores
  dropped: DataHistory['dropped']
}
const opened = (database: Database, options: DataOptions, continued: DataHistory): OpenData => {
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
    traces: onUse(() => use().stores.traces),
    keyValues: onUse(() => use().stores.keyValues),
    records: onUse(() => use().stores.records),
    contents: onUse(() => use().stores.contents),
    sequences: onUse(() => use().stores.sequences),
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
    const stores: Stores = {
      traces: own.traces,
      keyValues: onUse(() => own.keyValues),
      records: onUse(() => own.records),
      contents: onUse(() => own.contents),
      sequences: onUse(() => own.sequences),
    }
    return {
      ...stores,
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
      calls: stores.traces.lastSeq(),
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
