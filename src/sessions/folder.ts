// The folder in which named sessions outlive the process: one database file each. Other files in it are left alone.
import { lstatSync, readdirSync, realpathSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { ApiError } from '../contract/core/error.ts'
import { errorCode, isDamage, isOutOfFiles, TOO_MANY_OPEN_FILES, tooManyFiles } from '../contract/core/storage-error.ts'
import { ownerOf } from '../db/file-head.ts'
import { COMPANIONS, closesAtOnce, type Database, DatabaseError, lockFile, openOften, openSecond } from '../db/open.ts'
import { readSettings, withSettings } from '../db/session-file.ts'
import { syncLater } from '../db/sync-later.ts'
import { makePrivateFolder, writeNewPrivateFile } from '../lib/private-files.ts'
import { asObject, parsedJson } from '../lib/values.ts'
import {
  type DataCounts,
  type DataOptions,
  fileData,
  type Guard,
  guardedLater,
  guardedOnUse,
  nothingStored,
  type SessionData,
  storesOnUse,
} from './data.ts'
import { foreignFile, isName, UnusableSession, unrestorable, unwritable } from './refusals.ts'

/** The settings with which a session was created over the control API. */
export type GeneratedWith = Record<string, unknown>

/** The databases of named sessions. */
export type SessionFolder = ReturnType<typeof openFolder>

/** The dependencies of a folder. */
interface FolderOptions {
  /** File of the default session's database, or `:memory:`. */
  db: string
  /** An empty database. */
  empty(): Buffer
  /** Closes other files when file descriptors are scarce. */
  loaded: { opening(): void; makeRoom(): boolean }
}

/** The suffix of our files. */
const SUFFIX = '.session.db'

/**
 * The sessions of a folder, for this process alone.
 * @throws DatabaseError if it cannot be used
 */
export function openFolder(folder: string, { db, empty, loaded }: FolderOptions) {
  const release = locked(folder, db)
  const fileOf = (name: string) => join(folder, fileName(name) + SUFFIX)
  const withRoom: Guard = (run) => {
    loaded.opening()
    try {
      return run()
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== TOO_MANY_OPEN_FILES || !loaded.makeRoom()) throw error
      return run()
    }
  }
  const stateOf = (name: string) => cared(name, () => fileState(fileOf(name)))
  const has = (name: string) => stateOf(name) !== 'missing'
  const remove = (name: string) => {
    const file = fileOf(name)
    if (stateOf(name) === 'foreign') throw foreignFile(name, file)
    checkCompanions(name, file)
    cared(name, () => {
      for (const end of ['', ...COMPANIONS]) removeFile(file + end)
    })
  }
  const write = (name: string, made: GeneratedWith | undefined) => {
    remove(name)
    cared(name, () => writeWhole(fileOf(name), made ? withSettings(empty(), JSON.stringify(made)) : empty()))
  }
  const storedSettings = (name: string): string | undefined => {
    checkState(name, fileOf(name))
    return withRoom(() => refusing(name, () => readSettings(fileOf(name))))
  }
  return {
    /**
     * Whether this or an earlier process has left a session of this name, or a file of another program is in its place.
     */
    has,
    /** Its data, restored or new. `made` are the settings to store in a new file, or undefined for none. */
    data(name: string, options: DataOptions, made: GeneratedWith | undefined): SessionData {
      const restored = has(name)
      try {
        if (!restored) withRoom(() => write(name, made))
        return restingData({ name, file: fileOf(name), restored, withRoom }, options)
      } catch (error) {
        if (!restored) remove(name)
        throw error
      }
    },
    /** The settings of a restored session; undefined if its first call created it. */
    madeWith(name: string): GeneratedWith | undefined {
      if (!has(name)) return undefined
      const text = storedSettings(name)
      if (text === undefined) return undefined
      const made = asObject(parsedJson(text))
      if (!made) throw unrestorable(name, `the settings in ${fileOf(name)} are not what was written there`)
      return made
    },
    /**
     * Removes a session.
     * @throws ApiError 507 if the file belongs to another program or cannot be removed
     */
    remove,
    /** The sessions with files, valid or not. */
    names: () =>
      readdirSync(folder)
        .flatMap((file) => nameOf(file) ?? [])
        .sort(),
    /** When the file of a session was last written, in ms since the epoch; undefined if there is none. */
    lastWritten: (name: string) =>
      cared(name, () => {
        const times = ['', '-wal'].flatMap(
          (end) => lstatSync(fileOf(name) + end, { throwIfNoEntry: false })?.mtimeMs ?? [],
        )
        return times.length === 0 ? undefined : Math.max(...times)
      }),
    /** Deletes the data of an unused session, and keeps its settings. */
    clear(name: string): void {
      const text = storedSettings(name)
      cared(name, () => {
        // A left-over log would be taken for that of the new file.
        for (const end of COMPANIONS) removeFile(fileOf(name) + end)
        writeWhole(fileOf(name), text === undefined ? empty() : withSettings(empty(), text))
      })
    },
    /** Frees the folder for another process. */
    close: release,
  }
}

