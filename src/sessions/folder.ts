// The folder in which named sessions outlive the process: a database file for each. Whatever else is in the folder is left alone.
import { lstatSync, mkdirSync, readdirSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { DatabaseError, lockFile, openUnlocked } from '../db/open.ts'
import { isOwnFile, readSettings, withSettings } from '../db/session-file.ts'
import { asObject, parsedJson } from '../lib/values.ts'
import { fileData, type SessionData } from './data.ts'
import { foreignFile, unrestorable } from './refusals.ts'
import { type DataCounts, type DataOptions, onUse } from './stores.ts'

/** What a session was made with, as the control API was asked for it. */
export type MadeWith = Record<string, unknown>

/** The databases of named sessions. */
export interface SessionFolder {
  /** Whether an earlier process, or this one, has left a session of a name, or a file of another program has its place. */
  has(name: string): boolean
  /** What was left of it, or else nothing, in a file that is there with what the session is `made` with, or not at all. */
  data(name: string, options: DataOptions, made: MadeWith | undefined): SessionData
  /** What one that was left was made with; undefined when it began by being called. */
  madeWith(name: string): MadeWith | undefined
  /** 507 when the file of a name belongs to another program. */
  refuseForeign(name: string): void
  /** Removes a session; a file of another program stays. */
  remove(name: string): void
  /** Lets another process have the folder. */
  close(): void
}

/** What a folder of sessions is made with. */
export interface FolderOptions {
  /** File of the default session's database, or `:memory:`. */
  db: string
  /** An empty database. */
  empty(): Buffer
}

/** What ends the name of each file that is ours. */
const SUFFIX = '.session.db'
/** What SQLite keeps beside a database. */
const COMPANIONS = ['-wal', '-shm', '-journal']

/** The sessions of a folder, for this process alone; throws `DatabaseError` when it cannot be used. */
export function openFolder(folder: string, { db, empty }: FolderOptions): SessionFolder {
  const release = locked(folder, db)
  const fileOf = (name: string) => join(folder, fileName(name) + SUFFIX)
  const has = (name: string) => stateOf(fileOf(name)) !== 'missing'
  const refuseForeign = (name: string) => {
    if (stateOf(fileOf(name)) === 'foreign') throw foreignFile(name, fileOf(name))
  }
  const remove = (name: string) => {
    const file = fileOf(name)
    if (stateOf(file) === 'foreign') return
    for (const end of ['', ...COMPANIONS]) removeFile(file + end)
  }
  return {
    has,
    refuseForeign,
    data(name, options, made) {
      refuseForeign(name)
      const restored = has(name)
      try {
        if (!restored) {
          remove(name)
          writeWhole(fileOf(name), made ? withSettings(empty(), JSON.stringify(made)) : empty())
        }
        return restingData({ name, file: fileOf(name), restored }, options)
      } catch (error) {
        if (!restored) remove(name)
        throw error
      }
    },
    madeWith(name) {
      if (!has(name)) return undefined
      refuseForeign(name)
      const text = settingsText(name, fileOf(name))
      if (text === undefined) return undefined
      const made = asObject(parsedJson(text))
      if (!made) throw unrestorable(name, `the settings in ${fileOf(name)} are not what was written there`)
      return made
    },
    remove,
    close: release,
  }
}

function settingsText(name: string, file: string): string | undefined {
  try {
    return readSettings(file)
  } catch (error) {
    throw error instanceof DatabaseError ? unrestorable(name, error.problem) : error
  }
}

/** Whether a path holds one of our databases, nothing worth keeping, or something of another program. */
function stateOf(file: string): 'missing' | 'own' | 'foreign' {
  const stat = lstatSync(file, { throwIfNoEntry: false })
  if (!stat) return 'missing'
  if (!stat.isFile()) return 'foreign'
  // A file without content is what a machine that lost power has left of one.
  if (stat.size === 0) return 'missing'
  return isOwnFile(file) ? 'own' : 'foreign'
}

function removeFile(file: string): void {
  if (lstatSync(file, { throwIfNoEntry: false })?.isFile()) rmSync(file, { force: true })
}

/** Names that Windows has for devices, whatever stands behind the first dot. */
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/
/** The name of a session as that of a file, which no other session has where capital letters are small ones. */
const fileName = (name: string) =>
  DEVICE.test(name) ? `==${name}` : name.replace(/[A-Z]/g, (letter) => `=${letter.toLowerCase()}`)

function locked(folder: string, db: string): () => void {
  try {
    mkdirSync(folder, { recursive: true })
  } catch (error) {
    throw new DatabaseError(
      `sessions folder ${folder} cannot be made: ${(error as Error).message}; name another with --sessions-dir`,
    )
  }
  if (db !== ':memory:' && isInside(db, folder)) {
    throw new DatabaseError(
      `database ${db} is inside the sessions folder ${folder}: choose a file outside of it with --db, or another folder with --sessions-dir`,
    )
  }
  const release = lockFile(join(folder, 'understudy'), {
    what: `sessions folder ${folder}`,
    advice: 'name another folder with --sessions-dir',
  })
  // What a process that was killed had begun to write.
  for (const name of readdirSync(folder)) {
    const file = join(folder, name)
    if (name.endsWith(SUFFIX + DRAFT) && stateOf(file) === 'own') removeFile(file)
  }
  return release
}

/** Whether a file is, or would be, inside a folder, by whatever links one gets there. */
function isInside(file: string, folder: string): boolean {
  const path = relative(realpathSync(folder), realPath(resolve(file)))
  return path !== '..' && !path.startsWith(`..${sep}`) && resolve(path) !== path
}

/** The path without links of something that need not exist. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const folder = dirname(path)
    return folder === path ? path : join(realPath(folder), basename(path))
  }
}

const DRAFT = '.new'
/** Renamed into place, so that nobody ever finds half of it. */
function writeWhole(file: string, content: Buffer): void {
  const draft = file + DRAFT
  if (stateOf(draft) !== 'foreign') removeFile(draft)
  // Whatever else is there is not written over.
  writeFileSync(draft, content, { flag: 'wx' })
  try {
    renameSync(draft, file)
  } catch (error) {
    removeFile(draft)
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
    sequences: onUse(() => use().sequences),
    transact: (run) => use().transact(run),
    keyedKinds: () => asleep?.keyedKinds ?? use().keyedKinds(),
    snapshot: () => use().snapshot(),
    replaced: async (snapshot) => restingData(source, options, await use().replaced(snapshot)),
    restored: source.restored,
    underWay: new Set(),
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
