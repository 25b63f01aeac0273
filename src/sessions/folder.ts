// The folder in which named sessions outlive the process: a database file each, and beside it what the session was made with.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseError, lockFile, openUnlocked } from '../db/open.ts'
import { asObject } from '../lib/values.ts'
import { fileData, type SessionData } from './data.ts'
import { type DataCounts, type DataOptions, onUse } from './stores.ts'

/** What a session was made with, as the control API was asked for it. */
export type MadeWith = Record<string, unknown>

/** The databases of named sessions. */
export interface SessionFolder {
  /** Whether an earlier process, or this one, has left a session of a name. */
  has(name: string): boolean
  data(name: string, options: DataOptions): SessionData
  /** What it was made with; undefined when it began by being called. */
  madeWith(name: string): MadeWith | undefined
  /** Writes that down. */
  keep(name: string, made: MadeWith): void
  /** Removes a session. */
  remove(name: string): void
  /** Lets another process have the folder. */
  close(): void
}

/** The sessions of a folder, for this process alone; throws `DatabaseError` when it cannot be used. `empty`: an empty database. */
export function openFolder(folder: string, empty: () => Buffer): SessionFolder {
  const release = locked(folder)
  // Where capital letters are small ones, two sessions would have one file.
  const pathOf = (name: string) =>
    join(
      folder,
      name.replace(/[A-Z]/g, (letter) => `=${letter.toLowerCase()}`),
    )
  const fileOf = (name: string) => `${pathOf(name)}.db`
  const settingsOf = (name: string) => `${pathOf(name)}.json`
  return {
    has: (name) => existsSync(fileOf(name)),
    data(name, options) {
      const file = fileOf(name)
      const restored = existsSync(file)
      if (!restored) writeWhole(file, empty())
      return restingData(file, restored, options)
    },
    madeWith(name) {
      const file = settingsOf(name)
      return existsSync(file) ? asObject(JSON.parse(readFileSync(file, 'utf8'))) : undefined
    },
    keep: (name, made) => writeWhole(settingsOf(name), JSON.stringify(made)),
    remove(name) {
      for (const end of ['', '-wal', '-shm']) rmSync(fileOf(name) + end, { force: true })
      rmSync(settingsOf(name), { force: true })
    },
    close: release,
  }
}

function locked(folder: string): () => void {
  try {
    mkdirSync(folder, { recursive: true })
  } catch (error) {
    throw new DatabaseError(
      `sessions folder ${folder} cannot be made: ${(error as Error).message}; name another with --sessions-dir`,
    )
  }
  return lockFile(join(folder, 'understudy'), {
    what: `sessions folder ${folder}`,
    advice: 'name another folder with --sessions-dir',
  })
}

/** Renamed into place, so that nobody ever finds half of it. */
function writeWhole(file: string, content: Buffer | string): void {
  const draft = `${file}.new`
  try {
    writeFileSync(draft, content)
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

/** Data in a file that is open only while somebody uses it. */
function restingData(file: string, restored: boolean, options: DataOptions, begun?: SessionData): SessionData {
  let awake = begun
  let asleep: { counts: DataCounts; keyedKinds: readonly string[]; calls: number } | undefined
  const uses: SessionData['uses'] = new Map()
  const use = (): SessionData => {
    if (!awake) {
      awake = fileData({ ...openUnlocked(file), restored, release: () => {} }, options)
      // Calls that were refused before they were written have had their numbers too.
      if (asleep) awake.calls = Math.max(awake.calls, asleep.calls)
      asleep = undefined
      options.opened?.()
    }
    return awake
  }
  return {
    traces: onUse(() => use().traces),
    keyValues: onUse(() => use().keyValues),
    records: onUse(() => use().records),
    contents: onUse(() => use().contents),
    transact: (run) => use().transact(run),
    keyedKinds: () => asleep?.keyedKinds ?? use().keyedKinds(),
    snapshot: () => use().snapshot(),
    replaced: async (snapshot) => restingData(file, restored, options, await use().replaced(snapshot)),
    restored,
    uses,
    get calls() {
      return asleep?.calls ?? use().calls
    },
    set calls(count) {
      use().calls = count
    },
    get awake() {
      return awake !== undefined
    },
    get idle() {
      return awake?.idle ?? true
    },
    counts: () => asleep?.counts ?? use().counts(),
    sleep() {
      if (!awake?.idle) return
      const { calls } = awake
      asleep = { counts: awake.counts(), keyedKinds: awake.keyedKinds(), calls }
      awake.close()
      awake = undefined
    },
    close: () => awake?.close(),
  }
}
