// Identifies the owner of a database file by its first bytes: files of other programs are not opened.
import { closeSync, openSync, readSync, statSync } from 'node:fs'

/** Application id of our databases: "USTD". */
export const APPLICATION_ID = 0x55535444
/** The id before the schema was reset to version 1. */
const OLDER_ID = 0x554e4453

/** Every SQLite file starts with this. The application id is at byte 68 (sqlite.org/fileformat.html). */
const MAGIC = 'SQLite format 3\0'
const APPLICATION_ID_AT = 68

/** Whether a file is a database of this program, of an older build, or something else. */
export function ownerOf(file: string): 'own' | 'older' | 'foreign' {
  const head = Buffer.alloc(APPLICATION_ID_AT + 4)
  const descriptor = openSync(file, 'r')
  try {
    const length = readSync(descriptor, head, 0, head.length, 0)
    if (length < head.length || head.toString('latin1', 0, MAGIC.length) !== MAGIC) return 'foreign'
    const id = head.readInt32BE(APPLICATION_ID_AT)
    return id === APPLICATION_ID ? 'own' : id === OLDER_ID ? 'older' : 'foreign'
  } finally {
    closeSync(descriptor)
  }
}

/** Whether a file is a database of an older build; false if it cannot be read. */
export function isOlder(file: string): boolean {
  try {
    return statSync(file).isFile() && ownerOf(file) === 'older'
  } catch {
    return false
  }
}
