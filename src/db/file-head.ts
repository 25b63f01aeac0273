// Whose database a file is, by its first bytes: nothing is opened that another program may own, or that is not to be changed.
import { closeSync, openSync, readSync, statSync } from 'node:fs'

/** Stands in every database of ours: "USTD". */
export const APPLICATION_ID = 0x55535444
/** Stood there until the tables were squashed into their version 1. */
const OLDER_ID = 0x554e4453

/** Every SQLite file begins with this; the number of the program that it belongs to stands at byte 68 (sqlite.org/fileformat.html). */
const MAGIC = 'SQLite format 3\0'
const APPLICATION_ID_AT = 68

/** Whether a file is a database of this program, of an older build of it, or something else. */
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

/** Whether there is a database of an older build; of what cannot be read, nothing is known. */
export function isOlder(file: string): boolean {
  try {
    return statSync(file).isFile() && ownerOf(file) === 'older'
  } catch {
    return false
  }
}
