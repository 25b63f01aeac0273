// Opens a database: the only file that names the driver.
import { closeSync, lstatSync, openSync, renameSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname } from 'node:path'
import Driver from 'better-sqlite3'
import { errorCode, isOutOfFiles } from '../contract/core/storage-error.ts'
import { isCompiled, readAsset } from '../lib/assets.ts'
import { once } from '../lib/once.ts'
import { keepPrivate, writeNewPrivateFile } from '../lib/private-files.ts'
import { APPLICATION_ID, isOlder } from './file-head.ts'
import { NOT_SHOWN, SCHEMA, SCHEMA_VERSION } from './schema-sql.ts'

/**
 * Pages of write-ahead log (4 KiB each) after which it is moved into the database file, so that it stays bounded: in a worker,
 * since that of many large calls takes long (checkpoint.ts).
 */
export const CHECKPOINT_PAGES = 4_000
/** Pages after which a commit moves it: the worker has fallen behind, or there is none. */
const MAX_PAGES = 16_000

/** Pages that a connection to a file holds ready, in KiB: calls write at its end, and the driver's 16,000 only fill with what was written. */
const CACHE_KIB = 2_000

/** A connection of the driver. */
export type Database = Driver.Database

/** The file cannot be used; the message is one line for the person who named it. */
export class DatabaseError extends Error {
  /** The same without advice for whoever named the file. */
  readonly problem: string
  constructor(problem: string, advice = '') {
    super(problem + advice)
    this.problem = problem
  }
}

/**
 * Where the build leaves an empty database: for memory with small pages, since most of a small session is pages that are
 * nearly empty, of which a connection keeps twenty more ready.
 */
export const EMPTY = {
  memory: { asset: 'dist/empty-session.db', pageSize: 1024 },
  file: { asset: 'dist/empty-file.db', pageSize: 4096 },
} as const

/** Bytes of an empty database, from which in-memory sessions are cloned in milliseconds. */
export const template = (): Buffer => emptyDatabase('memory')

/** The bytes that the build has left; where nothing was built of the source, they are made, once. */
const emptyDatabase = (kind: keyof typeof EMPTY): Buffer =>
  isCompiled ? Buffer.from(readAsset(EMPTY[kind].asset)) : madeOnce[kind]()

const madeOnce = { memory: once(() => newDatabase('memory')), file: once(() => newDatabase('file')) }

/** Makes those bytes, statement by statement. */
export function newDatabase(kind: keyof typeof EMPTY): Buffer {
  const database = inMemory(':memory:')
  database.pragma(`page_size = ${EMPTY[kind].pageSize}`)
  createTables(database)
  const bytes = database.serialize()
  database.close()
  // A file says in these that it has a write-ahead log, which memory cannot have.
  if (kind === 'file') bytes.fill(2, 18, 20)
  return bytes
}

/**
 * Puts an empty database where there is no file yet: to make one by its statements takes as long as all else of a start. False when
 * there is something, be it the log of a file that was removed, or when it cannot be: whoever opens it then says why.
 */
function putEmptyFile(file: string): boolean {
  const draft = `${file}-${process.pid}-new`
  try {
    const there = ['', '-wal', '-journal'].some((end) => lstatSync(`${file}${end}`, { throwIfNoEntry: false }))
    if (there) return false
    writeNewPrivateFile(draft, emptyDatabase('file'))
    renameSync(draft, file)
    return true
  } catch (error) {
    // A draft that is there may be that of another process, or a trap: it is neither written nor removed.
    if ((error as { code?: string }).code !== 'EEXIST') rmSync(draft, { force: true })
    return false
  }
}

function inMemory(content: Buffer | ':memory:'): Database {
  try {
    return new Driver(content)
  } catch (error) {
    throw explained(error, ':memory:')
  }
}

/** An in-memory database with the content of a serialized one. */
export const openClone = (bytes: Buffer): Database => inMemory(bytes)

/** Bytes that a database takes. */
export const byteSize = (database: Database): number =>
  numberOf(database, 'page_count') * numberOf(database, 'page_size')

/** Kinds of records of which any has a key. */
export const keyedKinds = (database: Database): string[] =>
  database.prepare('SELECT DISTINCT kind FROM records WHERE key IS NOT NULL').pluck().all() as string[]

/** A file database for this process alone; throws `DatabaseError` when it cannot be used. `restored`: it was there. */
export function openFile(file: string): { database: Database; restored: boolean; release: () => void } {
  refuseOlder(file)
  const release = lockFile(file, { what: `database ${file}`, advice: 'name another file with --db' })
  try {
    return { ...openUnlocked(file), release }
  } catch (error) {
    release()
    throw error
  }
}

