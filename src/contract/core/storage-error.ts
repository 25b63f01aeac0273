// Errors for callers when something cannot be written or opened: a problem of the disk or the system, not a bug.
import { ApiError } from './error.ts'

/** Codes of SQLite and of the system, also as a prefix of a longer one (`SQLITE_CANTOPEN_ISDIR`). */
const TROUBLE = /^(?:SQLITE_(?:NOTADB|CORRUPT|FULL|IOERR|READONLY|CANTOPEN|PERM)|ENOSPC|EDQUOT|EFBIG|EROFS)(?:_|$)/
const NO_FILES_LEFT = ['EMFILE', 'ENFILE']

/** The code of an error of SQLite or of the system; empty for any other error. */
export const errorCode = (error: unknown): string => {
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

/** Whether the system has no more file descriptors. */
export const isOutOfFiles = (error: unknown): boolean => NO_FILES_LEFT.includes(errorCode(error))

/**
 * Whether a store failed because of the content of its file: SQLite found it damaged, could not read it or misses a
 * table, or a row contains invalid data.
 */
export const isDamage = (error: unknown): boolean =>
  /^SQLITE_(NOTADB|CORRUPT|IOERR|ERROR$)/.test(errorCode(error)) || error instanceof SyntaxError

/**
 * The 507 for an error of the disk, or the 503 for too many open files; an `ApiError` as it is; undefined for any other
 * error.
 */
export function storageError(error: unknown): ApiError | undefined {
  if (error instanceof ApiError) return error
  const code = errorCode(error)
  if (isOutOfFiles(error)) return tooManyFiles(code)
  if (!TROUBLE.test(code)) return undefined
  return new ApiError(
    507,
    'storage_failed',
    `${/NOTADB|CORRUPT/.test(code) ? 'the database cannot be read' : 'nothing of this is stored'}: ${(error as Error).message} (${code}); make room or mend what is where --db and --sessions-dir are, and call again`,
  )
}

/** Code of a call for which no file could be opened. */
export const TOO_MANY_OPEN_FILES = 'too_many_open_files'

/** The 503 when this process, or all processes together, have too many open files. */
export const tooManyFiles = (code: string): ApiError =>
  new ApiError(
    503,
    TOO_MANY_OPEN_FILES,
    `${code === 'ENFILE' ? 'the system' : 'this process'} has as many files and connections open as it may (${code}): call again when fewer calls are under way, or raise the limit (ulimit -n)`,
    { headers: { 'retry-after': '1' } },
  )
