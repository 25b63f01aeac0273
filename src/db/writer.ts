// The write path: writes of one turn of the event loop share a transaction, and each waits for that commit. When one of them
// fails, nothing of that transaction stands, and each is made again by itself: the others do not fail with it.
import type { Database } from './open.ts'

/** Commits what is handed to it in batches. */
export interface Writer {
  /** Resolves when the write is committed; rejects when it failed. It is made again after a failure of another one. */
  write(run: () => void): Promise<void>
  /** Like `write`, for changes that may refuse: what `run` throws undoes these changes alone, and is what the promise rejects with. */
  transact<T>(run: () => T): Promise<T>
  /** Whether nothing is waiting. */
  readonly idle: boolean
  /** Commits what is waiting, and closes. */
  close(): void
}

interface Pending {
  run: () => void
  resolve: () => void
  reject: (error: unknown) => void
}

/** A writer over one connection. */
export function createWriter(database: Database): Writer {
  let pending: Pending[] = []

  const commit = database.transaction((batch: readonly Pending[]) => {
    for (const { run } of batch) run()
  })
  const flush = () => {
    const batch = pending
    pending = []
    if (batch.length === 0) return
    try {
      commit(batch)
      for (const { resolve } of batch) resolve()
    } catch {
      for (const one of batch) commitAlone(one)
    }
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
  const write = (run: () => void) =>
    new Promise<void>((resolve, reject) => {
      if (pending.push({ run, resolve, reject }) === 1) setImmediate(flush)
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
      flush()
      database.close()
    },
  }
}