/**
 * Works on the file of a session.
 * @throws ApiError 503 if no more files can be opened, 507 if the system denies it
 */
function cared<Result>(name: string, run: () => Result): Result {
  try {
    return run()
  } catch (error) {
    const code = errorCode(error)
    if (code === '' || error instanceof ApiError) throw error
    throw isOutOfFiles(error) ? tooManyFiles(code) : unwritable(name, `cannot be used: ${(error as Error).message}`)
  }
}

/** Anything that is not a file, such as a folder or a link, in the place of SQLite's files: it is left alone. */
const foreignCompanion = (file: string): string | undefined =>
  COMPANIONS.map((end) => file + end).find((one) => lstatSync(one, { throwIfNoEntry: false })?.isFile() === false)

/** @throws ApiError 507 if something other than a file is in the place of one of SQLite's files */
function checkCompanions(name: string, file: string): void {
  const foreign = cared(name, () => foreignCompanion(file))
  if (foreign !== undefined) throw foreignFile(name, foreign)
}

const PROBLEMS = { missing: 'is gone', empty: 'is empty', older: 'was made by an older build' }

/** @throws ApiError 507 if the file of a session is missing or is not ours */
function checkState(name: string, file: string): void {
  const state = cared(name, () => fileState(file))
  if (state === 'foreign') throw foreignFile(name, file)
  checkCompanions(name, file)
  if (state !== 'own') throw unrestorable(name, `its file ${file} ${PROBLEMS[state]}`)
}

/** An error of opening a database as that of a session. */
function refusalOf(name: string, error: unknown): unknown {
  if (isOutOfFiles(error)) return tooManyFiles(errorCode(error))
  if (error instanceof DatabaseError) return unrestorable(name, error.problem)
  return isDamage(error) ? unrestorable(name, `its file cannot be read: ${(error as Error).message}`) : error
}

/** Works on the database of a session; its errors are those of the session. */
function refusing<Result>(name: string, run: () => Result): Result {
  try {
    return run()
  } catch (error) {
    throw refusalOf(name, error)
  }
}

/** Whether a path is one of our databases, one of an older build, missing, empty, or a file of another program. */
function fileState(file: string): 'missing' | 'empty' | 'own' | 'older' | 'foreign' {
  const stat = lstatSync(file, { throwIfNoEntry: false })
  if (!stat) return 'missing'
  if (!stat.isFile()) return 'foreign'
  if (stat.size === 0) return 'empty'
  return ownerOf(file)
}

function removeFile(file: string): void {
  if (lstatSync(file, { throwIfNoEntry: false })?.isFile()) rmSync(file, { force: true })
}

/** Device names of Windows, with any extension. */
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/
/** The file name of a session, unique on case-insensitive file systems, too. */
const fileName = (name: string) =>
  DEVICE.test(name)
    ? `==${name}`
    : name.replace(/[A-Z/]/g, (letter) => (letter === '/' ? SLASH : `=${letter.toLowerCase()}`))
const SLASH = '=-'

/** The session of a file, by its name; undefined for other files. */
function nameOf(file: string): string | undefined {
  if (!file.endsWith(SUFFIX)) return undefined
  const written = file.slice(0, -SUFFIX.length)
  const name = written.startsWith('==')
    ? written.slice(2)
    : written.replaceAll(SLASH, '/').replace(/=([a-z])/g, (_, letter: string) => letter.toUpperCase())
  return isName(name) && fileName(name) === written ? name : undefined
}

