// Moves the write-ahead log of a database file into the file, in a worker: for a large log it takes longer than calls may wait.
import { closeSync, openSync, readSync } from 'node:fs'
import { isCompiled } from '../lib/assets.ts'
import { everySoOften } from '../lib/clock.ts'
import { CHECKPOINT_PAGES, type Database } from './open.ts'

/** The file whose log is moved. */
export interface CheckpointRequest {
  file: string
}
/** How it went. */
export interface CheckpointReport {
  /** How many pages of the log are in the file now. */
  moved: number
  error?: string | undefined
}

/** Keeps the log of a database small. */
export interface Checkpointer {
  /** To be called after each commit, with about what it wrote, undefined when nobody knows: begins a checkpoint when the log has grown. */
  look(bytes?: number): void
  close(): void
}

/** The worker ends when it has had nothing to do for so long. */
const IDLE_MS = 10_000
/** To look how large the log is takes a system call, so that it is done when so much may have been written since. */
const LOOK_BYTES = 1_000_000
/** What a commit writes beside its rows, about. */
const COMMIT_BYTES = 8_192
/** Where the shared index of a log has the number of its pages (sqlite.org/walformat.html, "mxFrame"). */
const PAGES_AT = 16

/** Where the worker's module is: `build/build.ts` makes it an entry of the executable. */
const address = () =>
  new URL(isCompiled ? './src/db/checkpoint-worker.js' : './checkpoint-worker.ts', import.meta.url).href

/** Checkpoints of a file that is open here. When no worker can be had, SQLite makes them itself, later, here (open.ts). */
export function checkpointer(database: Database): Checkpointer {
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
    // What was committed meanwhile is little; once all is moved, the log begins anew.
    if (error === undefined && pages() !== moved) database.pragma('wal_checkpoint(PASSIVE)')
  }
  const start = () => {
    const made = new Worker(address()) as Worker & { unref(): void }
    made.unref()
    made.onmessage = ({ data }: MessageEvent<CheckpointReport>) => done(data)
    // It stays `running`: another try would fail as well.
    made.onerror = () => end()
    stopWatch = everySoOften(IDLE_MS, endWhenIdle)
    return made
  }
  return {
    look(bytes = LOOK_BYTES) {
      written += bytes + COMMIT_BYTES
      if (written < LOOK_BYTES || running || closed) return
      written = 0
      if (pages() < CHECKPOINT_PAGES) return
      running = true
      used = true
      worker ??= start()
      worker.postMessage({ file } satisfies CheckpointRequest)
    },
    close() {
      if (closed) return
      closed = true
      end()
      closeSync(index)
    },
  }
}
