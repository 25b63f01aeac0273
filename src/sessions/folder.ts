// The folder in which named sessions outlive the process: a database file for each. Whatever else is in the folder is left alone.
import { lstatSync, readdirSync, realpathSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { ApiError } from '../contract/core/error.ts'
import { errorCode, isDamage, isOutOfFiles, TOO_MANY_OPEN_FILES, tooManyFiles } from '../contract/core/storage-error.ts'
import { ownerOf } from '../db/file-head.ts'
import { closesAtOnce, type Database, DatabaseError, lockFile, openOften, openSecond } from '../db/open.ts'
import { readSettings, withSettings } from '../db/session-file.ts'
import { syncLater } from '../db/sync-later.ts'
import { makePrivateFolder, writeNewPrivateFile } from '../lib/private-files.ts'
import { asObject, parsedJson } from '../lib/values.ts'
import { fileData, nothingStored, type SessionData } from './data.ts'
import { foreignFile, isName, UnusableSession, unrestorable, unwritable } from './refusals.ts'
import { type DataCounts, type DataOptions, type Guard, guardedLater, guardedOnUse } from './stores.ts'

/** What a session was made with, as the control API was asked for it. */
export type GeneratedWith = Record<string, unknown>

/** The databases of named sessions. */
export interface SessionFolder {
  /** Whether an earlier process, or this one, has left a session of a name, or a file of another program has its place. */
  has(name: string): boolean
  /** What was left of it, or else nothing, in a file that is there with what the session is `made` with, or not at all. */
  data(name: string, options: DataOptions, made: GeneratedWith | undefined): SessionData
  /** What one that was left was made with; undefined when it began by being called. */
  madeWith(name: string): GeneratedWith | undefined
  /** The sessions that there are files of, be they sound or not. */
  names(): string[]
  /** When the file of a session was last written, in ms since the epoch; undefined when there is none. */
  lastWritten(name: string): number | undefined
  /** Forgets what a session holds, which nobody uses now, and keeps what it was made with. */
  clear(name: string): void
  /** Removes a session; 507 when the file of the name belongs to another program, which stays, or cannot be removed. */
  remove(name: string): void
  /** Lets another process have the folder. */
  close(): void
}

/** What a folder of sessions is made with. */
interface FolderOptions {
  /** File of the default session's database, or `:memory:`. */
  db: string
  /** An empty database. */
  empty(): Buffer
  /** Closes what is open beside it where files are scarce. */
  awake: { opening(): void; makeRoom(): boolean }
}

/** What ends the name of each file that is ours. */
const SUFFIX = '.session.db'
/** What SQLite keeps beside a database. */
const COMPANIONS = ['-wal', '-shm', '-journal']

/** The sessions of a folder, for this process alone; throws `DatabaseError` when it cannot be used. */
export function openFolder(folder: string, { db, empty, awake }: FolderOptions): SessionFolder {
  const release = locked(folder, db)
  const fileOf = (name: string) => join(folder, fileName(name) + SUFFIX)
  const withRoom: Guard = (run) => {
    awake.opening()
    try {
      return run()
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== TOO_MANY_OPEN_FILES || !awake.makeRoom()) throw error
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
  return {
    has,
    data(name, options, made) {
      const restored = has(name)
      try {
        if (!restored) withRoom(() => write(name, made))
        const check = () => checkState(name, fileOf(name))
        return restingData({ name, file: fileOf(name), restored, check, withRoom }, options)
      } catch (error) {
        if (!restored) remove(name)
        throw error
      }
    },
    madeWith(name) {
      if (!has(name)) return undefined
      checkState(name, fileOf(name))
      const text = withRoom(() => settingsText(name, fileOf(name)))
      if (text === undefined) return undefined
      const made = asObject(parsedJson(text))
      if (!made) throw unrestorable(name, `the settings in ${fileOf(name)} are not what was written there`)
      return made
    },
    remove,
    names: () =>
      readdirSync(folder)
        .flatMap((file) => nameOf(file) ?? [])
        .sort(),
    lastWritten: (name) =>
      cared(name, () => {
        const times = ['', '-wal'].flatMap(
          (end) => lstatSync(fileOf(name) + end, { throwIfNoEntry: false })?.mtimeMs ?? [],
        )
        return times.length === 0 ? undefined : Math.max(...times)
      }),
    clear(name) {
      checkState(name, fileOf(name))
      const text = withRoom(() => settingsText(name, fileOf(name)))
      cared(name, () => {
        // A log that is left would be taken for that of the new file.
        for (const end of COMPANIONS) removeFile(fileOf(name) + end)
        writeWhole(fileOf(name), text === undefined ? empty() : withSettings(empty(), text))
      })
    },
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

/** What SQLite would use or write beside a file and is no file, such as a folder or a link: it is left alone. */
const foreignCompanion = (file: string): string | undefined =>
  COMPANIONS.map((end) => file + end).find((one) => lstatSync(one, { throwIfNoEntry: false })?.isFile() === false)

/** 507 where something else than a file has the place of one that SQLite keeps beside the file of a session. */
function checkCompanions(name: string, file: string): void {
  const foreign = cared(name, () => foreignCompanion(file))
  if (foreign !== undefined) throw foreignFile(name, foreign)
}

const PROBLEMS = { missing: 'is gone', empty: 'is empty', older: 'was made by an older build' }

/** 507 when there is not what we wrote where the file of a session must be. */
function checkState(name: string, file: string): void {
  const state = cared(name, () => fileState(file))
  if (state === 'foreign') throw foreignFile(name, file)
  checkCompanions(name, file)
  if (state !== 'own') throw unrestorable(name, `its file ${file} ${PROBLEMS[state]}`)
}

/** What opening a database has thrown, as the refusal of a session. */
function refusalOf(name: string, error: unknown): unknown {
  if (isOutOfFiles(error)) return tooManyFiles(errorCode(error))
  if (error instanceof DatabaseError) return unrestorable(name, error.problem)
  return isDamage(error) ? unrestorable(name, `its file cannot be read: ${(error as Error).message}`) : error
}

function settingsText(name: string, file: string): string | undefined {
  try {
    return readSettings(file)
  } catch (error) {
    throw refusalOf(name, error)
  }
}

/** Whether a path holds one of our databases, one of an older build, nothing, a file without content, or something of another program. */
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

/** Names that Windows has for devices, whatever stands behind the first dot. */
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/
/** The name of a session as that of a file, which no other session has where capital letters are small ones. */
const fileName = (name: string) =>
  DEVICE.test(name) ? `==${name}` : name.replace(/[A-Z]/g, (letter) => `=${letter.toLowerCase()}`)

/** The session that a file belongs to by its name; undefined of other files. */
function nameOf(file: string): string | undefined {
  if (!file.endsWith(SUFFIX)) return undefined
  const written = file.slice(0, -SUFFIX.length)
  const name = written.startsWith('==')
    ? written.slice(2)
    : written.replace(/=([a-z])/g, (_, letter: string) => letter.toUpperCase())
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
  /** 507 when it is not there as it was left. */
  check(): void
  /** Does something for which files are opened, once there is room for them. */
  withRoom: Guard
}

const openData = (source: SessionFile, options: DataOptions, wasDamaged = false): SessionData =>
  source.withRoom(() => openFile(source, options, wasDamaged))

/** Opens the file of a session; one that `wasDamaged` is read as a whole, which takes long, to see whether it still is. */
function openFile(
  { name, file, restored, check, withRoom }: SessionFile,
  options: DataOptions,
  wasDamaged: boolean,
): SessionData {
  check()
  let database: Database | undefined
  try {
    const opened = openOften(file)
    database = opened
    const found = wasDamaged ? String(opened.pragma('quick_check(1)', { simple: true })) : HEALTHY
    if (found !== HEALTHY) throw unrestorable(name, `what is in ${file} cannot be read: ${found}`)
    const beside = () => withRoom(() => openAgain(name, file))
    return fileData(
      { database, restored, beside, closing: () => closesAtOnce(opened), release: () => syncLater(file) },
      options,
    )
  } catch (error) {
    database?.close()
    throw refusalOf(name, error)
  }
}

/** A second connection to the file of a session. */
function openAgain(name: string, file: string): Database {
  checkState(name, file)
  try {
    return openSecond(file)
  } catch (error) {
    throw refusalOf(name, error)
  }
}

/** What SQLite finds where nothing is damaged. */
const HEALTHY = 'ok'

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
      awake = openData(source, options, spoiledBy !== undefined)
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
  const rest = () => {
    if (!awake?.idle) return
    const resting = awake
    known = { counts: countsOf(resting), keyedKinds: kindsOf(resting), calls: resting.calls }
    awake = undefined
    readOr(() => resting.close(), undefined)
  }
  /** What was found damaged is opened again, since it may have been mended meanwhile. */
  const useAgain = (): SessionData => {
    if (spoiledBy) rest()
    return use()
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
    snapshot: () => guardedLater(() => use().snapshot(), guard),
    lastInstant: () => guard(() => use().lastInstant()),
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
      useAgain().calls = count
    },
    get awake() {
      return awake !== undefined
    },
    get idle() {
      return awake?.idle ?? true
    },
    counts: () => (awake ? countsOf(awake) : known.counts),
    check() {
      const { traces } = useAgain()
      try {
        source.check()
        guard(() => traces.list({ limit: 1 }))
      } catch (error) {
        // What is used next is refused for the same reason, until that is mended.
        if (error instanceof UnusableSession) {
          closedBy = error
          rest()
        }
        throw error
      }
    },
    sleep: rest,
    leave: () => awake?.leave(),
    close: () => readOr(() => awake?.close(), undefined),
  }
}
