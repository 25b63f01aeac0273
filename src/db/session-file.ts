// What the file of a named session says of itself: that it is ours, and what the session was made with.
import { closeSync, openSync, readSync } from 'node:fs'
import { APPLICATION_ID, type Database, explained, openClone, openToLook } from './open.ts'

/** Every SQLite file begins with this; the number of the program that it belongs to stands at byte 68. */
const MAGIC = 'SQLite format 3\0'
const APPLICATION_ID_AT = 68

/** Whether a file is a database of this program, by its first bytes: nothing is opened that another program may own. */
export function isOwnFile(file: string): boolean {
  const head = Buffer.alloc(APPLICATION_ID_AT + 4)
  const descriptor = openSync(file, 'r')
  try {
    const length = readSync(descriptor, head, 0, head.length, 0)
    if (length < head.length) return false
    return head.toString('latin1', 0, MAGIC.length) === MAGIC && head.readInt32BE(APPLICATION_ID_AT) === APPLICATION_ID
  } finally {
    closeSync(descriptor)
  }
}

/** The bytes of an empty database, with the settings of its session as JSON. */
export function withSettings(empty: Buffer, settings: string): Buffer {
  const database = openClone(empty)
  try {
    database.prepare('INSERT INTO session_settings (id, settings) VALUES (1, ?)').run(settings)
    return database.serialize()
  } finally {
    database.close()
  }
}

/** The settings in the file of a session, as JSON; undefined when it has none. Throws `DatabaseError` when it cannot be read. */
export function readSettings(file: string): string | undefined {
  let database: Database | undefined
  try {
    database = openToLook(file)
    return database.prepare('SELECT settings FROM session_settings').pluck().get() as string | undefined
  } catch (error) {
    throw explained(error, file)
  } finally {
    database?.close()
  }
}
