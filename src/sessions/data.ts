// What a session stores. A database in memory is opened at its first use, and can sleep as a few compressed kilobytes.
import { ApiError } from '../contract/core/error.ts'
import { checkpointer } from '../db/checkpoint.ts'
import { byteSize, type Database, keyedKinds, openClone, openSecond } from '../db/open.ts'
import { leaveOverwritten } from '../db/overwritten-file.ts'
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

/** Everything that a session stores, until a reset or a snapshot puts other data in its place. */
export interface SessionData extends Stores {
  /** Makes changes to the records that stand or fall together; resolves when they are committed, rejects with what `run` throws. */
  transact<T>(run: () => T): Promise<T>
  /** Kinds of records of which any has a key, as what waits for its turn has; wakes nothing. */
  keyedKinds(): readonly string[]
  /** Everything that is stored, as it is now; read in slices. */
  snapshot(): Promise<Snapshot>
  /** The last instant that it tells of, in ms since the epoch; 0 when it tells of none. */
  lastInstant(): number
  /** Data with the content of a snapshot, or with nothing, in the place of this; rejects when it cannot be loaded. */
  replaced(snapshot: Snapshot | null): Promise<SessionData>
  /** How many calls have begun. */
  calls: number
  /** The numbers of the calls that are under way. */
  readonly underWay: Set<number>
  /** Whether an earlier process has left it. */
  readonly restored: boolean
  /** Why its file could not be used the last time; undefined when it could, or in memory. */
  readonly problem?: string | undefined
  /** Throws the 507 of its file where that cannot be used; memory always can. */
  check?(): void
  /** Whether its database is open. */
  readonly awake: boolean
  /** Whether nothing waits to be written. */
  readonly idle: boolean
  /** What health counts; wakes nothing. */
  counts(): DataCounts
  /** Closes a database in memory that is small and at rest; it is as it was at its next use. */
  sleep(): void
  /** It is no session's any more: whoever still uses it does so to the end. */
  leave(): void
  /** Other data has its place, or none, and nobody uses it: gives back what it has in memory, which the collector would do much later. Data in a file has none. */
  discard?(): void
  close(): void
}

/** What calls of a session end with when it begins anew. */
export const resetError = (what = 'the session was reset'): ApiError =>
  new ApiError(409, 'session_reset', `${what} while this call was answered: make it again`)

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

/** What is left of a database that was closed. */
interface SleepingData {
  bytes: Uint8Array
  counts: DataCounts
  keyedKinds: readonly string[]
  number: number | undefined
}

const nothing = (limit = Number.POSITIVE_INFINITY): StoreSize => ({ entries: 0, bytes: 0, limit, dropped: 0 })
/** What an empty database holds. */
export const nothingStored = (keep: DataLimits): DataCounts => ({
  traces: nothing(keep.traceBytes),
  keyValues: nothing(keep.answerBytes),
})
/** Bytes of a database beyond which it stays open: what it costs is what it holds. */
const MAX_ASLEEP_SIZE = 2 * 2 ** 20

/**
 * Replaces everything in a database in one transaction over many turns of the event loop: nobody else may use the connection. Throws
 * what a step throws, or `ended` returns, and then nothing is replaced.
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

/** Everything that a connection reads, which is then closed; `source` is the database that it stands for. */
async function dumpWith(reader: Database, source: Database): Promise<Snapshot> {
  try {
    return await dump(reader, source)
  } finally {
    reader.close()
  }
}

