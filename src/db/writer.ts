// The write path: writes of one turn of the event loop share a transaction, and each waits for that commit. When one of them
// fails, nothing of that transaction stands, and each is made again by itself: the others do not fail with it.
import { once } from '../lib/once.ts'
import type { Database } from './open.ts'

/** What is known of a write that may be large: no transaction holds up other calls for long. */
export interface LargeWrite {
  /** What it writes, about. */
  bytes?: number | undefined
  /** Steps before it, in transactions of their own; each may be made again. */
  ahead?: readonly (() => void)[] | undefined
}

/** Commits what is handed to it in batches. */
export interface Writer {
  /**
   * Writes of one kind: its `put` gets all that stand side by side in a transaction, and again one by one when they failed together.
   */
  batched<Item extends LargeWrite>(kind: WriteKind<Item>): BatchedWrite<Item>
  /** Commits changes that may refuse: what `run` throws undoes these changes alone, and is what the promise rejects with. */
  transact<T>(run: () => T): Promise<T>
  /**
   * Resolves when what was handed over before is committed; from then on nothing else is, until what it returns is called. Whoever
   * calls it again meanwhile waits for that.
   */
  hold(): Promise<() => void>
  /** Whether nothing is waiting. */
  readonly idle: boolean
  /** Commits what is waiting, and closes. */
  close(): void
}

/** What the writes of a kind have in common. */
export interface WriteKind<Item> {
  put(items: readonly Item[]): void
  /** Whether to write it alone takes no second statement that changes anything; it may when left out. */
  isOneStatement?(item: Item): boolean
}

/** Resolves when the write is committed; rejects when it failed. */
export type BatchedWrite<Item> = (item: Item) => Promise<void>

/** Of a writer, what stores need. */
export type Writes = Pick<Writer, 'batched'>

const refused = () => Promise.reject(new Error('opened to read'))
/** Of a database that is only read. */
export const READ_ONLY: Writes = { batched: () => refused }

interface PendingWrite {
  item: LargeWrite
  kind: WriteKind<LargeWrite>
  /** Undefined when nobody knows. */
  bytes: number | undefined
  /** What is left to do before it. */
  ahead: readonly (() => void)[]
  resolve: () => void
  reject: (error: unknown) => void
}

/** Bytes of one transaction, about; what is over them has its turn later. */
const LARGE = 2_000_000
/** Bytes of a step before a write, about. */
const STEP = 1_000_000

const bytesOf = ({ ahead, bytes = 0 }: PendingWrite) => (ahead.length > 0 ? STEP : bytes)

/** How many of those that wait have a step in the next transaction. */
function firstOf(pending: readonly PendingWrite[]): number {
  let bytes = 0
  const over = pending.findIndex((one) => (bytes += bytesOf(one)) > LARGE)
  return over < 0 ? pending.length : Math.max(1, over)
}

/** Makes a step of each of some writes: those of a kind that stand side by side at once. */
function makeSteps(batch: readonly PendingWrite[]): void {
  let items: LargeWrite[] = []
  let kind: PendingWrite['kind'] | undefined
  const putItems = () => {
    kind?.put(items)
    kind = undefined
    items = []
  }
  for (const one of batch) {
    const [step] = one.ahead
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
    // SQLite makes a transaction of one statement itself, which spares the calls of two others.
    if (one && batch.length === 1 && one.ahead.length === 0 && one.kind.isOneStatement?.(one.item)) {
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

/** Commits a step of each of some writes; gives those of which something is left to do. */
function stepsOver(database: Database): (batch: readonly PendingWrite[]) => PendingWrite[] {
  const transaction = once(() => transactionOver(database))
  // A savepoint for each write would cost every batch; this costs only those that fail.
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
      if (one.ahead.length === 0) one.resolve()
      else unfinished.push({ ...one, ahead: one.ahead.slice(1) })
    }
    return unfinished
  }
}

/** What a transaction wrote, about; undefined when nobody knows. */
function bytesOfAll(batch: readonly PendingWrite[]): number | undefined {
  let sum = 0
  for (const one of batch) {
    if (one.bytes === undefined) return undefined
    sum += bytesOf(one)
  }
  return sum
}

const NO_STEPS: readonly (() => void)[] = []

/** A writer over one connection; `committed` is told of each transaction, and about how many bytes it wrote. */
export function createWriter(database: Database, committed: (bytes: number | undefined) => void = () => {}): Writer {
  let pending: PendingWrite[] = []
  let held = false
  let free = Promise.resolve()
  const commit = stepsOver(database)
  const flush = (most = firstOf(pending)) => {
    if (held || pending.length === 0) return
    const batch = most >= pending.length ? pending : pending.slice(0, most)
    const rest = pending.slice(most)
    pending = []
    const unfinished = commit(batch)
    committed(bytesOfAll(batch))
    // What has been begun is behind what came after it: nobody waits for a large write but its own call.
    const waiting = pending.length > 0
    if (rest.length > 0 || unfinished.length > 0) pending = [...rest, ...pending, ...unfinished]
    if (pending.length > 0 && !waiting) setImmediate(flush)
  }
  const queue = (kind: PendingWrite['kind'], item: LargeWrite) => {
    const { bytes, ahead = NO_STEPS } = item
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    if (pending.push({ item, kind, bytes, ahead, resolve, reject }) === 1) setImmediate(flush)
    return promise
  }
  // A transaction inside the batch's is a savepoint.
  const undoable = once(() => database.transaction((run: () => void) => run()))
  return {
    batched: (kind) => (item) => queue(kind as PendingWrite['kind'], item),
    async transact<T>(run: () => T): Promise<T> {
      let settle: (() => T) | undefined
      const put = () => {
        try {
          let value: T
          undoable()(() => {
            value = run()
          })
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
    async hold() {
      const { promise, resolve } = Promise.withResolvers<void>()
      const before = free
      free = promise
      await before
      const put = () => {
        held = true
      }
      const release = () => {
        held = false
        resolve()
        if (pending.length > 0) setImmediate(flush)
      }
      await queue({ put }, {}).catch((error) => {
        release()
        throw error
      })
      return release
    },
    get idle() {
      return pending.length === 0 && !held
    },
    close() {
      held = false
      while (pending.length > 0) flush(pending.length)
      database.close()
    },
  }
}
