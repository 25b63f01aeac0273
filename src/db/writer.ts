// The write path: writes of one turn of the event loop share a transaction, and each waits for that commit. When one of them
// fails, nothing of that transaction stands, and each is made again by itself: the others do not fail with it.
import type { Database } from './open.ts'

/** Commits what is handed to it in batches. */
export interface Writer {
  /**
   * Resolves when the write is committed; rejects when it failed. It is made again after a failure of another one. `bytes` is
   * about what it writes: many large ones are no single transaction.
   */
  write(run: () => void, bytes?: number): Promise<void>
  /** Like `write`, for changes that may refuse: what `run` throws undoes these changes alone, and is what the promise rejects with. */
  transact<T>(run: () => T): Promise<T>
  /** Whether nothing is waiting. */
  readonly idle: boolean
  /** Commits what is waiting, and closes. */
  close(): void
}

interface Pending {
  run: () => void
  bytes: number
  resolve: () => void
  reject: (error: unknown) => void
}

/** Bytes of one transaction, about; what is over them has its turn later. */
const LARGE = 4_000_000

/** The first of what is waiting: as much as may hold up other calls. */
function firstOf(pending: readonly Pending[]): number {
  let bytes = 0
  const over = pending.findIndex((one) => (bytes += one.bytes) > LARGE)
  return over < 0 ? pending.length : Math.max(1, over)
}

/** A writer over one connection; `committed` is told of each transaction. */
export function createWriter(database: Database, committed: () => void = () => {}): Writer {
  let pending: Pending[] = []

  const commit = database.transaction((batch: readonly Pending[]) => {
    for (const { run } of batch) run()
  })
  const flush = (most = firstOf(pending)) => {
    const batch = pending.slice(0, most)
    pending = pending.slice(most)
    if (pending.length > 0) setImmediate(flush)
    if (batch.length === 0) return
    try {
      commit(batch)
      for (const { resolve } of batch) resolve()
    } catch {
      for (const one of batch) commitAlone(one)
    }
    committed()
  }
  // A savepoint for each write would cost every batch; this costs only those that fail.
  const commitAlone = (one: Pending) => {
    try {
      commit([one])
      one.resolve()
    } catch (error) {
      one.reject(error)
    }
  }
  const write = (run: () => void, bytes = 0) =>
    new Promise<void>((resolve, reject) => {
      if (pending.push({ run, bytes, resolve, reject }) === 1) setImmediate(flush)
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
      flush(pending.length)
      database.close()
    },
  }
}
