// The write path: writes of one turn of the event loop share a transaction, and each waits for that commit.
import type { Database } from './open.ts'

/** Pages of write-ahead log (4 KiB each) after which its content is moved into the database file. */
const CHECKPOINT_PAGES = 4_000

/** Commits what is handed to it in batches. */
export interface Writer {
  /** Resolves when the write is committed; rejects when its transaction failed. */
  write(run: () => void): Promise<void>
  /** Commits what is waiting, moves the log into the file, and closes. */
  close(): Promise<void>
}

interface Pending {
  run: () => void
  resolve: () => void
  reject: (error: unknown) => void
}

/** A writer over one connection; `checkpoint` moves the log of a file database on another thread, and is absent in memory. */
export function createWriter(database: Database, checkpoint?: () => Promise<void>): Writer {
  let pending: Pending[] = []
  let writes = 0
  let checkpointing: Promise<void> | undefined

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
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    writes += batch.length
    if (checkpoint && !checkpointing && writes * 2 >= CHECKPOINT_PAGES) relieve()
  }
  // The other thread copies most of the log while calls go on; what came in meanwhile is little, so this thread finishes
  // it between two commits, and the next commit starts the log at its beginning again: it stays bounded.
  const relieve = () => {
    writes = 0
    checkpointing = checkpoint?.().then(() => {
      database.pragma('wal_checkpoint(PASSIVE)')
      checkpointing = undefined
    })
  }
  return {
    write: (run) =>
      new Promise((resolve, reject) => {
        if (pending.push({ run, resolve, reject }) === 1) setImmediate(flush)
      }),
    async close() {
      flush()
      await checkpointing
      if (checkpoint) database.pragma('wal_checkpoint(TRUNCATE)')
      database.close()
    },
  }
}
