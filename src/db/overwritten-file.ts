// A database file that another program has written over while it was open here: what SQLite would move into it from the log at the
// end would spoil what is theirs.
import { lstatSync, rmSync } from 'node:fs'
import { ownerOf } from './file-head.ts'
import { type Database, openToLook } from './open.ts'

/** Whether there is a file that holds something else than a database of ours. A file that is gone or moved SQLite leaves alone itself. */
export function isOverwritten(file: string): boolean {
  try {
    return lstatSync(file).isFile() && ownerOf(file) !== 'own'
  } catch {
    return false
  }
}

/**
 * Prepares a database to be closed: where its file was written over, nothing is moved into that from the log. What comes back is
 * called once it is closed, and removes the log, which the other program would take for its own.
 */
export function leaveOverwritten({ name: file, open }: Database): (() => void) | undefined {
  if (!open || !isOverwritten(file)) return undefined
  // The log is moved by whoever closes the file last and can write to it: this connection cannot.
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
