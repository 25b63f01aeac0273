// The write path: writes of one turn of the event loop share a transaction, and each waits for that commit. When one of them
// fails, nothing of that transaction stands, and each is made again by itself: the others do not fail with it.
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
   * Resolves when the write is committed; rejects when it failed. It is made again after a failure of another one.
   */
  write(run: () => void, large?: LargeWrite): Promise<void>
  /** Like `write`, for changes that may refuse: what `run` throws undoes these changes alone, and is what the promise rejects with. */
  transact<T>(run: () => T): Promise<T>
  /** Whether nothing is waiting. */
  readonly idle: boolean
  /** Commits what is waiting, and closes. */
  close(): void
}

interface PendingWrite {
  /** What is left to do of it; the last is the write itself. */
  steps: { run: () => void; bytes: number }[]
  resolve: () => void
  reject: (error: unknown) => void
}

/** Bytes of one transaction, about; what is over them has its turn later. */
const LARGE = 2_000_000
/** Bytes of a step before a write, about. */
const STEP = 1_000_000

/** How many of those that wait have a step in the next transaction. */
function firstOf(pending: readonly PendingWrite[]): number {
  let bytes = 0
  const over = pending.findIndex(({ steps }) => (bytes += steps[0]?.bytes ?? 0) > LARGE)
  return over < 0 ? pending.length : Math.max(1, over)
}

/** Commits a step of each of some writes; gives those of which something is left to do. */
function stepsOver(database: Database): (batch: readonly PendingWrite[]) => PendingWrite[] {
  const commit = database.transaction((batch: readonly PendingWrite[]) => {
    for (const { steps } of batch) steps[0]?.run()
  })
  // A savepoint for each write would cost every batch; this costs only those that fail.
  const commitAlone = (one: PendingWrite): boolean => {
    try {
      commit([one])
      return true
    } catch (error) {
      one.reject(error)
      return false
    }
  }
  return (batch) => {
    let done = batch
    try {
      commit(batch)
    } catch {
      done = batch.filter(commitAlone)
    }
    return done.filter(({ steps, resolve }) => {
      steps.shift()
      if (steps.length === 0) resolve()
      return steps.length > 0
    })
  }
}

/** A writer over one connection; `committed` is told of each transaction. */
export function createWriter(database: Database, committed: () => void = () => {}): Writer {
  let pending: PendingWrite[] = []
  const commit = stepsOver(database)
  const flush = (most = firstOf(pending)) => {
    if (pending.length === 0) return
    const batch = pending.slice(0, most)
    const rest = pending.slice(most)
    pending = []
    const unfinished = commit(batch)
    committed()
    // What has been begun is behind what came after it: nobody waits for a large write but its own call.
    const waiting = pending.length > 0
    pending = [...rest, ...pending, ...unfinished]
    if (pending.length > 0 && !waiting) setImmediate(flush)
  }
  const write = (run: () => void, { bytes = 0, ahead = [] }: LargeWrite = {}) =>
    new Promise<void>((resolve, reject) => {
      const steps = [...ahead.map((step) => ({ run: step, bytes: STEP })), { run, bytes }]
      if (pending.push({ steps, resolve, reject }) === 1) setImmediate(flush)
    })
  // A transaction inside the batch's is a savepoint.
  const undoable = database.transaction((run: () => void) => run())
  return {
    write,
    async transact<T>(run: () => T): Promise<T> {
      let settle: (() => T) | undefined
      await write(() => {
        try {
          let value: T
          undoable(() => {
            value = run()
          })
          settle = () => value
        } catch (error) {
          settle = () => {
            throw error
          }
        }
      })
      return (settle as () => T)()
    },
    get idle() {
      return pending.length === 0
    },
    close() {
      while (pending.length > 0) flush(pending.length)
      database.close()
    },
  }
}
