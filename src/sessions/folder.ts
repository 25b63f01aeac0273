// The folder in which named sessions outlive the process: a database file each, and beside it what the session was made with.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseError, lockFile, openUnlocked } from '../db/open.ts'
import { asObject, parsedJson } from '../lib/values.ts'
import { fileData, type SessionData } from './data.ts'
import { unrestorable } from './refusals.ts'
import { type DataCounts, type DataOptions, onUse } from './stores.ts'

/** What a session was made with, as the control API was asked for it. */
export type MadeWith = Record<string, unknown>

/** The databases of named sessions. */
export interface SessionFolder {
  /** Whether an earlier process, or this one, has left a session of a name. */
  has(name: string): boolean
  /** What was left of it, or else nothing, in a file that is there with what the session is `made` with, or not at all. */
  data(name: string, options: DataOptions, made: MadeWith | undefined): SessionData
  /** What one that was left was made with; undefined when it began by being called. */
  madeWith(name: string): MadeWith | undefined
  /** Removes a session. */
  remove(name: string): void
  /** Lets another process have the folder. */
  close(): void
}

/** The sessions of a folder, for this process alone; throws `DatabaseError` when it cannot be used. `empty`: an empty database. */
export function openFolder(folder: string, empty: () => Buffer): SessionFolder {
  const release = locked(folder)
  const pathOf = (name: string) => join(folder, fileName(name))
  const fileOf = (name: string) => `${pathOf(name)}.db`
  const settingsOf = (name: string) => `${pathOf(name)}.json`
  // A file without content is what a machine that lost power has left of one.
  const has = (name: string) => (statSync(fileOf(name), { throwIfNoEntry: false })?.size ?? 0) > 0
  const remove = (name: string) => {
    for (const end of ['', '-wal', '-shm']) rmSync(fileOf(name) + end, { force: true })
    rmSync(settingsOf(name), { force: true })
  }
  const begin = (name: string, made: MadeWith | undefined) => {
    remove(name)
    if (made) writeWhole(settingsOf(name), JSON.stringify(made))
    // Last: with it the session is there.
    writeWhole(fileOf(name), empty())
  }
  return {
    has,
    data(name, options, made) {
      const restored = has(name)
      try {
        if (!restored) begin(name, made)
        return restingData({ name, file: fileOf(name), restored }, options)
      } catch (error) {
        if (!restored) remove(name)
        throw error
      }
    },
    madeWith(name) {
      const file = settingsOf(name)
      if (!has(name) || !existsSync(file)) return undefined
      const made = asObject(parsedJson(readFileSync(file, 'utf8')))
      if (!made) throw unrestorable(name, `${file} is not what was written there`)
      return made
    },
    remove,
    close: release,
  }
}

/** Names that Windows has for devices, whatever stands behind the first dot. */
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/
/** The name of a session as that of a file, which no other session has where capital letters are small ones. */
const fileName = (name: string) =>
  DEVICE.test(name) ? `==${name}` : name.replace(/[A-Z]/g, (letter) => `=${letter.toLowerCase()}`)

function locked(folder: string): () => void {
  try {
    mkdirSync(folder, { recursive: true })
  } catch (error) {
    throw new DatabaseError(
      `sessions folder ${folder} cannot be made: ${(error as Error).message}; name another with --sessions-dir`,
    )
  }
  const release = lockFile(join(folder, 'understudy'), {
    what: `sessions folder ${folder}`,
    advice: 'name another folder with --sessions-dir',
  })
  // What a process that was killed had begun to write.
  for (const name of readdirSync(folder)) if (name.endsWith(DRAFT)) rmSync(join(folder, name), { force: true })
  return release
}

/** No database, and none of what belongs to one, ends so. */
const DRAFT = '.new'
/** Renamed into place, so that nobody ever finds half of it. */
function writeWhole(file: string, content: Buffer | string): void {
  const draft = file + DRAFT
  try {
    writeFileSync(draft, content)
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

/** The file of a session. */
interface SessionFile {
  name: string
  file: string
  restored: boolean
}

function openData({ name, file, restored }: SessionFile, options: DataOptions): SessionData {
  try {
    const data = fileData({ ...openUnlocked(file), restored, release: () => {} }, options)
    options.opened?.()
    return data
  } catch (error) {
    throw error instanceof DatabaseError ? unrestorable(name, error.problem) : error
  }
}

/** Data in a file that is open only while somebody uses it. */
function restingData(source: SessionFile, options: DataOptions, begun?: SessionData): SessionData {
  // Opened at once: what cannot be opened is no session, which would be counted and listed.
  let awake: SessionData | undefined = begun ?? openData(source, options)
  let asleep: { counts: DataCounts; keyedKinds: readonly string[]; calls: number } | undefined
  const uses: SessionData['uses'] = new Map()
  const use = (): SessionData => {
    if (!awake) {
      awake = openData(source, options)
      // Calls that were refused before they were written have had their numbers too.
      if (asleep) awake.calls = Math.max(awake.calls, asleep.calls)
      asleep = undefined
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
    replaced: async (snapshot) => restingData(source, options, await use().replaced(snapshot)),
    restored: source.restored,
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
    leave: () => awake?.leave(),
    close: () => awake?.close(),
  }
}
