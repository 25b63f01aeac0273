// Detects a database file that another program has overwritten while it was open here: SQLite's final checkpoint would
// damage the other program's data.
import { lstatSync, rmSync } from 'node:fs'
import { ownerOf } from './file-head.ts'
import { type Database, openToLook } from './open.ts'

/** Whether a file exists that is not a database of ours. SQLite itself leaves a deleted or moved file alone. */
export function isOverwritten(file: string): boolean {
  try {
    return lstatSync(file).isFile() && ownerOf(file) !== 'own'
  } catch {
    return false
  }
}

/**
 * Prepares a database for closing: if its file was overwritten, nothing is checkpointed into it. Call the returned
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
