// The folder in which named sessions outlive the process: a database file for each. Whatever else is in the folder is left alone.
import { lstatSync, mkdirSync, readdirSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { ApiError } from '../contract/error.ts'
import { errorCode, isDamage, isOutOfFiles, tooManyFiles } from '../contract/storage-error.ts'
import { DatabaseError, lockFile, openUnlocked } from '../db/open.ts'
import { isOwnFile, readSettings, withSettings } from '../db/session-file.ts'
import { asObject, parsedJson } from '../lib/values.ts'
import { fileData, nothingStored, type SessionData } from './data.ts'
import { foreignFile, UnusableSession, unrestorable, unwritable } from './refusals.ts'
import { type DataCounts, type DataOptions, type Guard, guardedOnUse } from './stores.ts'

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
  /** Removes a session; 507 when the file of the name belongs to another program, which stays, or cannot be removed. */
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
  const stateOf = (name: string) => cared(name, () => fileState(fileOf(name)))
  const has = (name: string) => stateOf(name) !== 'missing'
  const refuseForeign = (name: string) => {
    if (stateOf(name) === 'foreign') throw foreignFile(name, fileOf(name))
  }
  const remove = (name: string) => {
    const file = fileOf(name)
    if (stateOf(name) === 'foreign') throw foreignFile(name, file)
    cared(name, () => {
      for (const end of ['', ...COMPANIONS]) removeFile(file + end)
    })
  }
  const write = (name: string, made: MadeWith | undefined) => {
    remove(name)
    cared(name, () => writeWhole(fileOf(name), made ? withSettings(empty(), JSON.stringify(made)) : empty()))
  }
  return {
    has,
    data(name, options, made) {
      const restored = has(name)
      try {
        if (!restored) write(name, made)
        return restingData({ name, file: fileOf(name), restored, check: () => checkState(name, fileOf(name)) }, options)
      } catch (error) {
        if (!restored) remove(name)
        throw error
      }
    },
    madeWith(name) {
      if (!has(name)) return undefined
      checkState(name, fileOf(name))
      const text = settingsText(name, fileOf(name))
      if (text === undefined) return undefined
      const made = asObject(parsedJson(text))
      if (!made) throw unrestorable(name, `the settings in ${fileOf(name)} are not what was written there`)
      return made
    },
    remove,
    refuseForeign,
    close: release,
  }
}

/** Does something with the file of a session; 503 where no more files can be opened, 507 when the system does not let us. */
function cared<Result>(name: string, run: () => Result): Result {
  try {
    return run()
  } catch (error) {
    const code = errorCode(error)
    if (code === '' || error instanceof ApiError) throw error
    throw isOutOfFiles(error) ? tooManyFiles(code) : unwritable(name, `cannot be used: ${(error as Error).message}`)
  }
}

/** 507 when there is not what we wrote where the file of a session must be. */
function checkState(name: string, file: string): void {
  const state = cared(name, () => fileState(file))
  if (state === 'foreign') throw foreignFile(name, file)
  if (state !== 'own') throw unrestorable(name, `its file ${file} is ${state === 'empty' ? 'empty' : 'gone'}`)
}

/** What `openUnlocked` and the like have thrown, as the refusal of a session. */
function refusalOf(name: string, error: unknown): unknown {
  if (!(error instanceof DatabaseError)) return error
  return isOutOfFiles(error) ? tooManyFiles(errorCode(error)) : unrestorable(name, error.problem)
}

function settingsText(name: string, file: string): string | undefined {
  try {
    return readSettings(file)
  } catch (error) {
    throw refusalOf(name, error)
  }
}

/** Whether a path holds one of our databases, nothing, a file without content, or something of another program. */
function fileState(file: string): 'missing' | 'empty' | 'own' | 'foreign' {
  const stat = lstatSync(file, { throwIfNoEntry: false })
  if (!stat) return 'missing'
  if (!stat.isFile()) return 'foreign'
  if (stat.size === 0) return 'empty'
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
    if (name.endsWith(SUFFIX + DRAFT) && fileState(file) === 'own') removeFile(file)
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
  if (fileState(draft) !== 'foreign') removeFile(draft)
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
  /** 507 when it is not there as it was left. */
  check(): void
}

function openData({ name, file, restored, check }: SessionFile, options: DataOptions): SessionData {
  check()
  try {
    const data = fileData({ ...openUnlocked(file), restored, release: () => {} }, options)
    options.opened?.()
    return data
  } catch (error) {
    throw refusalOf(name, error)
  }
}

/** What a session that sleeps is known to hold. */
interface RestingCounts {
  counts: DataCounts
  keyedKinds: readonly string[]
  calls: number
}

/** Data in a file that is open only while somebody uses it. */
function restingData(source: SessionFile, options: DataOptions, begun?: SessionData): SessionData {
  const { name } = source
  // Opened at once: what cannot be opened is no session, which would be counted and listed.
  let awake: SessionData | undefined = begun ?? openData(source, options)
  let known: RestingCounts = { counts: nothingStored(options.keep), keyedKinds: [], calls: 0 }
  /** Why it could not be opened the last time, and why something in it could not be read. */
  let [closedBy, spoiledBy]: (UnusableSession | undefined)[] = []
  const use = (): SessionData => {
    if (awake) return awake
    try {
      awake = openData(source, options)
    } catch (error) {
      closedBy = error instanceof UnusableSession ? error : undefined
      throw error
    }
    closedBy = undefined
    spoiledBy = undefined
    // Calls that were refused before they were written have had their numbers too.
    awake.calls = Math.max(awake.calls, known.calls)
    return awake
  }
  /** A file that turns out to be damaged where it is read is an error of this session. */
  const guard: Guard = (run) => {
    try {
      return run()
    } catch (error) {
      if (!isDamage(error)) throw error
      spoiledBy = unrestorable(name, `what is in ${source.file} cannot be read: ${(error as Error).message}`)
      throw spoiledBy
    }
  }
  /** What was known before, when that is so. */
  const readOr = <Result>(run: () => Result, before: Result): Result => {
    try {
      return guard(run)
    } catch (error) {
      if (error instanceof UnusableSession) return before
      throw error
    }
  }
  const store = <Store extends object>(of: (data: SessionData) => Store) => guardedOnUse(() => of(use()), guard)
  const countsOf = (data: SessionData) => readOr(() => data.counts(), known.counts)
  const kindsOf = (data: SessionData) => readOr(() => data.keyedKinds(), known.keyedKinds)
  return {
    traces: store((data) => data.traces),
    keyValues: store((data) => data.keyValues),
    records: store((data) => data.records),
    contents: store((data) => data.contents),
    sequences: store((data) => data.sequences),
    transact: (run) => use().transact(run),
    keyedKinds: () => (awake ? kindsOf(awake) : known.keyedKinds),
    snapshot: () => guard(() => use().snapshot()),
    replaced: async (snapshot) => restingData(source, options, await use().replaced(snapshot)),
    restored: source.restored,
    underWay: new Set(),
    get problem() {
      return (closedBy ?? spoiledBy)?.message
    },
    get calls() {
      return awake?.calls ?? known.calls
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
    counts: () => (awake ? countsOf(awake) : known.counts),
    sleep() {
      if (!awake?.idle) return
      const resting = awake
      known = { counts: countsOf(resting), keyedKinds: kindsOf(resting), calls: resting.calls }
      awake = undefined
      readOr(() => resting.close(), undefined)
    },
    leave: () => awake?.leave(),
    close: () => readOr(() => awake?.close(), undefined),
  }
}
