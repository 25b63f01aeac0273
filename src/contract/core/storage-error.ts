// What a caller is told when something cannot be written or opened: the disk's or the system's trouble, and no bug.
import { ApiError } from './error.ts'

/** Codes of SQLite and of the system, also as the beginning of a longer one (`SQLITE_CANTOPEN_ISDIR`). */
const TROUBLE = [
  ...[
    'SQLITE_NOTADB',
    'SQLITE_CORRUPT',
    'SQLITE_FULL',
    'SQLITE_IOERR',
    'SQLITE_READONLY',
    'SQLITE_CANTOPEN',
    'SQLITE_PERM',
  ],
  ...['ENOSPC', 'EDQUOT', 'EFBIG', 'EROFS'],
]
const NO_FILES_LEFT = ['EMFILE', 'ENFILE']

/** The code of an error of SQLite or of the system; empty for every other error. */
export const errorCode = (error: unknown): string => {
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

/** Whether the system lets nobody open another file now. */
export const isOutOfFiles = (error: unknown): boolean => NO_FILES_LEFT.includes(errorCode(error))

/**
 * Whether a store over a file has failed because of what is in it: SQLite has found it damaged, could not read it or misses a table,
 * or a row holds what nobody has written there (no JSON).
 */
export const isDamage = (error: unknown): boolean =>
  /^SQLITE_(NOTADB|CORRUPT|IOERR|ERROR$)/.test(errorCode(error)) || error instanceof SyntaxError

/** The refusal for an error of the disk, 507, or for too many open files, 503; a refusal as it is; undefined for every other error. */
export function storageError(error: unknown): ApiError | undefined {
  if (error instanceof ApiError) return error
  const code = errorCode(error)
  if (isOutOfFiles(error)) return tooManyFiles(code)
  if (!TROUBLE.some((known) => code === known || code.startsWith(`${known}_`))) return undefined
  return new ApiError(
    507,
    'storage_failed',
    `${/NOTADB|CORRUPT/.test(code) ? 'the database cannot be read' : 'nothing of this is stored'}: ${(error as Error).message} (${code}); make room or mend what is where --db and --sessions-dir are, and call again`,
  )
}

/** Code of a call for which no file could be opened. */
export const TOO_MANY_OPEN_FILES = 'too_many_open_files'

/** 503 where the system lets this process, or all of them together, open no more files. */
export const tooManyFiles = (code: string): ApiError =>
  new ApiError(
    503,
    TOO_MANY_OPEN_FILES,
    `${code === 'ENFILE' ? 'the system' : 'this process'} has as many files and connections open as it may (${code}): call again when fewer calls are under way, or raise the limit (ulimit -n)`,
    { headers: { 'retry-after': '1' } },
  )
