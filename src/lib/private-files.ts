// Files and folders for the user who runs us alone (0600 and 0700): what calls say is in them. Whatever the umask is.
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  fchmodSync,
  fsyncSync,
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
/** What says that a name is a mount or in a folder that takes no others: the file is written where it is. */
const NOT_RENAMED = ['EBUSY', 'EXDEV', 'EACCES', 'EPERM']

/**
 * Writes a file whole: whoever reads it finds the one before or this one. What is no file, such as `/dev/stdout`, is written to.
 * @param sync whether it is on the disk when this returns
 */
export function writePrivateFile(file: string, content: string | Uint8Array, { sync = false } = {}): void {
  const stat = statSync(file, { throwIfNoEntry: false })
  if (stat && !stat.isFile()) {
    writeFileSync(file, content)
    return
  }
  // A link stays one.
  const target = stat ? realpathSync(file) : file
  const draft = `${target}.${randomBytes(6).toString('hex')}.new`
  try {
    writeNewPrivateFile(draft, content, { sync })
    renameSync(draft, target)
  } catch (error) {
    rmSync(draft, { force: true })
    if (!stat || !NOT_RENAMED.includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    writeFileSync(target, content)
    keepPrivate(target)
  }
}

/** Writes a file that there is not yet; throws `EEXIST` for anything that has its name, be it a link. */
export function writeNewPrivateFile(file: string, content: string | Uint8Array, { sync = false } = {}): void {
  const descriptor = openSync(file, 'wx', FILE_MODE)
  try {
    fchmodSync(descriptor, FILE_MODE)
    writeFileSync(descriptor, content)
    if (sync) fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Restricts existing files to their owner; files of other users, and anything that is not a regular file, stay as they are. */
export function keepPrivate(...files: readonly string[]): void {
  for (const file of files) {
    try {
      const stat = lstatSync(file, { throwIfNoEntry: false })
      if (stat?.isFile() && (stat.mode & 0o777) !== FILE_MODE) chmodSync(file, FILE_MODE)
    } catch {
      // Another user's.
    }
  }
}

/** Makes a folder and its parents if they do not exist. Throws the system's errors. */
export function makePrivateFolder(folder: string): void {
  const first = mkdirSync(folder, { recursive: true, mode: FOLDER_MODE })
  if (first === undefined) return
  const [top, bottom] = [resolve(first), resolve(folder)]
  for (let made = bottom; made.length >= top.length; made = dirname(made)) chmodSync(made, FOLDER_MODE)
}