/**
 * The same for a file that is opened and closed often, by whoever holds a lock of its own: neither waits for the disk. The log is new,
 * so that nothing older can be taken for a part of it after a power failure.
 */
export function openOften(file: string): Database {
  const isNewLog = !lstatSync(`${file}-wal`, { throwIfNoEntry: false })
  const { database } = openUnlocked(file)
  if (!isNewLog) return database
  try {
    database.pragma('synchronous = OFF')
    // Writes the head of the log, which is waited for otherwise by the first call.
    database.pragma(`user_version = ${numberOf(database, 'user_version')}`)
    database.pragma('synchronous = NORMAL')
    return database
  } catch (error) {
    database.close()
    throw explained(error, file)
  }
}

/** Prepares a file to be closed without waiting for the disk; it is to be written there soon (`syncLater`). */
export const closesAtOnce = (database: Database): void => {
  if (database.open) database.pragma('synchronous = OFF')
}

/** What SQLite keeps beside a database. */
const COMPANIONS = ['-wal', '-shm', '-journal']

/** The same for whoever holds a lock of its own. */
function openUnlocked(file: string): { database: Database; restored: boolean } {
  let database: Database | undefined
  try {
    const isNew = putEmptyFile(file)
    database = new Driver(file, { timeout: 2000 })
    refuseForeign(database, file)
    // What SQLite puts beside it has the rights of the file itself.
    keepPrivate(file, ...COMPANIONS.map((end) => `${file}${end}`))
    // WAL before synchronous: NORMAL is safe against a killed process only there.
    database.pragma('journal_mode = WAL')
    database.pragma('synchronous = NORMAL')
    database.pragma(`wal_autocheckpoint = ${MAX_PAGES}`)
    database.pragma(`journal_size_limit = ${CHECKPOINT_PAGES * 4096}`)
    database.pragma(`cache_size = -${CACHE_KIB}`)
    if (isNew) return { database, restored: false }
    const restored = versionOf(database, file) > 0
    if (!restored) createTables(database)
    // What a process that was killed has left.
    database.exec(`DELETE FROM trace_rows WHERE ${NOT_SHOWN};
      DELETE FROM long_texts
      WHERE NOT EXISTS (SELECT 1 FROM trace_rows WHERE seq = long_texts.trace AND apart IS NOT NULL)`)
    // A damaged file shows at this read at the latest, and not at the first call.
    database.prepare('SELECT * FROM traces ORDER BY seq DESC LIMIT 1').get()
    return { database, restored }
  } catch (error) {
    const problem = explained(error, file)
    // Else what it has open would stay so until the next collection of garbage.
    database?.close()
    throw problem
  }
}

/** Times that it is looked for what was written meanwhile. */
const MAX_ROUNDS = 3

/** Moves as much of a file's write-ahead log into it as can be moved without waiting for anybody: how many pages are moved. */
export function checkpointFile(file: string): number {
  const database = new Driver(file, { fileMustExist: true, timeout: 2000 })
  try {
    // What is in the file must be there before the log is written over.
    database.pragma('synchronous = NORMAL')
    let moved = 0
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const [now] = database.pragma('wal_checkpoint(PASSIVE)') as { checkpointed: number }[]
      if (!now || now.checkpointed === moved) break
      moved = now.checkpointed
    }
    return moved
  } finally {
    database.close()
  }
}

/**
 * A second connection to a file that is open here, for one long transaction, of which the first one reads nothing before its end. What it
 * writes stays in the log, since to move that takes long (checkpoint.ts). Throws `DatabaseError` when it cannot be had.
 */
export function openSecond(file: string): Database {
  let database: Database | undefined
  try {
    database = new Driver(file, { fileMustExist: true, timeout: 0 })
    database.pragma('synchronous = NORMAL')
    database.pragma('wal_autocheckpoint = 0')
    // What is over this is in the log before the end, so that the end itself takes a few milliseconds.
    database.pragma(`cache_size = -${2 * CACHE_KIB}`)
    return database
  } catch (error) {
    const problem = explained(error, file)
    database?.close()
    throw problem
  }
}

/** A connection that only reads, to whatever is there. */
export const openToLook = (file: string): Database =>
  new Driver(file, { readonly: true, fileMustExist: true, timeout: 2000 })

