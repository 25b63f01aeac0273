// Opens databases: the only file that names the driver.
import { closeSync, lstatSync, openSync, renameSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname } from 'node:path'
import Driver from 'better-sqlite3'
import { errorCode, isOutOfFiles } from '../contract/core/storage-error.ts'
import { isCompiled, readAsset } from '../lib/assets.ts'
import { once } from '../lib/once.ts'
import { keepPrivate, writeNewPrivateFile } from '../lib/private-files.ts'
import { APPLICATION_ID, isOlder, ownerOf } from './file-head.ts'
import { NOT_SHOWN, SCHEMA, SCHEMA_VERSION } from './schema-sql.ts'

/**
 * Pages of write-ahead log (4 KiB each) after which it is checkpointed, so that its size is limited: in a worker, since
 * many large calls take long (checkpoint.ts).
 */
export const CHECKPOINT_PAGES = 4_000
/** Pages after which a commit checkpoints it: the worker is too slow, or there is none. */
const MAX_PAGES = 16_000

/**
 * Page cache of a file's connection, in KiB: calls append, and the driver's default of 16,000 only fills with written
 * pages.
 */
const CACHE_KIB = 2_000
/** The same in memory, where a page that is not in the cache is only copied from the content. */
const MEMORY_CACHE_KIB = 64

/** A connection of the driver. */
export type Database = Driver.Database

/** The file cannot be used; the message is one line for the user who named it. */
export class DatabaseError extends Error {
  /** The message without advice. */
  readonly problem: string
  constructor(problem: string, advice = '') {
    super(problem + advice)
    this.problem = problem
  }
}

/**
 * The empty databases of the build: for memory with small pages, since most pages of a small session are nearly empty,
 * and a connection caches twenty more.
 */
export const EMPTY = {
  memory: { asset: 'dist/empty-session.db', pageSize: 1024 },
  file: { asset: 'dist/empty-file.db', pageSize: 4096 },
} as const

/** Bytes of an empty database, from which in-memory sessions are cloned in milliseconds. */
export const template = (): Buffer => emptyDatabase('memory')

/** The bytes from the build; without a build, they are created once. */
const emptyDatabase = (kind: keyof typeof EMPTY): Buffer =>
  isCompiled ? Buffer.from(readAsset(EMPTY[kind].asset)) : madeOnce[kind]()

const madeOnce = { memory: once(() => newDatabase('memory')), file: once(() => newDatabase('file')) }

/** The version of SQLite inside the driver, such as `3.50.1`. */
export function sqliteVersion(): string {
  const database = inMemory(':memory:')
  const version = database.prepare('SELECT sqlite_version()').pluck().get()
  database.close()
  return String(version)
}

/** Creates those bytes, statement by statement. */
export function newDatabase(kind: keyof typeof EMPTY): Buffer {
  const database = inMemory(':memory:')
  database.pragma(`page_size = ${EMPTY[kind].pageSize}`)
  createTables(database)
  const bytes = database.serialize()
  database.close()
  // These bytes of a file declare a write-ahead log, which memory cannot have.
  if (kind === 'file') bytes.fill(2, 18, 20)
  return bytes
}

/**
 * Creates a file from an empty database: running its statements would take as long as the rest of a start. False if
 * anything exists already, even only the log of a deleted file, or if it fails: opening the file then reports why.
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
    // An existing draft may be that of another process, or a trap: it is neither written nor removed.
    if ((error as { code?: string }).code !== 'EEXIST') rmSync(draft, { force: true })
    return false
  }
}

function inMemory(content: Buffer | ':memory:'): Database {
  try {
    const database = new Driver(content)
    database.pragma(`cache_size = -${MEMORY_CACHE_KIB}`)
    return database
  } catch (error) {
    throw explained(error, ':memory:')
  }
}

/** An in-memory database with the content of a serialized one. */
export const openClone = (bytes: Buffer): Database => inMemory(bytes)

/** Size of a database in bytes. */
export const byteSize = (database: Database): number =>
  numberOf(database, 'page_count') * numberOf(database, 'page_size')

