// Moves a write-ahead log into its database file off the main thread, so that no call waits for the disk.
import { openFileForCheckpoint } from './open.ts'

/** One pass over the log of a file; runs on the worker's thread. */
export function checkpointFile(file: string): void {
  const database = openFileForCheckpoint(file)
  database.pragma('wal_checkpoint(PASSIVE)')
  database.close()
}

/** A function that has the second thread make one pass; the thread starts with the first. */
export function checkpointer(file: string): { checkpoint: () => Promise<void>; stop: () => void } {
  let worker: Worker | undefined
  return {
    checkpoint: () =>
      new Promise((resolve) => {
        worker ??= new Worker(new URL('./checkpoint-worker.ts', import.meta.url).href)
        worker.onmessage = () => resolve()
        // A pass that fails is made up for by the main thread's own.
        worker.onerror = () => resolve()
        worker.postMessage(file)
      }),
    stop: () => worker?.terminate(),
  }
}
