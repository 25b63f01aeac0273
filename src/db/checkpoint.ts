// Checkpoints the write-ahead log of a database file in a worker: a large log takes longer than calls may wait.
import { closeSync, openSync, readSync } from 'node:fs'
import { isCompiled } from '../lib/assets.ts'
import { everySoOften } from '../lib/clock.ts'
import { CHECKPOINT_PAGES, type Database } from './open.ts'

/** The result for a file. */
export interface CheckpointReport {
  /** Number of pages of the log that are now in the file. */
  moved: number
  error?: string | undefined
}

/** Idle time after which the worker ends. */
const IDLE_MS = 10_000
/** Checking the size of the log takes a system call, so it is done after so many bytes. */
const LOOK_BYTES = 1_000_000
/** Approximate size of a commit beside its rows. */
const COMMIT_BYTES = 8_192
/** Offset of the number of pages in the shared index of a log (sqlite.org/walformat.html, "mxFrame"). */
const PAGES_AT = 16

/** The worker's module: `build/build.ts` makes it an entry of the executable. */
const address = () =>
  new URL(isCompiled ? './src/db/checkpoint-worker.js' : './checkpoint-worker.ts', import.meta.url).href

/**
 * Checkpoints of a file that is open in this process. If no worker is available, SQLite makes them itself, later, on
 * the main thread (open.ts).
 */
export function checkpointer(database: Database) {
  const file = database.name
  const index = openSync(`${file}-shm`, 'r')
  const bytes = new Uint32Array(1)
  const pages = () => (readSync(index, bytes, 0, 4, PAGES_AT) === 4 ? (bytes[0] ?? 0) : 0)
  let worker: (Worker & { unref(): void }) | undefined
  let stopWatch: (() => void) | undefined
  let written = 0
  let used = false
  let running = false
  let closed = false
  const end = () => {
    stopWatch?.()
    worker?.terminate()
    worker = undefined
  }
  const endWhenIdle = () => {
    if (!used && !running) end()
    used = false
  }
  const done = ({ error, moved }: CheckpointReport) => {
    if (closed) return
    running = false
    // Little was committed meanwhile. Once everything is moved, the log starts again.
    if (error === undefined && pages() !== moved) database.pragma('wal_checkpoint(PASSIVE)')
  }
  const start = () => {
    const made = new Worker(address()) as Worker & { unref(): void }
    made.unref()
    made.onmessage = ({ data }: MessageEvent<CheckpointReport>) => done(data)
    // It stays `running`: another attempt would fail, too.
    made.onerror = () => end()
    stopWatch = everySoOften(IDLE_MS, endWhenIdle)
    return made
  }
  return {
    /**
     * Call it after each commit with the approximate number of bytes written, undefined if unknown. Starts a checkpoint
     * when the log has grown.
     */
    look(bytes = LOOK_BYTES): void {
      written += bytes + COMMIT_BYTES
      if (written < LOOK_BYTES || running || closed) return
      written = 0
      if (pages() < CHECKPOINT_PAGES) return
      running = true
      used = true
      worker ??= start()
      worker.postMessage(file)
    },
    close(): void {
      if (closed) return
      closed = true
      end()
      closeSync(index)
    },
  }
}