/** Kinds of records of which at least one has a key. */
export const keyedKinds = (database: Database): string[] =>
  database.prepare('SELECT DISTINCT kind FROM records WHERE key IS NOT NULL').pluck().all() as string[]

/**
 * A file database for this process alone; `restored`: it existed.
 * @throws DatabaseError if it cannot be used
 */
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
 * The same for a file that is opened and closed often, by an owner with a lock of its own, without waiting for the
 * disk. The log is new, so that nothing older can be taken for a part of it after a power failure.
 * @throws DatabaseError if it cannot be used
 */
export function openOften(file: string): Database {
  const isNewLog = !lstatSync(`${file}-wal`, { throwIfNoEntry: false })
  const { database } = openUnlocked(file)
  if (!isNewLog) return database
  try {
    database.pragma('synchronous = OFF')
    // Writes the header of the log, for which the first call would otherwise wait.
    database.pragma(`user_version = ${numberOf(database, 'user_version')}`)
    database.pragma('synchronous = NORMAL')
    return database
  } catch (error) {
    database.close()
    throw explained(error, file)
  }
}

/** Prepares a file to be closed without waiting for the disk. It must be synced soon (`syncLater`). */
export const closesAtOnce = (database: Database): void => {
  if (database.open) database.pragma('synchronous = OFF')
}

/** Files that SQLite keeps beside a database. */
export const COMPANIONS = ['-wal', '-shm', '-journal']

/** The same for an owner with a lock of its own. */
function openUnlocked(file: string): { database: Database; restored: boolean } {
  const isNew = putEmptyFile(file)
  return prepared(file, { timeout: 2000 }, (database) => {
    refuseForeign(database, file)
    // Files that SQLite adds have the permissions of the file itself.
    keepPrivate(file, ...COMPANIONS.map((end) => `${file}${end}`))
    // WAL before synchronous: NORMAL is safe against a killed process only with WAL.
    database.pragma('journal_mode = WAL')
    database.pragma('synchronous = NORMAL')
    database.pragma(`wal_autocheckpoint = ${MAX_PAGES}`)
    database.pragma(`journal_size_limit = ${CHECKPOINT_PAGES * 4096}`)
    database.pragma(`cache_size = -${CACHE_KIB}`)
    if (isNew) return { database, restored: false }
    const restored = versionOf(database, file) > 0
    if (!restored) createTables(database)
    // Left by a killed process.
    database.exec(`DELETE FROM trace_rows WHERE ${NOT_SHOWN};
      DELETE FROM long_texts
      WHERE NOT EXISTS (SELECT 1 FROM trace_rows WHERE seq = long_texts.trace AND apart IS NOT NULL)`)
    // A damaged file is detected by this read, not only by the first call.
    database.prepare('SELECT * FROM traces ORDER BY seq DESC LIMIT 1').get()
    return { database, restored }
  })
}

/** Opens a file and prepares the connection. If that fails, it is closed: its file would stay open until the next garbage collection. */
function prepared<Result>(file: string, options: Driver.Options, prepare: (database: Database) => Result): Result {
  let database: Database | undefined
  try {
    database = new Driver(file, options)
    return prepare(database)
  } catch (error) {
    const problem = explained(error, file)
    database?.close()
    throw problem
  }
}

/** Maximum rounds for pages that were written meanwhile. */
const MAX_ROUNDS = 3