/** Data in memory; `empty` gives the bytes of an empty database, which it begins with unless one is open. */
export function memoryData(empty: () => Buffer, options: DataOptions, begun?: OpenData): SessionData {
  let awake = begun
  let asleep: SleepingData | undefined
  const dropped = begun?.dropped ?? nothingDropped()
  const none = nothingStored(options.keep)
  const use = (): OpenData => {
    if (awake) return awake
    const bytes = asleep ? Buffer.from(Bun.zstdDecompressSync(asleep.bytes)) : empty()
    // What is not shown any more is in the database all the same.
    const counts = dropped.traces.last > 0 ? undefined : (asleep?.counts ?? none)
    awake = opened(openClone(bytes), options, { dropped, number: asleep?.number, counts })
    asleep = undefined
    options.opened?.()
    return awake
  }
  return {
    traces: onUse(() => use().stores.traces),
    keyValues: onUse(() => use().stores.keyValues),
    records: onUse(() => use().stores.records),
    contents: onUse(() => use().stores.contents),
    sequences: onUse(() => use().stores.sequences),
    transact: (run) => use().writer.transact(run),
    keyedKinds: () => (awake ? keyedKinds(awake.database) : (asleep?.keyedKinds ?? [])),
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
    calls: awake?.stores.traces.lastSeq() ?? 0,
    underWay: new Set(),
    get awake() {
      return awake !== undefined
    },
    get idle() {
      return awake?.writer.idle ?? true
    },
    counts: () => awake?.stores.counts() ?? asleep?.counts ?? none,
    sleep() {
      if (!awake?.writer.idle || byteSize(awake.database) > MAX_ASLEEP_SIZE) return
      const { database, writer, stores } = awake
      asleep = {
        bytes: Bun.zstdCompressSync(database.serialize()),
        counts: stores.counts(),
        keyedKinds: keyedKinds(database),
        number: stores.lastNumber(),
      }
      awake = undefined
      writer.close()
    },
    leave() {},
    discard() {
      awake?.writer.close()
      awake = undefined
    },
    close: () => awake?.writer.close(),
  }
}

/** A file that is open; `release` lets another process have it, and `restored` says whether one had it before. */
interface FileDatabase {
  database: Database
  restored: boolean
  release(): void
  /** Opens it a second time, for one transaction that others write or read nothing of. */
  beside?(): Database
  /** Told before it is closed, when nothing waits to be written any more. */
  closing?(): void
}

/** What began before everything was replaced leaves nothing behind, not even in the same transaction. */
function writesUntil(over: () => boolean, writer: Writer): Writes {
  const unlessOver = (run: () => void) => () => (over() ? undefined : run())
  const stepsOf = <Write extends LargeWrite>(large: Write): Write =>
    large.ahead?.length ? { ...large, ahead: large.ahead.map(unlessOver) } : large
  return {
    batched<Item extends LargeWrite>(kind: WriteKind<Item>): BatchedWrite<Item> {
      const queue = writer.batched<Item>({ ...kind, put: (items) => (over() ? undefined : kind.put(items)) })
      return (item) => (over() ? Promise.resolve() : queue(stepsOf(item)))
    },
  }
}

/** Data in memory that is open from the start, so that whatever prevents it is known then. */
export const loadedMemoryData = (empty: () => Buffer, options: DataOptions): SessionData =>
  memoryData(empty, options, opened(openClone(empty()), options, { dropped: nothingDropped() }))

/** Data in a file. */
export function fileData(
  { database, restored, release, closing, beside = () => openSecond(database.name) }: FileDatabase,
  options: DataOptions,
): SessionData {
  const checkpoints = checkpointer(database)
  const writer = createWriter(database, checkpoints.look)
  let ended: ApiError | undefined
  let replacing: Database | undefined
  const end = () => {
    ended = resetError()
    // Undoes what it has done, for which others would wait.
    replacing?.close()
  }
  const replace = async (snapshot: Snapshot | null, done: () => void) => {
    // What is written meanwhile waits for the other connection, and what is read is as it was.
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
    let over = false
    const own = storesOver(
      database,
      writesUntil(() => over, writer),
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
      awake: true,
      get idle() {
        return writer.idle
      },
      transact: (run) =>
        writer.transact(() => {
          if (over) throw resetError()
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
          over = true
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