/** A second connection that only reads, for programs beside the server; throws `DatabaseError` when there is nothing to read. */
export function openReadOnly(file: string): Database {
  refuseOlder(file)
  try {
    const database = openToLook(file)
    if (numberOf(database, 'application_id') !== APPLICATION_ID) {
      throw new DatabaseError(`database ${file} is not one of understudy's: name another file with --db`)
    }
    versionOf(database, file)
    return database
  } catch (error) {
    throw explained(error, file)
  }
}

/** Holds an exclusive lock beside the file; the system lets go of it when the process ends, however it ends. */
export function lockFile(file: string, { what, advice }: { what: string; advice: string }): () => void {
  let holder: Database | undefined
  try {
    holder = new Driver(`${file}-lock`, { timeout: 0 })
    keepPrivate(`${file}-lock`)
    holder.pragma('journal_mode = MEMORY')
    holder.exec('BEGIN EXCLUSIVE')
    const holding = holder
    return () => holding.close()
  } catch (error) {
    holder?.close()
    if (errorCode(error).startsWith('SQLITE_BUSY')) {
      throw new DatabaseError(`${what} is in use by another understudy: stop that one, or ${advice}`)
    }
    throw explained(error, file)
  }
}

/** The code of an error at opening a file: SQLite does not say that the system lets nobody open another one. */
function withoutFiles(file: string, code: string): string {
  if (!code.startsWith('SQLITE_CANTOPEN')) return code
  try {
    closeSync(openSync(file, 'r'))
    return code
  } catch (error) {
    return isOutOfFiles(error) ? errorCode(error) : code
  }
}

/** The least that a database needs beside its file: the index of its log. */
const MIN_BYTES = 64 * 1_024
/** Whether the disk of a file has no room: SQLite calls that an I/O error where it maps a file into memory. */
function isDiskFull(file: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(file))
    return bavail * bsize < MIN_BYTES
  } catch {
    return false
  }
}

/** What the driver has thrown, as an error for whoever named the file. */
export function explained(error: unknown, file: string): DatabaseError {
  if (error instanceof DatabaseError) return error
  const code = withoutFiles(file, errorCode(error))
  if (code === 'SQLITE_NOTADB' || code.startsWith('SQLITE_CORRUPT')) {
    const damaged = `database ${file} is not a healthy SQLite file`
    return Object.assign(new DatabaseError(damaged, ': move it away, or name another with --db'), { code })
  }
  if (code.startsWith('SQLITE_IOERR') && isDiskFull(file)) {
    const problem = `database ${file} cannot be opened: the disk is full`
    return Object.assign(new DatabaseError(problem, ': make room, or name another file with --db'), { code: 'ENOSPC' })
  }
  if (code.startsWith('SQLITE_BUSY')) return new DatabaseError(`database ${file} is locked by another program`)
  const { message } = error as Error
  // Bun unpacks the driver into a file before it can be loaded, and goes on when it cannot.
  if (message.includes('$bunfs')) {
    return new DatabaseError(
      `the database driver cannot be unpacked into ${tmpdir()}: let TMPDIR name a folder that can be written to`,
    )
  }
  const problem = `database ${file} cannot be opened: ${message}`
  return Object.assign(new DatabaseError(problem, '; name another file with --db'), { code })
}

const numberOf = (database: Database, pragma: string) => Number(database.pragma(pragma, { simple: true }))

/** A database of an older build is left as it is: its rows are of another form. */
function refuseOlder(file: string): void {
  if (!isOlder(file)) return
  throw new DatabaseError(`database ${file} was made by an older build`, '; move it away or delete it and start again')
}

/** Another program's database is left as it is. */
function refuseForeign(database: Database, file: string): void {
  if (numberOf(database, 'schema_version') === 0 || numberOf(database, 'application_id') === APPLICATION_ID) return
  throw new DatabaseError(`database ${file} belongs to another program`, ': name another file with --db')
}

/** The schema version; one that this program does not know yet is refused. */
function versionOf(database: Database, file: string): number {
  const version = numberOf(database, 'user_version')
  if (version <= SCHEMA_VERSION) return version
  throw new DatabaseError(
    `database ${file} has schema version ${version}, this understudy knows ${SCHEMA_VERSION}`,
    ': use a newer understudy or another file',
  )
}

function createTables(database: Database): void {
  database.transaction(() => {
    database.exec(SCHEMA)
    database.pragma(`user_version = ${SCHEMA_VERSION}`)
    database.pragma(`application_id = ${APPLICATION_ID}`)
  })()
}
