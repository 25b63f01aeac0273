// Files and folders that only the current user can read (0600 and 0700), whatever the umask: they contain the content
// of calls.
import {
  chmodSync,
  closeSync,
  fchmodSync,
  lstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'

const [FILE_MODE, FOLDER_MODE] = [0o600, 0o700]
/** Errors for a name that is a mount, or in a folder that accepts no new files: the file is then written in place. */
const NOT_RENAMED = ['EBUSY', 'EXDEV', 'EACCES', 'EPERM']

/**
 * Writes a file atomically: readers find the previous content or this one. A device such as `/dev/stdout` is written
 * to.
 */
export function writePrivateFile(file: string, content: string | Uint8Array): void {
  const stat = statSync(file, { throwIfNoEntry: false })
  if (stat && !stat.isFile()) {
    writeFileSync(file, content)
    return
  }
  // A link stays a link.
  const target = stat ? realpathSync(file) : file
  const draft = `${target}.${crypto.getRandomValues(new Uint8Array(6)).toHex()}.new`
  try {
    writeNewPrivateFile(draft, content)
    renameSync(draft, target)
  } catch (error) {
    rmSync(draft, { force: true })
    if (!stat || !NOT_RENAMED.includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    writeFileSync(target, content)
    keepPrivate(target)
  }
}

/**
 * Writes a new file.
 * @throws EEXIST if anything has that name, even a link
 */
export function writeNewPrivateFile(file: string, content: string | Uint8Array): void {
  const descriptor = openSync(file, 'wx', FILE_MODE)
  try {
    fchmodSync(descriptor, FILE_MODE)
    writeFileSync(descriptor, content)
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Restricts existing files to their owner. Files of other users, and anything that is not a regular file, are
 * unchanged.
 */
export function keepPrivate(...files: readonly string[]): void {
  for (const file of files) {
    try {
      const stat = lstatSync(file, { throwIfNoEntry: false })
      if (stat?.isFile() && (stat.mode & 0o777) !== FILE_MODE) chmodSync(file, FILE_MODE)
    } catch {
      // The file belongs to another user.
    }
  }
}

/**
 * Creates a folder and its parents if they do not exist.
 * @throws the errors of the system
 */
export function makePrivateFolder(folder: string): void {
  const first = mkdirSync(folder, { recursive: true, mode: FOLDER_MODE })
  if (first === undefined) return
  const [top, bottom] = [resolve(first), resolve(folder)]
  for (let made = bottom; made.length >= top.length; made = dirname(made)) chmodSync(made, FOLDER_MODE)
}
