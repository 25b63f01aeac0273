// The write path: writes of one turn of the event loop share a transaction, and each waits for that commit. If one of
// them fails, the transaction is rolled back, and each is repeated by itself, so that the others succeed.
import { once } from '../lib/once.ts'
import type { Database } from './open.ts'

/** The size of a write that may be large: no transaction blocks other calls for long. */
export interface LargeWrite {
  /** Its approximate size. */
  bytes?: number | undefined
  /** Steps before it, in transactions of their own; each may be repeated. */
  steps?: readonly (() => void)[] | undefined
}

/** A kind of writes. */
export interface WriteKind<Item> {
  put(items: readonly Item[]): void
  /** Whether writing it alone takes a single statement that changes anything; default: yes. */
  isOneStatement?(item: Item): boolean
}

/** Resolves when the write is committed; rejects if it failed. */
export type BatchedWrite<Item> = (item: Item) => Promise<void>

/** The part of a writer that stores need. */
export type Writes = Pick<Writer, 'batched'>

const refused = () => Promise.reject(new Error('opened to read'))
/** For a read-only database. */
export const READ_ONLY: Writes = { batched: () => refused }

interface PendingWrite {
  item: LargeWrite
  kind: WriteKind<LargeWrite>
  /** Undefined if unknown. */
  bytes: number | undefined
  /** Remaining steps before it. */
  steps: readonly (() => void)[]
  resolve: () => void
  reject: (error: unknown) => void
}

/** Approximate size of one transaction; the excess is written later. */
const LARGE = 2_000_000
/** Approximate size of a step before a write. */
const STEP = 1_000_000

const bytesOf = ({ steps: ahead, bytes = 0 }: PendingWrite) => (ahead.length > 0 ? STEP : bytes)

/** The number of waiting writes with a step in the next transaction. */
function firstOf(pending: readonly PendingWrite[]): number {
  let bytes = 0
  const tooLarge = pending.findIndex((one) => (bytes += bytesOf(one)) > LARGE)
  return tooLarge < 0 ? pending.length : Math.max(1, tooLarge)
}

/** Runs a step of each of some writes; adjacent ones of a kind together. */
function makeSteps(batch: readonly PendingWrite[]): void {
  let items: LargeWrite[] = []
  let kind: PendingWrite['kind'] | undefined
  const putItems = () => {
    kind?.put(items)
    kind = undefined
    items = []
  }
  for (const one of batch) {
    const [step] = one.steps
    if (kind && (step || one.kind !== kind)) putItems()
    if (step) step()
    else {
      kind = one.kind
      items.push(one.item)
    }
  }
  putItems()
}

/** A transaction of a batch: two statements, where the driver prepares six for each database. */
function transactionOver(database: Database): (batch: readonly PendingWrite[]) => void {
  const begin = database.prepare('BEGIN')
  const commit = database.prepare('COMMIT')
  return (batch) => {
    const [one] = batch
    // SQLite makes a transaction of one statement itself, which saves two calls.
    if (one && batch.length === 1 && one.steps.length === 0 && one.kind.isOneStatement?.(one.item)) {
      one.kind.put([one.item])
      return
    }
    begin.run()
    try {
      makeSteps(batch)
      commit.run()
    } catch (error) {
      // Some failures have ended it already.
      if (database.inTransaction) database.exec('ROLLBACK')
      throw error
    }
  }
}

/** Commits a step of each of some writes. Returns those with remaining steps. */
function stepsOver(database: Database): (batch: readonly PendingWrite[]) => PendingWrite[] {
  const transaction = once(() => transactionOver(database))
  // A savepoint for each write would cost every batch; this costs only the failing ones.
  const commitAlone = (one: PendingWrite): boolean => {
    try {
      transaction()([one])
      return true
    } catch (error) {
      one.reject(error)
      return false
    }
  }
  return (batch) => {
    let done = batch
    try {
      transaction()(batch)
    } catch {
      done = batch.filter(commitAlone)
    }
    const unfinished: PendingWrite[] = []
    for (const one of done) {
      if (one.steps.length === 0) one.resolve()
      else unfinished.push({ ...one, steps: one.steps.slice(1) })
    }
    return unfinished
  }
}

/** The approximate size of a transaction; undefined if unknown. */
function bytesOfAll(batch: readonly PendingWrite[]): number | undefined {
  let sum = 0
  for (const one of batch) {
    if (one.bytes === undefined) return undefined
    sum += bytesOf(one)
  }
  return sum
}

const NO_STEPS: readonly (() => void)[] = []

/** A writer over one connection. `committed` is called after each transaction with its approximate size. */
export function createWriter(database: Database, committed: (bytes: number | undefined) => void = () => {}) {
  let pending: PendingWrite[] = []
  let onHold = false
  let free = Promise.resolve()
  const commit = stepsOver(database)
  const flush = (most = firstOf(pending)) => {
    if (onHold || pending.length === 0) return
    const batch = most >= pending.length ? pending : pending.slice(0, most)
    const rest = pending.slice(most)
    pending = []
    const unfinished = commit(batch)
    committed(bytesOfAll(batch))
    // A write in progress queues behind later ones: only its own call waits for a large write.
    const waiting = pending.length > 0
    if (rest.length > 0 || unfinished.length > 0) pending = [...rest, ...pending, ...unfinished]
    if (pending.length > 0 && !waiting) setImmediate(flush)
  }
  const queue = (kind: PendingWrite['kind'], item: LargeWrite) => {
    const { bytes, steps: ahead = NO_STEPS } = item
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    if (pending.push({ item, kind, bytes, steps: ahead, resolve, reject }) === 1) setImmediate(flush)
    return promise
  }
  // A transaction inside the batch's is a savepoint.
  const undoable = once(() => database.transaction((run: () => unknown) => run()))
  return {
    /** Writes of one kind: `put` receives all that are adjacent in a transaction, and each by itself after a failure. */
    batched:
      <Item extends LargeWrite>(kind: WriteKind<Item>): BatchedWrite<Item> =>
      (item) =>
        queue(kind as PendingWrite['kind'], item),
    /** Commits changes that may fail: what `run` throws rolls back these changes alone, and rejects the promise. */
    async transact<T>(run: () => T): Promise<T> {
      let settle: (() => T) | undefined
      const put = () => {
        try {
          const value = undoable()(run) as T
          settle = () => value
        } catch (error) {
          settle = () => {
            throw error
          }
        }
      }
      await queue({ put }, {})
      return (settle as () => T)()
    },
    /**
     * Resolves when all earlier writes are committed. Nothing else is committed until the returned function is called.
     * Other callers wait meanwhile.
     */
    async hold(): Promise<() => void> {
      const { promise, resolve } = Promise.withResolvers<void>()
      const before = free
      free = promise
      await before
      const put = () => {
        onHold = true
      }
      const release = () => {
        onHold = false
        resolve()
        if (pending.length > 0) setImmediate(flush)
      }
      await queue({ put }, {}).catch((error) => {
        release()
        throw error
      })
      return release
    },
    /** Whether nothing is waiting. */
    get idle(): boolean {
      return pending.length === 0 && !onHold
    },
    /** Commits what is waiting, and closes. */
    close(): void {
      onHold = false
      while (pending.length > 0) flush(pending.length)
      database.close()
    },
  }
}

/** Commits writes in batches. */
export type Writer = ReturnType<typeof createWriter>
