// What a caller is told when something cannot be written: the disk's trouble, and no bug.
import { ApiError } from './error.ts'

const TROUBLE = ['SQLITE_NOTADB', 'SQLITE_CORRUPT', 'SQLITE_FULL', 'ENOSPC', 'EDQUOT', 'EFBIG']

/** The refusal for an error of the disk; undefined for every other error. */
export function storageError(error: unknown): ApiError | undefined {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: string }
  if (typeof code !== 'string' || !(TROUBLE.includes(code) || code.startsWith('SQLITE_IOERR'))) return undefined
  return new ApiError(
    507,
    'storage_failed',
    `nothing of this is stored: ${message} (${code}); make room or mend what is where --db and --sessions-dir are, and call again`,
  )
}