function locked(folder: string, db: string): () => void {
  try {
    makePrivateFolder(folder)
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
  // Drafts of a killed process.
  for (const name of readdirSync(folder)) {
    const file = join(folder, name)
    if (name.endsWith(SUFFIX + DRAFT) && fileState(file) === 'own') removeFile(file)
  }
  return release
}

/** Whether a file is, or would be, inside a folder, through any links. */
function isInside(file: string, folder: string): boolean {
  const path = relative(realpathSync(folder), realPath(resolve(file)))
  return path !== '..' && !path.startsWith(`..${sep}`) && resolve(path) !== path
}

/** The real path of something that need not exist. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const folder = dirname(path)
    return folder === path ? path : join(realPath(folder), basename(path))
  }
}

const DRAFT = '.new'
/** Renamed into place, so that no one ever finds a partial file. */
function writeWhole(file: string, content: Buffer): void {
  const draft = file + DRAFT
  if (fileState(draft) !== 'foreign') removeFile(draft)
  // Anything else of that name is not overwritten.
  writeNewPrivateFile(draft, content)
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
  /** Runs work that opens files, once there is room for them. */
  withRoom: Guard
}

const openData = (source: SessionFile, options: DataOptions, wasDamaged = false): SessionData =>
  source.withRoom(() => openFile(source, options, wasDamaged))

/**
 * Opens the file of a session. One that `wasDamaged` is read as a whole, which takes long, to see whether it still is.
 */
function openFile(
  { name, file, restored, withRoom }: SessionFile,
  options: DataOptions,
  wasDamaged: boolean,
): SessionData {
  checkState(name, file)
  let database: Database | undefined
  try {
    const opened = openOften(file)
    database = opened
    const found = wasDamaged ? String(opened.pragma('quick_check(1)', { simple: true })) : HEALTHY
    if (found !== HEALTHY) throw unrestorable(name, `what is in ${file} cannot be read: ${found}`)
    /** Opens a second connection. */
    const openBeside = () =>
      withRoom(() => {
        checkState(name, file)
        return refusing(name, () => openSecond(file))
      })
    return fileData(
      { database, restored, openBeside, closing: () => closesAtOnce(opened), release: () => syncLater(file) },
      options,
    )
  } catch (error) {
    database?.close()
    throw refusalOf(name, error)
  }
}

/** SQLite's report on an intact database. */
const HEALTHY = 'ok'

/** Data in a file that is open only while it is used. */
function restingData(source: SessionFile, options: DataOptions, begun?: SessionData): SessionData {
  const { name } = source
  // Opened at once: a file that cannot be opened is no session to count and list.
  let loaded: SessionData | undefined = begun ?? openData(source, options)
  /** What is known while it is closed. */
  let lastKnown = { counts: nothingStored(options.keep), keyedKinds: [] as readonly string[], calls: 0 }
  /** Why it could not be opened the last time, and why something in it could not be read. */
  let [closedBy, spoiledBy]: (UnusableSession | undefined)[] = []
  const use = (): SessionData => {
    if (loaded) return loaded
    try {
      loaded = openData(source, options, spoiledBy !== undefined)
    } catch (error) {
      closedBy = error instanceof UnusableSession ? error : undefined
      throw error
    }
    closedBy = undefined
    spoiledBy = undefined
    // Calls that were rejected before they were written have numbers, too.
    loaded.calls = Math.max(loaded.calls, lastKnown.calls)
    return loaded
  }
  /** Damage that is found while reading is an error of this session. */
  const guard: Guard = (run) => {
    try {
      return run()
    } catch (error) {
      if (!isDamage(error)) throw error
      spoiledBy = unrestorable(name, `what is in ${source.file} cannot be read: ${(error as Error).message}`)
      throw spoiledBy
    }
  }
  /** The last known value, if reading fails. */
  const readOr = <Result>(run: () => Result, before: Result): Result => {
    try {
      return guard(run)
    } catch (error) {
      if (error instanceof UnusableSession) return before
      throw error
    }
  }
  const rest = () => {
    if (!loaded?.idle) return
    const resting = loaded
    lastKnown = { counts: countsOf(resting), keyedKinds: kindsOf(resting), calls: resting.calls }
    loaded = undefined
    readOr(() => resting.close(), undefined)
  }
  /** A damaged file is opened again, since it may have been repaired meanwhile. */
  const useAgain = (): SessionData => {
    if (spoiledBy) rest()
    return use()
  }
  const countsOf = (data: SessionData): DataCounts => readOr(() => data.counts(), lastKnown.counts)
  const kindsOf = (data: SessionData): readonly string[] => readOr(() => data.keyedKinds(), lastKnown.keyedKinds)
  return {
    ...storesOnUse(use, (store) => guardedOnUse(store, guard)),
    transact: (run) => use().transact(run),
    keyedKinds: () => (loaded ? kindsOf(loaded) : lastKnown.keyedKinds),
    snapshot: () => guardedLater(() => use().snapshot(), guard),
    lastInstant: () => guard(() => use().lastInstant()),
    replaced: async (snapshot) =>
      restingData(source, options, await guardedLater(() => use().replaced(snapshot), guard)),
    restored: source.restored,
    underWay: new Set(),
    get problem() {
      return (closedBy ?? spoiledBy)?.message
    },
    get calls() {
      return loaded?.calls ?? lastKnown.calls
    },
    set calls(count) {
      useAgain().calls = count
    },
    get loaded() {
      return loaded !== undefined
    },
    get idle() {
      return loaded?.idle ?? true
    },
    counts: () => (loaded ? countsOf(loaded) : lastKnown.counts),
    check() {
      const { traces } = useAgain()
      try {
        checkState(name, source.file)
        guard(() => traces.list({ limit: 1 }))
      } catch (error) {
        // The next use fails for the same reason, until it is repaired.
        if (error instanceof UnusableSession) {
          closedBy = error
          rest()
        }
        throw error
      }
    },
    sleep: rest,
    leave: () => loaded?.leave(),
    close: () => readOr(() => loaded?.close(), undefined),
  }
}