/** Checkpoints as much of a file's write-ahead log as possible without waiting; returns the number of pages. */
export function checkpointFile(file: string): number {
  const database = new Driver(file, { fileMustExist: true, timeout: 2000 })
  try {
    // The content of the file must be on the disk before the log is overwritten.
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
 * A second connection to an open file, for one long transaction that the first one cannot see before its end. Its
 * writes stay in the log, since a checkpoint takes long (checkpoint.ts).
 * @throws DatabaseError if it cannot be opened
 */
export const openSecond = (file: string): Database =>
  prepared(file, { fileMustExist: true, timeout: 0 }, (database) => {
    database.pragma('synchronous = NORMAL')
    database.pragma('wal_autocheckpoint = 0')
    // The excess is in the log before the commit, so that the commit itself takes a few milliseconds.
    database.pragma(`cache_size = -${2 * CACHE_KIB}`)
    return database
  })

/** A read-only connection to any existing file. */
export const openToLook = (file: string): Database => new Driver(file, TO_LOOK)
const TO_LOOK = { readonly: true, fileMustExist: true, timeout: 2000 }

/** Whether a file exists that is not a database of ours. SQLite itself leaves a deleted or moved file alone. */
export function isOverwritten(file: string): boolean {
  try {
    return lstatSync(file).isFile() && ownerOf(file) !== 'own'
  } catch {
    return false
  }
}

/**
 * Prepares a database for closing: if another program has overwritten its file, nothing is checkpointed into it, which would
 * damage the other program's data. Call the returned
 * function after closing: it removes the log, which the other program would take for its own.
 */
export function leaveOverwritten({ name: file, open }: Database): (() => void) | undefined {
  if (!open || !isOverwritten(file)) return undefined
  // The last connection that can write checkpoints the log: this one cannot.
  const last = openToLook(file)
  try {
    last.exec('BEGIN')
    last.prepare('SELECT 1 FROM sqlite_schema').get()
  } catch {
    // It is no database, but it is locked by now.
  }
  return () => {
    last.close()
    for (const log of ['-wal', '-shm'])
      if (lstatSync(file + log, { throwIfNoEntry: false })?.isFile()) rmSync(file + log, { force: true })
  }
}

/**
 * A second, read-only connection, for programs beside the server.
 * @throws DatabaseError if there is nothing to read
 */
export function openReadOnly(file: string): Database {
  refuseOlder(file)
  return prepared(file, TO_LOOK, (database) => {
    if (numberOf(database, 'application_id') !== APPLICATION_ID) {
      throw new DatabaseError(`database ${file} is not one of understudy's`, ': name another file with --db')
    }
    versionOf(database, file)
    return database
  })
}

/**
 * Holds an exclusive lock beside the file. The system releases it when the process ends, however it ends.
 * @throws DatabaseError if another process holds it
 */
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
      throw new DatabaseError(`${what} is in use by another understudy`, `: stop that one, or ${advice}`)
    }
    throw explained(error, file)
  }
}

/** The code of an error when opening a file: SQLite does not report that there are no file descriptors left. */
function withoutFiles(file: string, code: string): string {
  if (!code.startsWith('SQLITE_CANTOPEN')) return code
  try {
    closeSync(openSync(file, 'r'))
    return code
  } catch (error) {
    return isOutOfFiles(error) ? errorCode(error) : code
  }
}

/** Minimum space that a database needs beside its file: the index of its log. */
const MIN_BYTES = 64 * 1_024
/** Whether the disk of a file is full: SQLite reports an I/O error when it maps a file into memory. */
function isDiskFull(file: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(file))
    return bavail * bsize < MIN_BYTES
  } catch {
    return false
  }
}

/** An error of the driver as one for the user who named the file. */
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
  // Bun unpacks the driver into a file before loading it, and continues if it cannot.
  if (message.includes('$bunfs')) {
    return new DatabaseError(
      `the database driver cannot be unpacked into ${tmpdir()}: let TMPDIR name a folder that can be written to`,
    )
  }
  const problem = `database ${file} cannot be opened: ${message}`
  return Object.assign(new DatabaseError(problem, '; name another file with --db'), { code })
}

const numberOf = (database: Database, pragma: string) => Number(database.pragma(pragma, { simple: true }))

/** A database of an older build is left alone: its rows have another format. */
function refuseOlder(file: string): void {
  if (!isOlder(file)) return
  throw new DatabaseError(`database ${file} was made by an older build`, '; move it away or delete it and start again')
}

/** Another program's database is left alone. */
function refuseForeign(database: Database, file: string): void {
  if (numberOf(database, 'schema_version') === 0 || numberOf(database, 'application_id') === APPLICATION_ID) return
  throw new DatabaseError(`database ${file} belongs to another program`, ': name another file with --db')
}

/** The schema version; a newer one than this program knows is rejected. */
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
